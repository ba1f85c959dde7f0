import { meanOf } from '@goshawk/core';
import type { Run } from '@goshawk/report';
import { type BenchResult, result } from '../bench-report.js';
import { comparisons, difference, type Pair } from './pair.js';

/** Returns the error of the simulation: one result per policy, class and percentile, with one run per pair. */
export function differences(pairs: readonly Pair[]): BenchResult[] {
  return byPolicy(pairs).flatMap(([policy, of]) =>
    comparisons().map(([jobs, at]) =>
      result(
        `${policy} ${jobs} ${at}`,
        OVER_LIVE,
        of.map((pair) => 100 * difference(pair, jobs, at)),
      ),
    ),
  );
}

/** Returns the results whose median over all pairs exceeds its tolerance. */
export function misses(found: readonly BenchResult[]): BenchResult[] {
  return found.filter(({ name, value }) => Math.abs(value) > (name.endsWith('p50') ? 5 : 10));
}

/** Returns further measurements that help to explain the error of the simulation. */
export function measurements(pairs: readonly Pair[]): BenchResult[] {
  return byPolicy(pairs).flatMap(([policy, of]) => {
    const each = (name: string, unit: string, value: (pair: Pair) => number): BenchResult =>
      result(`${policy} ${name}`, unit, of.map(value));
    const measured = new Set(of.flatMap(({ summary }) => [...summary.keys()]));
    const steals = STEALS.filter(([, count]) => of.some(({ live }) => count(live) > 0));
    return [
      each('load of the machine before', 'processes', ({ loadBefore }) => loadBefore),
      // A difference between live and simulated says little where the simulations of the same jobs differ by more.
      ...comparisons().map(([jobs, at]) =>
        each(`${jobs} ${at}, range of the simulations`, '% of their mean', ({ simulated }) => {
          const values = simulated.map((run) => run.runtimeSeconds[jobs][at]!);
          return (100 * (Math.max(...values) - Math.min(...values))) / meanOf(values);
        }),
      ),
      ...[...measured].map((name) => each(name, 'ms', ({ summary }) => summary.get(name) ?? Number.NaN)),
      ...steals.map(([name, count]) =>
        each(
          name,
          OVER_LIVE,
          ({ live, simulated }) => 100 * (meanOf(simulated.map(count)) / count(live) - 1),
        ),
      ),
    ];
  });
}

const OVER_LIVE = '% simulated over live';

const STEALS: readonly (readonly [name: string, count: (run: Run) => number])[] = [
  ['steal requests', ({ steals }) => steals?.attempts ?? 0],
  ['successful steals', ({ steals }) => steals?.successes ?? 0],
];

function byPolicy(pairs: readonly Pair[]): [policy: string, pairs: Pair[]][] {
  const policies = [...new Set(pairs.map(({ options }) => options.policy))];
  return policies.map((policy) => [policy, pairs.filter(({ options }) => options.policy === policy)]);
}
