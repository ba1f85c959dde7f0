import { type Usage, usageJson } from '@goshawk/client';
import { type Column, defineCommand, FROM, painter, partOf, plain, renderTable } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import {
  counted,
  csvRow,
  dayText,
  formatDuration,
  InputError,
  type Millis,
  NO_USAGE,
  parseDay,
  quoted,
  USAGE_GROUPS,
  type UsageGroup,
  type UsageRow,
  usageRowJson,
  usageSumsJson,
} from '@goshawk/core';

const HOUR_MS = 3_600_000;
const UNKNOWN = 'unknown';

export const usageCommand = defineCommand({
  name: 'usage',
  describe:
    'show the resource usage of ended attempts (requested CPUs, memory and GPUs × run time), with waits and failures, by user, project, job name or day',
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
    const { shown, left, next } = partOf(usage.rows, options);
    if (csv) {
      const rows = shown.map((row) => usageRowJson(row, by));
      const titles = [...by, ...Object.keys(usageSumsJson(NO_USAGE))];
      context.out(titles.join(','));
      for (const row of rows)
        context.out(csvRow(titles.map((title) => row[title as keyof typeof row] ?? null)));
    } else if (shown.length > 0)
      context.out(
        renderTable(columnsOf(by), [...shown.map((row) => cells(row, by)), totals(usage)], painter(context)),
      );
    else context.note('no attempt has ended');
    for (const scheduler of usage.silent)
      context.note(`no answer from ${plain(scheduler)}: the usage of its jobs is missing`);
    if (next !== null) context.note(`${counted(left, 'more line')}; --from ${next} continues`);
    if (!csv && shown.length > 0)
      context.note(
        'hours are requested resources × run time of all ended attempts; GiB h counts those that request memory',
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

function columnsOf(by: readonly UsageGroup[]): Column[] {
  const amount = (title: string, dropFirst?: number): Column => ({
    title,
    align: 'right',
    ...(dropFirst === undefined ? {} : { dropFirst }),
  });
  return [
    ...by.map((group): Column => (group === 'day' ? { title: group } : { title: group, shrinkTo: 8 })),
    amount('attempts'),
    amount('CPU h'),
    amount('GiB h'),
    amount('GPU h'),
    amount('wait', 1),
    amount('failed'),
    amount('killed', 3),
    amount('lost', 2),
  ];
}

function cells(row: UsageRow, by: readonly UsageGroup[]): string[] {
  const names = by.map((group) => {
    if (group === 'day') return row.day === undefined ? UNKNOWN : dayText(row.day);
    return row[group] === undefined ? (group === 'user' ? '(unknown)' : '(none)') : plain(row[group]);
  });
  return [...names, ...amounts(row)];
}

function totals({ by, totals }: Usage): string[] {
  return [...by.map((_, index) => (index === 0 ? 'total' : '')), ...amounts(totals)];
}

function amounts(row: Omit<UsageRow, 'day'>): string[] {
  const { attempts, failed, cancelled, preempted, lost, waits, waitMs } = row;
  return [
    `${attempts}`,
    hours(row.cpuMs),
    row.memoryMs === 0 && row.memoryUnknownMs > 0 ? UNKNOWN : hours(row.memoryMs),
    hours(row.gpuMs),
    waits === 0 ? UNKNOWN : formatDuration(waitMs / waits),
    `${failed}`,
    `${cancelled + preempted}`,
    `${lost}`,
  ];
}

/** A few significant digits. */
function hours(ms: Millis): string {
  const value = ms / HOUR_MS;
  if (value >= 1_000) return `${Math.round(value)}`;
  return value.toFixed(value < 10 ? 4 : 2);
}
