import { Histogram } from '@goshawk/core';
import { METRICS, type MetricName, type MetricSpec } from './catalogue.js';

type Labels = Readonly<Record<string, string>>;

/** A value with its labels. Histograms are recorded in ms and exported in seconds. */
export interface Sample {
  readonly labels: Labels;
  readonly value: number | Histogram;
}

export type Reading = number | Histogram | readonly Sample[];

/** Values of a process's metrics. */
export type Readings = { readonly [Name in MetricName]?: Reading | undefined };

/** Returns Prometheus's text format, in the order of the catalogue. */
export function exposition(readings: Readings): string {
  let text = '';
  for (const [name, { help, kind }] of Object.entries(METRICS) as [MetricName, MetricSpec][]) {
    const reading = readings[name];
    if (reading === undefined) continue;
    text += `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`;
    for (const { labels, value } of samplesOf(reading)) text += sampleText(name, labels, value);
  }
  return text;
}

export function samplesOf(reading: Reading): readonly Sample[] {
  return typeof reading === 'number' || reading instanceof Histogram
    ? [{ labels: {}, value: reading }]
    : reading;
}

function sampleText(name: string, labels: Labels, value: number | Histogram): string {
  const pairs = labelPairs(labels);
  if (!(value instanceof Histogram)) return `${name}${inBraces(pairs)} ${value}\n`;
  const before = pairs === '' ? '' : `${pairs},`;
  let text = '';
  let count = 0;
  value.counts.forEach((ofBucket, bucket) => {
    count += ofBucket;
    const bound = value.bounds[bucket];
    text += `${name}_bucket{${before}le="${bound === undefined ? '+Inf' : bound / 1_000}"} ${count}\n`;
  });
  return `${text}${name}_sum${inBraces(pairs)} ${value.sum / 1_000}\n${name}_count${inBraces(pairs)} ${count}\n`;
}

function labelPairs(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`)
    .join(',');
}

function inBraces(pairs: string): string {
  return pairs === '' ? '' : `{${pairs}}`;
}

/** Returns one sample for each value of a label. */
export function byLabel<Value extends number | Histogram>(
  label: string,
  values: Readonly<Partial<Record<string, Value>>>,
): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value: value! }));
}

/** Returns one sample for each pair of values of two labels. */
export function byLabels(
  [outer, inner]: readonly [string, string],
  counts: Readonly<Record<string, Readonly<Record<string, number>>>>,
): Sample[] {
  return Object.entries(counts).flatMap(([name, of]) =>
    Object.entries(of).map(([innerName, value]) => ({
      labels: { [outer]: name, [inner]: innerName },
      value,
    })),
  );
}
