import { type BenchResult, percentile, result } from '../bench-report.js';
import type { Travelled } from './delays.js';
import { comparisons, difference, type Pair } from './pair.js';

/** What the simulation is off by: one result for each policy, class and percentile, one run a pair. */
export function differences(pairs: readonly Pair[]): BenchResult[] {
  return byPolicy(pairs).flatMap(([policy, of]) =>
    comparisons().map(([jobs, at]) =>
      result(
        `${policy} ${jobs} ${at}`,
        '% simulated over live',
        of.map((pair) => 100 * difference(pair, jobs, at)),
      ),
    ),
  );
}

/** What was measured on the way, to find out by what the simulation is off. */
export function measurements(pairs: readonly Pair[]): BenchResult[] {
  return byPolicy(pairs).flatMap(([policy, of]) => [
    result(
      `${policy} load of the machine before`,
      'processes',
      of.map(({ loadBefore }) => loadBefore),
    ),
    ...KINDS.flatMap(([name, isOne]) => {
      const delays = of.map(({ travelled }) => travelled.filter(isOne).map(({ delayMs }) => delayMs));
      if (delays.every((ms) => ms.length === 0)) return [];
      return [
        result(`${policy} ${name}, mean`, 'ms', delays.map(mean)),
        ...[0.5, 0.99].map((at) =>
          result(
            `${policy} ${name}, p${100 * at}`,
            'ms',
            delays.map((ms) => percentile(ms, at)),
          ),
        ),
      ];
    }),
    result(
      `${policy} sleeps late, mean`,
      'ms',
      of.map(({ profile }) => mean(profile.phases.flatMap((phase) => phase.sleepLateMs))),
    ),
    result(
      `${policy} timers late, mean`,
      'ms',
      of.map(({ profile }) => mean(profile.phases.flatMap((phase) => phase.timerLateMs))),
    ),
    result(
      `${policy} steals asked for`,
      '% simulated over live',
      of.map((pair) => overLive(pair, ({ steals }) => steals?.attempts)),
    ),
    result(
      `${policy} steals that gave`,
      '% simulated over live',
      of.map((pair) => overLive(pair, ({ steals }) => steals?.successes)),
    ),
  ]);
}

const KINDS: readonly (readonly [name: string, (message: Travelled) => boolean])[] = [
  ['steal and stolen', ({ type, sameProcess }) => isSteal(type) && !sameProcess],
  ['steal and stolen within a process', ({ type, sameProcess }) => isSteal(type) && sameProcess],
  ['ask', ({ type }) => type === 'ask'],
  ['bind', ({ type }) => type === 'bind'],
  ['probe', ({ type }) => type === 'probe'],
  ['assign', ({ type }) => type === 'assign'],
  ['submit', ({ type }) => type === 'submit'],
  ['event', ({ type }) => type === 'event'],
];

function isSteal(type: string): boolean {
  return type === 'steal' || type === 'stolen';
}

function byPolicy(pairs: readonly Pair[]): [policy: string, pairs: Pair[]][] {
  const policies = [...new Set(pairs.map(({ options }) => options.policy))];
  return policies.map((policy) => [policy, pairs.filter(({ options }) => options.policy === policy)]);
}

function overLive({ live, simulated }: Pair, count: (run: Pair['live']) => number | undefined): number {
  return 100 * (mean(simulated.map((run) => count(run) ?? 0)) / (count(live) ?? 0) - 1);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
