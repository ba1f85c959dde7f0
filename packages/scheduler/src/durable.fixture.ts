import {
  type Address,
  COMPLETED,
  type JobInput,
  type JobRecord,
  LIVE_TIMINGS,
  type Message,
  type MessageOf,
  type Outcome,
  parseJobSpec,
} from '@goshawk/core';
import type { Inheritance, JournalEntry, SchedulerConfig, SchedulerEnvironment } from './contract.js';
import type { Job } from './job/job.js';
import { CENTRAL, CLIENT, joined, loneScheduler, welcome } from './lone-scheduler.fixture.js';
import type { Scheduler } from './scheduler.js';

export const FAILED: Outcome = { ...COMPLETED, kind: 'failed', errorCode: 'exit', errorMessage: 'exit 1' };

/** Wall clock minus the machine's clock; each incarnation has a separate clock. */
const WALL = 1_800_000_000_000;

/** A scheduler whose journal the test commits; the test plays all other parties. */
export class DurableBench {
  readonly scheduler: Scheduler;
  readonly records: JobRecord[] = [];
  /** Due times by name and key: `timeLimit 1`. */
  readonly timers = new Map<string, number>();
  now = 0;
  #sent: { to: Address; message: Message }[] = [];
  #ask = 0;
  /** Records of earlier incarnations, in order. */
  readonly #former: readonly JobRecord[];
  #isUnreadable = false;
  #report = 0;

  /** @param joins whether central welcomes it immediately */
  constructor(
    inheritance?: Inheritance,
    startedAt = 0,
    joins = true,
    config: Partial<SchedulerConfig> = {},
    env: Partial<SchedulerEnvironment> = {},
  ) {
    const former = new Map(inheritance?.entries);
    this.#former = [...former.entries()]
      .sort(([one = 0], [other = 0]) => one - other)
      .map(([, record]) => record);
    this.scheduler = loneScheduler(
      { wallOffsetMs: WALL + startedAt, inheritance, ...config },
      {
        send: (to: Address, message: Message) => void this.#sent.push({ to, message }),
        setTimer: (timer, key, at) => void this.timers.set(`${timer} ${key}`, at),
        clearTimer: (timer, key) => void this.timers.delete(`${timer} ${key}`),
        record: (record) => former.size + this.records.push(record) - 1,
        readRecord: (_job, place) => former.get(place) ?? this.records[place - former.size],
        readJobRecords: (job) =>
          [...former.values(), ...this.records].flatMap((record, place): JournalEntry[] =>
            record.job === job && !this.#isUnreadable ? [[place, record]] : [],
          ),
        ...env,
      },
    );
    this.scheduler.start(0);
    if (!joins) return;
    this.receive(CENTRAL, welcome());
    this.members();
    this.take();
  }

  /** Advances the time with heartbeats, since the scheduler takes a jump for a suspension. */
  pass(ms: number): void {
    const ack = { type: 'heartbeatAck', version: 1, ownersVersion: 0, matching: true } as const;
    for (const until = this.now + ms; this.now < until; ) {
      this.now = Math.min(this.now + LIVE_TIMINGS.heartbeatMs, until);
      this.scheduler.wake('heartbeat', 0, this.now);
      this.receive(CENTRAL, { ...ack, waiting: undefined });
    }
  }

  receive(from: Address, message: Message): void {
    this.scheduler.receive(from, message, this.now);
    this.scheduler.checkInvariants();
  }

  members(...addresses: Address[]): void {
    this.receive(CENTRAL, joined(1, addresses, 4));
  }

  submit(spec: JobInput, key = 'k', request = 1): void {
    this.receive(CLIENT, { type: 'submit', request, key, spec });
  }

  /** Retries the job: failed and cancelled tasks, or these. */
  retry(tasks?: MessageOf<'retryJob'>['tasks'], id = 's-1'): void {
    const choice = { failedOnly: undefined, tasks, asNew: undefined };
    this.receive(CLIENT, { type: 'retryJob', request: 9, key: 'again', id, ...choice });
  }

  /** Accepts a job without a client. */
  accept(spec: JobInput): Job {
    return this.scheduler.submit(parseJobSpec(spec), undefined, this.now);
  }

  /** A worker asks for a task of the job. @returns the task; undefined: none */
  ask(from: Address, job: number, stage = 0): MessageOf<'run'> | undefined {
    this.receive(from, { type: 'ask', ask: ++this.#ask, again: false, job, stage, placed: undefined });
    return this.take().find((message) => message.type === 'run');
  }

  end(
    from: Address,
    { job, task, attempt }: Pick<MessageOf<'run'>, 'job' | 'task' | 'attempt'>,
    outcome: Outcome = COMPLETED,
    runMs = 5,
  ): void {
    const report = ++this.#report;
    const rest = { runMs, output: [], outputBytes: 0, ask: 0 };
    this.receive(from, { type: 'ended', report, job, task, attempt, outcome, ...rest });
  }

  /** Makes records unreadable until the next start. */
  loseRecords(): void {
    this.#isUnreadable = true;
  }

  /** Makes all records durable. */
  commit(): void {
    this.scheduler.recorded(this.records.length, this.now);
  }

  /** Messages since the last call. */
  take(): Message[] {
    return this.#sent.splice(0).map(({ message }) => message);
  }

  /** The next incarnation's inheritance, if everything was committed. */
  inheritance(previousIncarnations: Address[] = [3 as Address]): Inheritance {
    const records = [...this.#former, ...this.records];
    const lastJob = Math.max(0, ...records.map(({ job }) => job));
    const now = Number.POSITIVE_INFINITY;
    return { entries: entriesOf(records), now, lastJob, previousIncarnations };
  }
}

/** Entries by job, each with its position in the order of writing. */
export function entriesOf(records: readonly JobRecord[]): JournalEntry[] {
  return [...records.entries()].sort(([, a], [, b]) => a.job - b.job);
}
