import { type JobSpec, LIMITS, type Payload, setLatest } from '@goshawk/core';

/** A completed task makes up for this share of a lost worker. */
const AMENDS = 1 / 8;
/** One worker may have been lost for another reason. */
const SUSPECT_AT = 2;
/** Programs remembered: the ones that lost a worker last. */
const PROGRAMS_MAX = 1_000;
/** Characters of a program that are compared. */
const COMPARED = 2_000;

/** Workers lost with tasks of one job, or of all jobs of one user that run the same program. */
export class Crashes {
  /** Workers lost since a task completed. */
  #inARow = 0;
  /** Workers lost with tasks that ran apart, less what completed tasks make up for. */
  #charged = 0;

  /** Further tasks run apart from their first attempt on. */
  get isSuspect(): boolean {
    return this.#inARow >= SUSPECT_AT || this.#charged >= SUSPECT_AT;
  }

  get isTooMuch(): boolean {
    return this.#charged >= LIMITS.lossesPerJobMax;
  }

  get isClear(): boolean {
    return this.#inARow === 0 && this.#charged === 0;
  }

  lost(ranApart: boolean): void {
    this.#inARow++;
    if (ranApart) this.#charged++;
  }

  completed(): void {
    this.#inARow = 0;
    this.#charged = Math.max(0, this.#charged - AMENDS);
  }

  /** A task has outlived its time apart. */
  outlived(): void {
    this.#inARow = 0;
  }

  /** The user retries a job, and may have changed what made it fail. */
  forget(): void {
    this.#inARow = 0;
    this.#charged = 0;
  }
}

/** The crashes of each program that lost workers lately. */
export class CrashesByProgram {
  readonly #crashes = new Map<string, Crashes>();

  /** Undefined if no job of the program has lost a worker lately. */
  known(program: () => string | undefined): Crashes | undefined {
    return this.#crashes.size === 0 ? undefined : this.#crashes.get(program() ?? '');
  }

  of(program: string): Crashes {
    const crashes = this.#crashes.get(program) ?? new Crashes();
    setLatest(this.#crashes, program, crashes, PROGRAMS_MAX);
    return crashes;
  }

  completed(program: () => string | undefined): void {
    const crashes = this.known(program);
    crashes?.completed();
    if (crashes?.isClear) this.#crashes.delete(program()!);
  }
}

/** Names the user and the first task of each stage, without numbers; undefined if they could end no worker. */
export function programOf({ user = '', stages }: JobSpec): string | undefined {
  const programs = stages.map(({ tasks }) => {
    if ('sleepsMs' in tasks) return '';
    return withoutNumbers('run' in tasks ? tasks.run : tasks.each[0]);
  });
  if (programs.every((program) => program === '')) return undefined;
  return [user, ...programs].join('\0');
}

/** Jobs of a sweep differ in numbers. */
function withoutNumbers(payload: Payload | undefined): string {
  if (payload === undefined || 'sleep' in payload) return '';
  const words = 'exec' in payload ? payload.exec : [payload.module, payload.export ?? ''];
  return words.join(' ').slice(0, COMPARED).replaceAll(/\d+/g, '0');
}
