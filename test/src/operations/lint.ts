import { METRICS, type MetricSpec } from '@goshawk/runtime';

/** One line of `/metrics` that is a sample. */
interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** One metric as a process exposes it. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly series: readonly Series[];
}

const NAME = /^goshawk(_[a-z][a-z0-9]*)+$/;
const LABEL = /^[a-z][a-z0-9_]*$/;
/** Suffixes that are not base units, or that are reserved. */
const NO_UNITS =
  /_(milliseconds|ms|minutes|hours|days|kilobytes|megabytes|mebibytes|percent|count|sum|bucket|info_total)$/;
/** Maximum number of series of one metric; the longest closed list is that of messages. */
const SERIES_PER_METRIC_MAX = 300;

/** @throws Error for a line that violates the text format */
export function families(text: string): Family[] {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const found: { name: string; help: string; type: string; series: Series[] }[] = [];
  for (const line of text.slice(0, -1).split('\n')) {
    const [, what, name, rest] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (what === 'HELP') found.push({ name: name!, help: rest!, type: '', series: [] });
    else if (what === 'TYPE' && found.at(-1)?.name === name) found.at(-1)!.type = rest!;
    else if (what === undefined && found.length > 0) found.at(-1)!.series.push(seriesOf(line));
    else throw new Error(`out of place: ${line}`);
  }
  return found;
}

function seriesOf(line: string): Series {
  const [, name, braced, number] = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (name === undefined) throw new Error(`no sample: ${line}`);
  const labels: Record<string, string> = {};
  for (const [, label, value] of (braced ?? '').matchAll(/([^=,]+)="((?:[^"\\]|\\.)*)",?/g))
    labels[label!] = value!;
  return { name, labels, value: number === '+Inf' ? Number.POSITIVE_INFINITY : Number(number) };
}

/** Applies the rules of promtool, and two more: each metric is in the catalogue, and its labels have allowed values. */
export function lint(all: readonly Family[]): string[] {
  const names = all.map(({ name }) => name);
  const doubled = names.filter((name, index) => names.indexOf(name) !== index);
  return [...doubled.map((name) => `${name} is there twice`), ...all.flatMap(lintFamily)];
}

function lintFamily(family: Family): string[] {
  const { name, help, type, series } = family;
  const spec = (METRICS as Readonly<Record<string, MetricSpec>>)[name];
  if (spec === undefined) return [`${name} is not in the catalogue`];
  const problems: string[] = [];
  const check = (isGood: boolean, problem: string): void => {
    if (!isGood) problems.push(`${name} ${problem}`);
  };
  check(NAME.test(name), 'is not a valid metric name of Goshawk');
  check(!NO_UNITS.test(name), 'ends in a unit that is not a base unit, or in a reserved suffix');
  check(/^\S.*\.$/.test(help) && help.length > 12, 'has no help text that is a sentence');
  check(type === spec.kind, `is a ${type}, not a ${spec.kind}`);
  check(
    (type === 'counter') === name.endsWith('_total'),
    'is a counter without the suffix _total, or has the suffix and is not a counter',
  );
  check(type !== 'histogram' || /_(seconds|bytes)$/.test(name), 'is a histogram without a unit');
  check(series.length > 0 || spec.labels !== undefined, 'has no series');
  check(series.length <= SERIES_PER_METRIC_MAX, `has ${series.length} series`);
  const keys = series.map((one) => `${one.name} ${JSON.stringify(Object.entries(one.labels).sort())}`);
  check(new Set(keys).size === keys.length, 'has a series twice');
  for (const one of series) problems.push(...lintSeries(family, one, spec));
  return [...problems, ...(type === 'histogram' ? lintBuckets(family) : [])];
}

function lintSeries(
  { name, type }: Family,
  { name: own, labels, value }: Series,
  spec: MetricSpec,
): string[] {
  const problems: string[] = [];
  const { le, ...others } = labels;
  const suffix = own.slice(name.length);
  const suffixes = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
  if (!own.startsWith(name) || !suffixes.includes(suffix)) problems.push(`${own} is not a series of ${name}`);
  if ((le !== undefined) !== (suffix === '_bucket')) problems.push(`${own}: le is for buckets`);
  const expected = Object.keys(spec.labels ?? {})
    .sort()
    .join();
  if (Object.keys(others).sort().join() !== expected) {
    problems.push(`${own} has the labels ${Object.keys(others)}, not ${expected}`);
  }
  for (const [label, held] of Object.entries(others)) {
    if (!LABEL.test(label)) problems.push(`${own}: ${label} is not a valid label name`);
    const values = spec.labels?.[label];
    if (Array.isArray(values) && !values.includes(held))
      problems.push(`${own}: ${label}="${held}" is not in its list`);
  }
  if (Number.isNaN(value)) problems.push(`${own} is not a number`);
  if (type !== 'gauge' && value < 0) problems.push(`${own} is negative`);
  return problems;
}

/** Checks that buckets are cumulative and add up to the count. */
function lintBuckets({ name, series }: Family): string[] {
  const problems: string[] = [];
  const byLabels = new Map<string, Series[]>();
  for (const one of series) {
    const { le: _, ...others } = one.labels;
    const key = JSON.stringify(others);
    byLabels.set(key, [...(byLabels.get(key) ?? []), one]);
  }
  for (const [key, of] of byLabels) {
    const buckets = of.filter((one) => one.name.endsWith('_bucket'));
    const count = of.find((one) => one.name.endsWith('_count'))?.value;
    const bounds = buckets.map(({ labels }) =>
      labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le),
    );
    const ascends = (values: readonly number[]) =>
      values.every((value, i) => i === 0 || values[i - 1]! <= value);
    if (!ascends(bounds) || bounds.at(-1) !== Number.POSITIVE_INFINITY)
      problems.push(`${name}${key}: bounds ${bounds}`);
    if (!ascends(buckets.map(({ value }) => value)) || buckets.at(-1)?.value !== count) {
      problems.push(`${name}${key}: its buckets do not add up`);
    }
    if (!of.some((one) => one.name.endsWith('_sum'))) problems.push(`${name}${key} has no sum`);
  }
  return problems;
}
