import type { JobState, JobSummary, Painter, Style } from '@goshawk/core';

export { type Painter, painter, plain } from '@goshawk/core';

const STATE_STYLES: Readonly<Record<JobState, Style>> = {
  waiting: 'dim',
  running: 'cyan',
  completed: 'green',
  failed: 'red',
  cancelled: 'yellow',
};

/** Returns the state of a job, and whether it is on hold or begins later. */
export function paintJobState(
  { state, held, beginAt }: Pick<JobSummary, 'state' | 'held' | 'beginAt'>,
  paint: Painter,
): string {
  const why = held === true ? ', held' : beginAt !== undefined ? ', begins later' : '';
  return `${paintState(state, paint)}${paint.yellow(why)}`;
}

export function paintState(state: JobState, paint: Painter): string {
  return paint[STATE_STYLES[state]](state);
}
