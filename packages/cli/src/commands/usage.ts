import { type Usage, usageJson } from '@goshawk/client';
import {
  type Column,
  defineCommand,
  FROM,
  type Painter,
  pageOf,
  painter,
  plain,
  renderTable,
} from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import {
  counted,
  csvRow,
  dayText,
  formatDuration,
  hoursKnown,
  InputError,
  type Millis,
  NO_USAGE,
  parseDay,
  quoted,
  USAGE_GROUPS,
  type UsageGroup,
  type UsageRow,
  usageRowTable,
  usageSumsJson,
} from '@goshawk/core';

const UNKNOWN = 'unknown';

export const usageCommand = defineCommand({
  name: 'usage',
  describe:
    'show the resource usage of ended attempts (requested CPUs, memory and GPUs × run time, and measured CPU time), with waits and failures, by user, project, job name or day',
  examples: [
    ['goshawk usage --since 30d', 'show usage by user for the last 30 days'],
    ['goshawk usage --by day,user --project lab --csv > usage.csv', 'for a spreadsheet'],
  ],
  options: {
    by: {
      type: 'text',
      value: 'GROUPS',
      setting: false,
      default: 'user',
      suggests: USAGE_GROUPS,
      describe: `group by: ${USAGE_GROUPS.join(', ')}, comma-separated`,
    },
    since: {
      type: 'text',
      value: 'DAY',
      setting: false,
      describe: 'first day: a date such as 2026-11-26 (UTC), or an age such as 7d',
    },
    until: { type: 'text', value: 'DAY', setting: false, describe: 'last day, inclusive' },
    user: { type: 'text', value: 'NAME', setting: false, describe: 'only jobs of this user' },
    project: { type: 'text', value: 'NAME', setting: false, describe: 'only jobs of this project' },
    name: { type: 'text', value: 'NAME', setting: false, describe: 'only jobs with this name' },
    csv: { type: 'flag', setting: false, describe: 'print CSV with a header' },
    limit: { type: 'count', setting: false, default: 1_000, min: 1, describe: 'maximum number of lines' },
    from: FROM,
  },
  async run(context, options) {
    const { user, project, name, csv } = options;
    if (csv && context.global.json)
      throw new InputError('usage', 'usage: --csv and --json cannot be used together', 'use one of them');
    const by = groupsIn(options.by);
    const now = Date.now();
    const since = options.since === undefined ? undefined : parseDay(options.since, '--since', now);
    const until = options.until === undefined ? undefined : parseDay(options.until, '--until', now);
    if (since !== undefined && until !== undefined && since > until)
      throw new InputError('usage', 'usage: --since is after --until', 'give an earlier day with --since');
    await using cluster = await openCluster(context);
    const signal = context.interrupted;
    const usage = await cluster.usage({ by, since, until, user, project, name, signal });
    if (context.global.json) return void context.json(usageJson(usage, options));
    const { shown, left, next } = pageOf(usage.rows, options);
    if (csv) {
      const rows = shown.map((row) => usageRowTable.json({ row, by }, undefined));
      const titles = [...by, ...Object.keys(usageSumsJson(NO_USAGE))];
      context.out(titles.join(','));
      for (const row of rows)
        context.out(csvRow(titles.map((title) => row[title as keyof typeof row] ?? null)));
    } else if (shown.length > 0) context.out(usageTable(shown, usage, painter(context)));
    else context.note('no attempt has ended');
    for (const scheduler of usage.silent)
      context.note(`no answer from ${plain(scheduler)}: the usage of its jobs is missing`);
    if (next !== null) context.note(`${counted(left, 'more line')}; --from ${next} continues`);
    if (!csv && shown.length > 0)
      context.note(
        `hours are requested resources × run time of all ended attempts; GiB h counts those that request memory; used h is the CPU time that the kernel measured${unmeasured(usage.totals)}`,
      );
  },
});

