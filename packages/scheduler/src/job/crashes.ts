import { hashText, type JobSpec, LIMITS, type Millis, type Payload, setLatest } from '@goshawk/core';

/** Each completed task reduces the count of lost workers by this amount. */
const LOSSES_CANCELLED_PER_COMPLETION = 1 / 8;
/** A program is suspect after this many lost workers. A single loss may have another cause. */
const SUSPECT_AFTER_LOSSES = 2;
/** Losses expire after this time without another one, because the program may have been fixed. ms */
const EXPIRY_MS = 600_000;
/** Maximum number of programs whose losses are stored; the oldest are dropped. */
const PROGRAMS_MAX = 1_000;
/** Number of characters of a job's commands that identify its program. */
const COMPARED_CHARS = 2_000;
/** Maximum number of workers whose losses are counted; the oldest are dropped. */
const WORKERS_MAX = 1_000;

/**
 * Counts workers that were lost with tasks. A worker may exit on purpose, so the losses of one count at most one more than those of
 * all others.
 */
export class LostWorkers {
  #all = 0;
  /** Losses of the worker that was lost most often. */
  #most = 0;
  readonly #byName = new Map<string, number>();

  get count(): number {
    return Math.min(this.#all, 2 * (this.#all - this.#most) + 1);
  }

  /** @param worker its name; undefined: no other worker could run the task, so that the loss counts in full */
  add(worker: string | undefined): void {
    this.#all++;
    if (worker === undefined) return;
    const times = (this.#byName.get(worker) ?? 0) + 1;
    setLatest(this.#byName, worker, times, WORKERS_MAX);
    this.#most = Math.max(this.#most, times);
  }

  clear(): void {
    this.#all = this.#most = 0;
    this.#byName.clear();
  }
}

/** Counts workers lost with tasks of one job, or of all jobs of one user that run the same program. */
export class Crashes {
  /** Workers lost since a task last completed. */
  #consecutive = new LostWorkers();
  /** Workers lost with tasks that ran alone. */
  readonly #withAlone = new LostWorkers();
  /** Their number, reduced by completed tasks. */
  #lostAlone = 0;
  #lastAt: Millis = Number.NEGATIVE_INFINITY;

  /** Whether all attempts must run alone. */
  get isSuspect(): boolean {
    return this.#consecutive.count >= SUSPECT_AFTER_LOSSES || this.#lostAlone >= SUSPECT_AFTER_LOSSES;
  }

  get exceedsLimit(): boolean {
    return this.#lostAlone >= LIMITS.lossesPerJobMax;
  }

  get isClear(): boolean {
    return this.#consecutive.count === 0 && this.#lostAlone === 0;
  }

  /** @param worker as in `LostWorkers` */
  attemptLost(worker: string | undefined, ranAlone: boolean, now: Millis): void {
    if (now - this.#lastAt > EXPIRY_MS) this.reset();
    this.#lastAt = now;
    this.#consecutive.add(worker);
    if (!ranAlone) return;
    const before = this.#withAlone.count;
    this.#withAlone.add(worker);
    this.#lostAlone = Math.min(LIMITS.lossesPerJobMax, this.#lostAlone + this.#withAlone.count - before);
  }

  completed(): void {
    this.#consecutive.clear();
    this.#lostAlone = Math.max(0, this.#lostAlone - LOSSES_CANCELLED_PER_COMPLETION);
  }

  /** A task has outlived its time alone. */
  survivedAlone(): void {
    this.#consecutive.clear();
  }

  /** Clears the counts, for example because a user retries a job and may have fixed the cause. */
  reset(): void {
    this.#consecutive.clear();
    this.#withAlone.clear();
    this.#lostAlone = 0;
  }

  /** Takes the maximum of both counts. */
  merge(other: Crashes): void {
    if (other.#consecutive.count > this.#consecutive.count) this.#consecutive = other.#consecutive;
    this.#lostAlone = Math.max(this.#lostAlone, other.#lostAlone);
    this.#lastAt = Math.max(this.#lastAt, other.#lastAt);
  }
}

/** The recently lost workers of each program. */
export class CrashesByProgram {
  readonly #crashes = new Map<number, Crashes>();

  /** Returns undefined if no job of the program has recently lost a worker. */
  find(program: () => number | undefined): Crashes | undefined {
    if (this.#crashes.size === 0) return undefined;
    const key = program() ?? Number.NaN;
    const crashes = this.#crashes.get(key);
    if (crashes?.isClear !== true) return crashes;
    // Tasks of the same program have completed since.
    this.#crashes.delete(key);
    return undefined;
  }

  getOrCreate(program: number): Crashes {
    const crashes = this.#crashes.get(program) ?? new Crashes();
    setLatest(this.#crashes, program, crashes, PROGRAMS_MAX);
    return crashes;
  }

  completed(program: () => number | undefined): void {
    this.find(program)?.completed();
  }
}

/** Hashes the user and the first task of each stage, ignoring digits; undefined: only sleeps, which cannot kill workers. */
export function programOf({ user = '', stages }: JobSpec): number | undefined {
  let text = '';
  for (const { tasks } of stages) {
    if (text.length >= COMPARED_CHARS) break;
    if ('sleepsMs' in tasks) continue;
    text += withMaskedNumbers('run' in tasks ? tasks.run : tasks.each[0]);
  }
  if (text === '') return undefined;
  const key = `${user}\0${text}`;
  return hashText(key) * 2 ** 21 + (hashText(key, 1) & 0x1fffff);
}

/** The command of a task with all numbers replaced by 0, because the jobs of a sweep differ only in numbers. */
function withMaskedNumbers(payload: Payload | undefined): string {
  if (payload === undefined || 'sleep' in payload) return '';
  const words = 'exec' in payload ? payload.exec : [payload.module, payload.export ?? ''];
  return `\0${words.join(' ').slice(0, COMPARED_CHARS).replaceAll(/\d+/g, '0')}`;
}
