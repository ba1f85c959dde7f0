import { hashText, type JobSpec, LIMITS, type Millis, type Payload, setLatest } from '@goshawk/core';

/** A completed task cancels this fraction of a lost worker. */
const LOSSES_CANCELLED_PER_COMPLETION = 1 / 8;
/** Number of lost workers before a program is blamed; a single one may have another cause. */
const SUSPECT_AFTER_LOSSES = 2;
/** Losses expire after this many milliseconds without another, because the program may have been fixed. */
const EXPIRY_MS = 600_000;
/** Number of programs remembered, most recent losses first. */
const PROGRAMS_MAX = 1_000;
/** Number of characters of a job's programs that are compared. */
const COMPARED_CHARS = 2_000;

/** Workers lost with tasks of one job, or of all jobs of one user that run the same program. */
export class Crashes {
  /** Workers lost since a task completed. */
  #consecutive = 0;
  /** Workers lost with tasks that ran alone, less what completed tasks cancel. */
  #lostAlone = 0;
  #lastAt: Millis = Number.NEGATIVE_INFINITY;

  /** Whether further tasks run alone from their first attempt on. */
  get isSuspect(): boolean {
    return this.#consecutive >= SUSPECT_AFTER_LOSSES || this.#lostAlone >= SUSPECT_AFTER_LOSSES;
  }

  get exceedsLimit(): boolean {
    return this.#lostAlone >= LIMITS.lossesPerJobMax;
  }

  get isClear(): boolean {
    return this.#consecutive === 0 && this.#lostAlone === 0;
  }

  lost(ranApart: boolean, now: Millis): void {
    if (now - this.#lastAt > EXPIRY_MS) this.reset();
    this.#lastAt = now;
    this.#consecutive++;
    if (ranApart) this.#lostAlone = Math.min(LIMITS.lossesPerJobMax, this.#lostAlone + 1);
  }

  completed(): void {
    this.#consecutive = 0;
    this.#lostAlone = Math.max(0, this.#lostAlone - LOSSES_CANCELLED_PER_COMPLETION);
  }

  /** A task has survived its time alone. */
  survivedAlone(): void {
    this.#consecutive = 0;
  }

  /** The user retries a job, and may have fixed the cause. */
  reset(): void {
    this.#consecutive = 0;
    this.#lostAlone = 0;
  }

  /** Adds the other's counts. */
  merge(other: Crashes): void {
    this.#consecutive = Math.max(this.#consecutive, other.#consecutive);
    this.#lostAlone = Math.max(this.#lostAlone, other.#lostAlone);
    this.#lastAt = Math.max(this.#lastAt, other.#lastAt);
  }
}

/** The crashes of each program that recently lost workers. */
export class CrashesByProgram {
  readonly #crashes = new Map<number, Crashes>();

  /** undefined if no job of the program lost a worker recently. */
  find(program: () => number | undefined): Crashes | undefined {
    if (this.#crashes.size === 0) return undefined;
    const key = program() ?? Number.NaN;
    const crashes = this.#crashes.get(key);
    if (crashes?.isClear !== true) return crashes;
    // Completed tasks of jobs with the same program have cleared it.
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

/** Hashes the user and the first task of each stage, ignoring digits; undefined if the work cannot kill workers. */
export function programOf({ user = '', stages }: JobSpec): number | undefined {
  let text = '';
  for (const { tasks } of stages) {
    if (text.length >= COMPARED_CHARS) break;
    if ('sleepsMs' in tasks) continue;
    text += withoutNumbers('run' in tasks ? tasks.run : tasks.each[0]);
  }
  if (text === '') return undefined;
  const key = `${user}\0${text}`;
  return hashText(key) * 2 ** 21 + (hashText(key, 1) & 0x1fffff);
}

/** Jobs of a parameter sweep differ only in numbers. */
function withoutNumbers(payload: Payload | undefined): string {
  if (payload === undefined || 'sleep' in payload) return '';
  const words = 'exec' in payload ? payload.exec : [payload.module, payload.export ?? ''];
  return `\0${words.join(' ').slice(0, COMPARED_CHARS).replaceAll(/\d+/g, '0')}`;
}
