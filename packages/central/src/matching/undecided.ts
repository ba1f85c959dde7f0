import type { Address, Millis } from '@goshawk/core';

/** A decision takes the time that the pilots need; one that has not come for so many cutoffs was lost. */
const FORGET_AFTER_CUTOFFS = 10;

interface Started {
  readonly owner: Address;
  readonly small: boolean;
  readonly tasks: number;
  /** When a task of it was last matched. */
  readonly at: Millis;
}

/**
 * Tasks that run of jobs whose pilots have not told: how many there are is counted until the owner says what the job
 * is, since only then anybody knows whose slots they take. Those that have ended meanwhile count as well, which errs on
 * the side of jobs that are known.
 */
export class Undecided {
  readonly #forgetAfterMs: Millis;
  /** By owner and batch, the one that was last matched last. */
  readonly #started = new Map<string, Started>();
  /** In the order in which they turned out to be long. */
  readonly #turning = new Map<string, { readonly tasks: number; readonly at: Millis }>();
  #turningTasks = 0;
  #tasks = 0;
  #smallTasks = 0;

  constructor(cutoffMs: Millis) {
    this.#forgetAfterMs = FORGET_AFTER_CUTOFFS * cutoffMs;
  }

  /** Of all such jobs. */
  get tasks(): number {
    return this.#tasks;
  }

  /** Of the small ones among them. */
  get smallTasks(): number {
    return this.#smallTasks;
  }

  /** Of those that were found to be long, and whose workers may not have said so. */
  get turningTasks(): number {
    return this.#turningTasks;
  }

  matched(owner: Address, job: number, stage: number, small: boolean, now: Millis): void {
    this.#forgetOld(now);
    const key = keyOf(owner, job, stage);
    const known = this.#started.get(key);
    this.#started.delete(key);
    this.#started.set(key, { owner, small, tasks: (known?.tasks ?? 0) + 1, at: now });
    this.#tasks++;
    if (small) this.#smallTasks++;
  }

  /** The job is short, or over. @returns whether that makes room */
  decided(owner: Address, job: number, stage: number): boolean {
    return this.#forget(keyOf(owner, job, stage));
  }

  /**
   * The job is long. Its tasks count here until their workers, who hear of it from the owner, have said so: or there
   * would seem to be room meanwhile. Once: an owner says it with each need of the job.
   *
   * @returns whether any of them count from now on
   */
  turnedLong(owner: Address, job: number, stage: number, now: Millis): boolean {
    const key = keyOf(owner, job, stage);
    const started = this.#started.get(key);
    if (started === undefined || this.#turning.has(key)) return false;
    this.#turning.set(key, { tasks: started.tasks, at: now });
    this.#turningTasks += started.tasks;
    return true;
  }

  /** Tasks are about to count as long. */
  get isSettling(): boolean {
    return this.#turning.size > 0;
  }

  /** What turned long by then counts as long now, and what was never heard of again is forgotten. */
  settle(before: Millis): void {
    this.#forgetOld(before);
    for (const [key, { tasks, at }] of this.#turning) {
      if (at > before) return;
      this.#turning.delete(key);
      this.#turningTasks -= tasks;
      this.#forget(key);
    }
  }

  removeOwner(owner: Address): void {
    for (const [key, { owner: of }] of this.#started) if (of === owner) this.#forget(key);
  }

  #forgetOld(now: Millis): void {
    for (const [key, { at }] of this.#started) {
      if (now - at < this.#forgetAfterMs) return;
      this.#forget(key);
    }
  }

  #forget(key: string): boolean {
    const started = this.#started.get(key);
    if (started === undefined) return false;
    this.#started.delete(key);
    this.#tasks -= started.tasks;
    if (started.small) this.#smallTasks -= started.tasks;
    return true;
  }
}

function keyOf(owner: Address, job: number, stage: number): string {
  return `${owner}/${job}/${stage}`;
}