function groupsIn(text: string): readonly UsageGroup[] {
  const given = text.split(',').map((part) => part.trim());
  for (const each of given)
    if (!USAGE_GROUPS.includes(each as UsageGroup))
      throw new InputError(
        'usage',
        `usage: --by: unknown group ${quoted(each)}`,
        `use ${USAGE_GROUPS.join(', ')}, comma-separated`,
      );
  return USAGE_GROUPS.filter((group) => given.includes(group)).sort(
    (one, other) => given.indexOf(one) - given.indexOf(other),
  );
}

/** Columns of groups and of the total, which has no groups. */
function columnsOf(by: readonly UsageGroup[]): Column<UsageRow | 'total'>[] {
  const group = (name: UsageGroup, at: number): Column<UsageRow | 'total'> => ({
    title: name,
    ...(name === 'day' ? {} : { shrinkTo: 8 }),
    of: (row) => (row !== 'total' ? groupWords(row, name) : at === 0 ? 'total' : ''),
  });
  return by.map(group);
}

function groupWords(row: UsageRow, name: UsageGroup): string {
  if (name === 'day') return row.day === undefined ? UNKNOWN : dayText(row.day);
  return row[name] === undefined ? (name === 'user' ? '(unknown)' : '(none)') : plain(row[name]);
}

type Amounts = Omit<UsageRow, 'day'>;

const AMOUNTS: readonly Column<Amounts>[] = [
  { title: 'attempts', align: 'right', of: ({ attempts }) => `${attempts}` },
  { title: 'CPU h', align: 'right', of: ({ cpuMs }) => hours(cpuMs) },
  {
    title: 'used h',
    align: 'right',
    of: ({ cpuUsedMs, cpuUnknownMs }) => hours(cpuUsedMs, cpuUnknownMs),
  },
  {
    title: 'GiB h',
    align: 'right',
    of: ({ memoryMs, memoryUnknownMs }) => hours(memoryMs, memoryUnknownMs),
  },
  { title: 'GPU h', align: 'right', of: ({ gpuMs }) => hours(gpuMs) },
  {
    title: 'wait',
    align: 'right',
    expendable: 1,
    of: ({ waits, waitMs }) => (waits === 0 ? UNKNOWN : formatDuration(waitMs / waits)),
  },
  { title: 'failed', align: 'right', of: ({ failed }) => `${failed}` },
  {
    title: 'killed',
    align: 'right',
    expendable: 3,
    of: ({ cancelled, preempted }) => `${cancelled + preempted}`,
  },
  { title: 'lost', align: 'right', expendable: 2, of: ({ lost }) => `${lost}` },
];

/** Renders the groups, and their total in the last row. */
function usageTable(shown: readonly UsageRow[], { by, totals }: Usage, paint: Painter): string {
  const lines: Line[] = [
    ...shown.map((row) => ({ group: row, amounts: row })),
    { group: 'total', amounts: totals },
  ];
  const columns: Column<Line>[] = [
    ...columnsOf(by).map((column) => ({ ...column, of: ({ group }: Line) => column.of(group) })),
    ...AMOUNTS.map((column) => ({ ...column, of: ({ amounts }: Line) => column.of(amounts) })),
  ];
  return renderTable(columns, lines, paint);
}

function unmeasured({ cpuUnknownMs }: Amounts): string {
  return cpuUnknownMs > 0 ? `, which is unknown for ${hours(cpuUnknownMs)} h of run time` : '';
}

interface Line {
  readonly group: UsageRow | 'total';
  readonly amounts: Amounts;
}

/** Renders hours with a few significant digits. @param unknownMs as in `hoursKnown` */
function hours(ms: Millis, unknownMs: Millis = 0): string {
  const value = hoursKnown(ms, unknownMs);
  if (value === undefined) return UNKNOWN;
  if (value >= 1_000) return `${Math.round(value)}`;
  return value.toFixed(value < 10 ? 4 : 2);
}
