import { Histogram } from '@goshawk/core';
import { METRICS, type MetricName, type MetricSpec } from './catalogue.js';
import { type Reading, type Readings, type Sample, samplesOf } from './exposition.js';

/**
 * Combines the readings of several machines of a process. Values are added unless all machines report the
 * same one.
 */
export function combineReadings(all: readonly Readings[]): Readings {
  const names = new Set(all.flatMap((readings) => Object.keys(readings) as MetricName[]));
  return Object.fromEntries(
    [...names].flatMap((name) => {
      const samples = all.flatMap((readings) => samplesOf(readings[name] ?? []));
      const { isShared = false } = METRICS[name] as MetricSpec;
      return samples.length === 0 ? [] : [[name, merged(samples, isShared)] as const];
    }),
  );
}

/**
 * Returns readings without gauges, to keep the counts of a removed machine, because totals must not decrease.
 */
export function counted(readings: Readings): Readings {
  const entries = Object.entries(readings) as [MetricName, Reading | undefined][];
  return Object.fromEntries(entries.filter(([name]) => METRICS[name].kind !== 'gauge'));
}

/** Returns one sample for each combination of labels. */
function merged(samples: readonly Sample[], areAlike: boolean): Sample[] {
  const byLabels = new Map<string, Sample>();
  for (const sample of samples) {
    const key = JSON.stringify(sample.labels);
    const before = byLabels.get(key);
    byLabels.set(key, before === undefined ? sample : { ...sample, value: sum(before, sample, areAlike) });
  }
  return [...byLabels.values()];
}

function sum({ value: one }: Sample, { value: other }: Sample, areAlike: boolean): number | Histogram {
  if (typeof one === 'number' && typeof other === 'number')
    return areAlike ? Math.max(one, other) : one + other;
  const both = new Histogram((one as Histogram).bounds);
  for (const each of [one, other]) both.addAll(each as Histogram);
  return both;
}
