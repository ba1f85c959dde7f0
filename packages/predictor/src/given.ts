import type { Millis } from '@goshawk/core';
import type { ArrivingJob, Judgement } from './estimator.js';
import { Stateless } from './stateless.js';

/** What the submitter says; of a job of which nobody says anything, nothing. */
export class Given extends Stateless {
  constructor() {
    super('given');
  }

  judge({ givenMs }: ArrivingJob): Judgement {
    return givenMs === undefined ? { kind: 'unknown' } : given(givenMs);
  }
}

/** @param meanMs as the submitter says */
export function given(meanMs: Millis): Judgement {
  return { kind: 'estimate', estimate: { meanMs, by: 'given' } };
}
