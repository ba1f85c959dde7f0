import type { JobClass } from '@goshawk/core';
import type { StageView } from '../contract.js';

/**
 * Kinds of waiting tasks: `pilots`; `short` and `long` tasks of jobs whose class is known; and the other tasks of jobs
 * whose pilots have not ended: `small` if they can delay short tasks only a little, else `large`.
 */
export const KINDS = ['pilots', 'short', 'small', 'long', 'large'] as const;
export type Kind = (typeof KINDS)[number];

/** Whether the class of the job is known. */
export function isDecided(kind: Kind): boolean {
  return kind === 'short' || kind === 'long';
}

/** The class of the job; a job of unknown class counts as short. */
export function classOf({ job }: StageView): JobClass {
  return job.long ? 'long' : 'short';
}

/** Returns the `early` stage of a job whose class is unknown, given that stage or its pilots; otherwise undefined. */
export function earlyStageOf(stage: StageView): StageView | undefined {
  if (stage.part === 'early') return stage;
  return stage.part === 'pilots' ? stage.job.stages.find(({ part }) => part === 'early') : undefined;
}
