import type { JobState, JobSummary } from '@goshawk/core';

export { plain } from '@goshawk/core';

type Paint = (text: string) => string;

const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

export type Painter = Readonly<Record<keyof typeof STYLES, Paint>> & {
  /** Width of what is painted on. */
  readonly columns: number;
};

/**
 * Colours where they are wanted; the text as it is elsewhere.
 *
 * @param columns of the terminal; infinite where there is none
 */
export function painter({
  color,
  columns = Number.POSITIVE_INFINITY,
}: {
  readonly color: boolean;
  readonly columns?: number;
}): Painter {
  const paints = Object.entries(STYLES).map(([name, [open, close]]) => {
    const paint: Paint = (text) => (color ? `\u001b[${open}m${text}\u001b[${close}m` : text);
    return [name, paint];
  });
  return { ...Object.fromEntries(paints), columns } as Painter;
}

const STATE_STYLES: Readonly<Record<JobState, keyof typeof STYLES>> = {
  waiting: 'dim',
  running: 'cyan',
  completed: 'green',
  failed: 'red',
  cancelled: 'yellow',
};

/** The state of a job, and that its user keeps it from starting. */
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
