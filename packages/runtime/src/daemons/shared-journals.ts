import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PostgresJournals, SharedJournal } from '@goshawk/journal';
import type { Logger } from '@goshawk/transport';
import type { EstimatorStateStore } from './estimator-state-file.js';
import { JobJournal, newTag, type SharedJournalOptions } from './job-journal.js';

/** A journal, and the name of the scheduler that made it. */
export interface Claimed {
  readonly journal: JobJournal;
  readonly home: string;
  /** Closes it for good. */
  discard(): Promise<void>;
}

/** The journals that one process has among those that all schedulers of a cluster share. */
export class SharedJournals {
  readonly #journals: PostgresJournals;
  readonly #logger: Logger;

  private constructor(journals: PostgresJournals, logger: Logger) {
    this.#journals = journals;
    this.#logger = logger;
  }

  /** @throws JournalError when PostgreSQL cannot be had, or its schema is not this version's */
  static async open(
    { url, version }: SharedJournalOptions,
    name: string,
    logger: Logger,
  ): Promise<SharedJournals> {
    const { inPostgres } = await import('@goshawk/journal');
    const { PostgresJournals, parseJournalUrl, weakness } = await inPostgres();
    const journals = await PostgresJournals.open({ url, version, name, newTag });
    const { promise } = journals;
    logger.info({ journal: parseJournalUrl(url).shown, ...promise }, 'the journals are in PostgreSQL');
    const weak = weakness(promise);
    if (weak !== undefined) logger.warn({}, weak);
    return new SharedJournals(journals, logger);
  }

  /** @throws JournalError when another process of this name has it */
  async own(): Promise<JobJournal> {
    return this.#claimed(await this.#journals.own()).journal;
  }

  /** Those that this scheduler had taken over before it was started again. */
  async adopted(): Promise<Claimed[]> {
    return (await this.#journals.adopted()).map((journal) => this.#claimed(journal));
  }

  /** Undefined when somebody else was sooner. */
  async takeOver(tag: string, epoch: number): Promise<Claimed | undefined> {
    const journal = await this.#journals.takeOver(tag, epoch);
    return journal && this.#claimed(journal);
  }

  get estimatorStates(): EstimatorStateStore {
    return {
      name: 'what is learnt in PostgreSQL',
      read: () => this.#journals.estimatorStates(),
      write: async (pieces) => {
        const all: string[] = [];
        for (const piece of pieces) {
          all.push(piece);
          await nextTurn();
        }
        await this.#journals.keepEstimatorStates(all.join(''));
      },
    };
  }

  close(): Promise<void> {
    return this.#journals.close();
  }

  #claimed(journal: SharedJournal): Claimed {
    const { tag, epoch, home } = journal;
    this.#logger.info({ tag, epoch, home }, 'a journal is open');
    return { journal: new JobJournal(journal, this.#logger), home, discard: () => journal.discard() };
  }
}
