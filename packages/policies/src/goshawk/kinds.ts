import type { JobClass } from '@goshawk/core';
import type { StageView } from '../contract.js';

/**
 * Kinds of waiting tasks: pilots, those of a class that is known, and the rest of a job whose pilots have not ended,
 * which is `small` if it can do little harm meanwhile.
 */
export const KINDS = ['pilots', 'short', 'small', 'long', 'large'] as const;
export type Kind = (typeof KINDS)[number];

/** Whether the class of the job is known. */
export function isDecided(kind: Kind): boolean {
  return kind === 'short' || kind === 'long';
}

export function classOf({ job }: StageView): JobClass {
  return job.long ? 'long' : 'short';
}

/** The stage whose class a run shares until it is known: pilots count like the rest of their job. */
export function earlyStageOf(stage: StageView): StageView | undefined {
  if (stage.part === 'early') return stage;
  return stage.part === 'pilots' ? stage.job.stages.find(({ part }) => part === 'early') : undefined;
}
