import type { Millis } from '@goshawk/core';
import type { Scheduler } from '@goshawk/scheduler';
import type { Logger } from '@goshawk/transport';
import type { Hosted } from '../driver/index.js';
import { counted, journalReadings, type Readings, schedulerReadings, together } from '../metrics/index.js';
import type { JobJournal } from './job-journal.js';
import { type DaemonProcess, FIRST_PARTY } from './process.js';
import type { Claimed, SharedJournals } from './shared-journals.js';

/** One scheduler of a process: its own, or one whose jobs it looks after. */
export interface Role {
  readonly index: number;
  readonly name: string;
  readonly journal: JobJournal | undefined;
  readonly adopted: boolean;
}

/** How the part of one scheduler in a process may end. */
interface Ends {
  /** Another one has its jobs. */
  superseded(): void;
  drained(): void;
  /** The jobs of its journal that have not ended are here. */
  inherited(jobs: number): void;
}

export type HostScheduler = (role: Role, ends: Ends) => Hosted<Scheduler>;

/** The schedulers of one process that look after the jobs of those that are gone. */
export class AdoptedSchedulers {
  readonly #shared: SharedJournals;
  readonly #process: Pick<DaemonProcess, 'nameOf' | 'host'>;
  readonly #host: HostScheduler;
  readonly #logger: Logger;
  readonly #parties = new Map<Hosted<Scheduler>, JobJournal>();
  #lastIndex = FIRST_PARTY;
  /** Tags of journals that are being taken over. */
  readonly #taking = new Set<string>();
  /** One after the other, in the order in which central asks for them. */
  #taken: Promise<unknown> = Promise.resolve();
  /** Of those that are not looked after any more. */
  #former: Readings = {};

  constructor(
    shared: SharedJournals,
    process: Pick<DaemonProcess, 'nameOf' | 'host'>,
    host: HostScheduler,
    logger: Logger,
  ) {
    this.#shared = shared;
    this.#process = process;
    this.#host = host;
    this.#logger = logger;
  }

  /** Unless somebody else is sooner. @param gone name of the scheduler that had the journal */
  takeOver(gone: string, tag: string, epoch: number): void {
    if (this.#taking.has(tag)) return;
    this.#taking.add(tag);
    this.#taken = this.#taken
      .then(() => this.#shared.takeOver(tag, epoch))
      .then((claimed) => claimed && this.adopt(claimed))
      .catch((error: Error) =>
        this.#logger.error({ of: gone, tag }, `cannot take its jobs over: ${error.message}`),
      )
      .finally(() => this.#taking.delete(tag));
  }

  async adopt({ journal, home, discard }: Claimed): Promise<void> {
    const { tag, epoch } = journal;
    const index = ++this.#lastIndex;
    await journal.begin(this.#process.nameOf(index));
    const lost = (): void => this.#end(party, () => journal.close());
    const party = this.#host(
      { index, name: `${home}/${tag}`, journal, adopted: true },
      {
        superseded: lost,
        drained: () => {
          this.#logger.info({ of: home, tag }, 'nothing is left of the jobs that were taken over');
          this.#end(party, discard);
        },
        inherited: (jobs) => this.#logger.info({ of: home, tag, epoch, jobs }, 'jobs were taken over'),
      },
    );
    this.#parties.set(party, journal);
    journal.serve(party.enter, lost);
  }

  /** Why they cannot do their work. */
  get notReady(): readonly string[] {
    return [...this.#parties.values()].flatMap(({ notReady }) => notReady);
  }

  /** Of each, and of those that are no more. */
  readings(): Readings[] {
    const now = this.#process.host.now();
    return [
      this.#former,
      ...Array.from(this.#parties, ([{ machine }, its]) => readingsOf(machine, its, now)),
    ];
  }

  leave(): void {
    for (const { enter } of this.#parties.keys()) enter('leave', (scheduler) => scheduler.leave());
  }

  #end(party: Hosted<Scheduler>, close: () => Promise<void>): void {
    const journal = this.#parties.get(party);
    if (journal === undefined) return;
    const last = readingsOf(party.machine, journal, this.#process.host.now());
    this.#former = counted(together([this.#former, last]));
    this.#parties.delete(party);
    party.remove();
    close().catch((error: Error) => this.#logger.warn({ tag: journal.tag }, error.message));
  }
}

export function readingsOf(scheduler: Scheduler, journal: JobJournal | undefined, now: Millis): Readings {
  return {
    ...schedulerReadings(scheduler, now),
    ...(journal && journalReadings(journal.metrics(), journal.commitMs)),
  };
}
