import type { Address, JobRecord, Millis } from '@goshawk/core';
import type { Inheritance, JournalEntry } from '@goshawk/scheduler';

/** What one scheduler writes down, from incarnation to incarnation. What was not committed goes with the crash. */
export class SteppedDisk {
  readonly #durable: JobRecord[] = [];
  #waiting: JobRecord[] = [];
  /** Durable records of the present incarnation. */
  #recorded = 0;
  readonly #previousIncarnations: Address[] = [];

  get isDirty(): boolean {
    return this.#waiting.length > 0;
  }

  /** @returns its place */
  record(record: JobRecord): number {
    return this.#durable.length + this.#waiting.push(record) - 1;
  }

  recall(_job: number, place: number): JobRecord | undefined {
    return this.#durable[place] ?? this.#waiting[place - this.#durable.length];
  }

  recallJob(job: number): JournalEntry[] {
    return [...this.#durable, ...this.#waiting].flatMap((record, place): JournalEntry[] =>
      record.job === job ? [[place, record]] : [],
    );
  }

  /** @returns how many records of the present incarnation are durable now */
  commit(): number {
    this.#durable.push(...this.#waiting);
    this.#recorded += this.#waiting.length;
    this.#waiting = [];
    return this.#recorded;
  }

  /** The acceptance of the job with this key is durable. */
  hasAccepted(key: string): boolean {
    return this.#durable.some((record) => record.kind === 'accepted' && record.key === key);
  }

  /** Another incarnation has it from now on. @returns what it finds; undefined when it is the first */
  takeOver(self: Address, now: Millis): Inheritance | undefined {
    this.#waiting = [];
    this.#recorded = 0;
    const previousIncarnations = [...this.#previousIncarnations];
    this.#previousIncarnations.push(self);
    if (previousIncarnations.length === 0) return undefined;
    const entries = [...this.#durable.entries()].sort(([, a], [, b]) => a.job - b.job);
    return { entries, now, lastJob: Math.max(0, ...entries.map(([, { job }]) => job)), previousIncarnations };
  }
}
