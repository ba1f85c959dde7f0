import { type Column, type Painter, plain, renderTable } from '@goshawk/command';
import { formatDuration, InputError, PRIORITIES, type Priority } from '@goshawk/core';
import type { JobChange, Predict } from '@goshawk/gateway';

/** Parses `workers=+10,priority=high`. @throws InputError */
export function parseChange(text: string): JobChange {
  const change: { -readonly [K in keyof JobChange]: JobChange[K] } = {};
  for (const part of text.split(',')) {
    const [, name = '', value = ''] = /^([^=]*)=(.*)$/.exec(part.trim()) ?? [];
    if (name === 'workers' && /^[+-]?\d{1,6}$/.test(value)) change.workers = Number(value);
    else if (name === 'priority' && (PRIORITIES as readonly string[]).includes(value))
      change.priority = value as Priority;
    else if (name === 'policy' && value !== '') change.policy = value;
    else
      throw new InputError(
        'bad-option',
        `--what-if: "${part}" is not a change`,
        `for example workers=+10, priority=${PRIORITIES.join('|')} or policy=hawk`,
      );
  }
  return change;
}

type Prediction = Awaited<ReturnType<Predict>>;
type Times = Prediction['now'];

const COLUMNS: readonly Column<Times & { readonly name: string }>[] = [
  { title: 'change', of: ({ name }) => name },
  { title: 'starts in', align: 'right', of: ({ startSeconds }) => timeOf(startSeconds) },
  { title: 'ends in', align: 'right', of: ({ endSeconds }) => timeOf(endSeconds) },
];

/** @param names of the changes, as the user wrote them */
export function whatIfPage(
  names: readonly string[],
  { now, changes, assumptions }: Prediction,
  paint: Painter,
): string {
  const rows = [
    { name: 'none', ...now },
    ...changes.map((each, index) => ({ name: plain(names[index]!), ...each })),
  ];
  return [
    renderTable(COLUMNS, rows, paint),
    '',
    ...assumptions.map((text) => paint.dim(`assumed: ${text}`)),
  ].join('\n');
}

function timeOf(seconds: number | null): string {
  return seconds === null ? 'not predicted' : formatDuration(1_000 * seconds);
}
