import type { JobState, JobSummary, Painter, Style } from '@goshawk/core';

export { type Painter, painter, plain } from '@goshawk/core';

const STATE_STYLES: Readonly<Record<JobState, Style>> = {
  waiting: 'dim',
  running: 'cyan',
  completed: 'green',
  failed: 'red',
  cancelled: 'yellow',
};

/** The state of a job, and whether its user holds it. */
export function paintStanding(
  { state, held, beginAt }: Pick<JobSummary, 'state' | 'held' | 'beginAt'>,
  paint: Painter,
): string {
  const why = held === true ? ', held' : beginAt !== undefined ? ', begins later' : '';
  return `${paintState(state, paint)}${paint.yellow(why)}`;
}

export function paintState(state: JobState, paint: Painter): string {
  return paint[STATE_STYLES[state]](state);
}
