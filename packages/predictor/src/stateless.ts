import { InputError } from '@goshawk/core';
import type { ArrivingJob, Estimator, Judgement, Verdict } from './estimator.js';

/** An estimator that neither samples nor learns: all that it knows is in the job, or in its settings. */
export abstract class Stateless implements Estimator {
  readonly name: string;
  readonly savedCharactersMax = 4;

  constructor(name: string) {
    this.name = name;
  }

  abstract judge(job: ArrivingJob): Judgement;

  weigh(): Verdict {
    return { kind: 'wait', againInMs: Number.POSITIVE_INFINITY };
  }

  learn(): void {}

  save(): null {
    return null;
  }

  load(saved: unknown): void {
    if (saved !== null) throw notSavedBy(this.name);
  }
}

export function notSavedBy(name: string): InputError {
  return new InputError(
    'bad-estimator-state',
    `this was not saved by the estimator ${name}`,
    'start without it: it will be learnt again',
  );
}
