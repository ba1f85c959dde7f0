import type { Millis, UsageBook } from '@goshawk/core';
import type { Journal, PostgresJournals, SharedJournal } from '@goshawk/journal';
import type { Scheduler } from '@goshawk/scheduler';
import type { Logger } from '@goshawk/transport';
import type { Hosted } from '../driver/index.js';
import {
  combineReadings,
  counted,
  journalReadings,
  type Readings,
  schedulerReadings,
} from '../metrics/index.js';
import { JournalPort, sharedOutput } from './journal-port.js';
import { type DaemonProcess, FIRST_PARTY } from './process.js';

/** One scheduler of a process: its own, or an adopted one. */
export interface Role {
  readonly index: number;
  readonly name: string;
  readonly port: JournalPort | undefined;
  readonly adopted: boolean;
}

/** Callbacks of one scheduler in a process. */
interface Ends {
  /** Called when another process has taken over the journal. */
  superseded(): void;
  drained(): void;
  /** Called with the number of unfinished jobs in the journal. */
  inherited(jobs: number): void;
}

export type HostScheduler = (role: Role, ends: Ends) => Hosted<Scheduler>;

/** The schedulers in this process that adopted the jobs of dead schedulers. */
export class AdoptedSchedulers {
  readonly #shared: PostgresJournals;
  readonly #keepUsage: (books: readonly UsageBook[]) => Promise<void>;
  readonly #process: Pick<DaemonProcess, 'nameOf' | 'host'>;
  readonly #host: HostScheduler;
  readonly #logger: Logger;
  readonly #parties = new Map<Hosted<Scheduler>, JournalPort>();
  #lastIndex = FIRST_PARTY;
  /** Tags of journals whose takeover is in progress. */
  readonly #taking = new Set<string>();
  /** Takeovers run one at a time, in the order of central's requests. */
  #taken: Promise<unknown> = Promise.resolve();
  /** Counters of ended adopted schedulers, summed so that the counters of the process never decrease. */
  #former: Readings = {};

  /** @param keepUsage stores usage sums before their journal is discarded; resolves when they are durable */
  constructor(
    shared: PostgresJournals,
    keepUsage: (books: readonly UsageBook[]) => Promise<void>,
    process: Pick<DaemonProcess, 'nameOf' | 'host'>,
    host: HostScheduler,
    logger: Logger,
  ) {
    this.#shared = shared;
    this.#keepUsage = keepUsage;
    this.#process = process;
    this.#host = host;
    this.#logger = logger;
  }

  /** Takes over a journal unless another scheduler already has. @param gone name of the previous owner */
  takeOver(gone: string, tag: string, epoch: number): void {
    if (this.#taking.has(tag)) return;
    this.#taking.add(tag);
    this.#taken = this.#taken
      .then(() => this.#shared.takeOver(tag, epoch))
      .then((journal) => journal && this.adopt(journal))
      .catch((error: Error) =>
        this.#logger.error({ of: gone, tag }, `cannot take over the jobs of ${gone}: ${error.message}`),
      )
      .finally(() => this.#taking.delete(tag));
  }

  async adopt(journal: SharedJournal): Promise<void> {
    const { tag, epoch, home } = journal;
    this.#logger.info({ tag, epoch, home }, 'a journal is open');
    const port = new JournalPort(journal, this.#logger, sharedOutput(journal, this.#logger));
    const index = ++this.#lastIndex;
    await port.begin(this.#process.nameOf(index));
    const lost = (): void => this.#end(party, () => journal.close());
    const party = this.#host(
      { index, name: `${home}/${tag}`, port, adopted: true },
      {
        superseded: lost,
        drained: () => {
          this.#logger.info({ of: home, tag }, 'all taken-over jobs have ended');
          const kept = this.#keepUsage(party.machine.usageBooks);
          this.#end(party, () => kept.then(() => journal.discard()));
        },
        inherited: (jobs) => this.#logger.info({ of: home, tag, epoch, jobs }, 'took over jobs'),
      },
    );
    this.#parties.set(party, port);
    port.serve(party.enter, lost);
  }

  /** Reasons why the adopted schedulers are not ready. */
  get notReady(): readonly string[] {
    return [...this.#parties.values()].flatMap(({ notReady }) => notReady);
  }

  /** Readings of current and former adopted schedulers. */
  readings(): Readings[] {
    const now = this.#process.host.now();
    return [
      this.#former,
      ...Array.from(this.#parties, ([{ machine }, { journal }]) => readingsOf(machine, journal, now)),
    ];
  }

  /** The schedulers of adopted journals. */
  get machines(): Scheduler[] {
    return Array.from(this.#parties.keys(), ({ machine }) => machine);
  }

  leave(): void {
    for (const { enter } of this.#parties.keys()) enter('leave', (scheduler) => scheduler.leave());
  }

  #end(party: Hosted<Scheduler>, close: () => Promise<void>): void {
    const journal = this.#parties.get(party)?.journal;
    if (journal === undefined) return;
    const last = readingsOf(party.machine, journal, this.#process.host.now());
    this.#former = counted(combineReadings([this.#former, last]));
    this.#parties.delete(party);
    party.remove();
    close().catch((error: Error) => this.#logger.warn({ tag: journal.tag }, error.message));
  }
}

export function readingsOf(scheduler: Scheduler, journal: Journal | undefined, now: Millis): Readings {
  return {
    ...schedulerReadings(scheduler, now),
    ...(journal && journalReadings(journal.metrics(), journal.commitMs)),
  };
}
