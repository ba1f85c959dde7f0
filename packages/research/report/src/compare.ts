import {
  type ByClass,
  type Cluster,
  COMPARISON_SCHEMA,
  type Comparison,
  type IntervalMethod,
  type JobClass,
  type Ratio,
  type RatioStatistics,
  type Run,
  type Slowdowns,
  type Workload,
} from './comparison.js';
import { summarise } from './distribution.js';
import { ComparisonError } from './errors.js';
import { intervalMethod, type JobTimes, ratioIntervals } from './intervals.js';
import { type PolicySummary, summarisePolicies } from './summary.js';

type Statistic = keyof RatioStatistics<unknown>;

/**
 * Compares finished runs of one workload on one cluster. `ratios` compares the policy of the first run with
 * each other policy, in order of appearance, unless `pairs` defines the pairs.
 *
 * @throws ComparisonError without runs, if a policy ran twice under one seed, or if runs were given different
 * numbers of jobs.
 */
export function buildComparison(parts: {
  workload: Workload;
  cluster: Cluster;
  runs: readonly Run[];
  /** Times of each run by job, from which intervals are computed. */
  times?: readonly JobTimes[];
  /** Pairs of run names: each with its baseline. */
  pairs?: readonly (readonly [policy: string, baseline: string])[] | undefined;
}): Comparison {
  const { workload, cluster, times = [] } = parts;
  assertComparable(parts.runs);
  const runs = parts.runs.map((run) => againstDrf(run, times));
  const ratios = compareInPairs(runs, parts.pairs);
  const comparison = { schema: COMPARISON_SCHEMA, workload, cluster, runs, ratios } as const;
  if (times.length === 0 || ratios.length === 0) return comparison;
  const intervals = intervalMethod(
    times[0]!.runtimeSeconds.length,
    new Set(runs.map(({ seed }) => seed)).size,
  );
  return { ...comparison, ratios: ratios.map((ratio) => withInterval(ratio, times, intervals)), intervals };
}

const DRF = 'drf';
/** Run times whose relative difference is smaller differ only by messages. */
const SAME_WITHIN = 0.001;
const MUCH_SLOWER = 1.25;

/** Adds a comparison of each staged job with the run under `drf` and the same seed, if there is one. */
function againstDrf(run: Run, times: readonly JobTimes[]): Run {
  const { policy, seed, staged } = run;
  const timesOf = (name: string) => times.find((each) => each.policy === name && each.seed === seed);
  const [own, fair] = [timesOf(policy), timesOf(DRF)];
  if (staged === undefined || policy === DRF || own === undefined || fair === undefined) return run;
  const against = slowdownsOf(own.runtimeSeconds, fair.runtimeSeconds);
  return against.slowdown.count === 0 ? run : { ...run, staged: { ...staged, againstDrf: against } };
}

/** Returns the slowdown of each job relative to another run, for jobs that completed in both. */
export function slowdownsOf(own: ArrayLike<number>, other: ArrayLike<number>): Slowdowns {
  const known = Array.from(own, (seconds, job) => seconds / other[job]!).filter(Number.isFinite);
  const share = (least: number) => known.filter((slowdown) => slowdown > least).length / known.length;
  return {
    slowdown: summarise(known),
    slower: share(1 + SAME_WITHIN),
    muchSlower: share(MUCH_SLOWER),
  };
}

function withInterval(ratio: Ratio, times: readonly JobTimes[], method: IntervalMethod): Ratio {
  const ofPolicy = (policy: string) => times.filter((each) => each.policy === policy);
  const baseline = ofPolicy(ratio.baseline);
  const pairs = ofPolicy(ratio.policy).flatMap((one) => {
    const twin = baseline.find(({ seed }) => seed === one.seed);
    return twin === undefined ? [] : [[one, twin] as const];
  });
  return pairs.length === 0 ? ratio : { ...ratio, interval: ratioIntervals(pairs, method) };
}

/**
 * Merges comparisons of one workload. The first policy of all is compared with each other one; a single
 * comparison keeps its pairs. Existing intervals are kept; the others need the times of all comparisons.
 *
 * @param named comparisons; the names distinguish runs of the same policy
 * @throws ComparisonError if they are of different workloads
 */
export function mergeComparisons(
  named: readonly {
    readonly name: string;
    readonly comparison: Comparison;
    /** Times of its runs by job, if they are known. */
    readonly times?: readonly JobTimes[] | undefined;
  }[],
): Comparison {
  const [first, ...others] = named;
  if (first === undefined) throw new ComparisonError('there is nothing to compare');
  const { workload, cluster } = first.comparison;
  for (const { name, comparison } of others) {
    if (comparison.workload.sha256 === workload.sha256 && comparison.workload.jobs === workload.jobs)
      continue;
    throw new ComparisonError(
      `${name} ran ${comparison.workload.name}, and ${first.name} ${workload.name}: compare runs of one workload`,
    );
  }
  const labels = labelRuns(named);
  const nameIn = (name: string, policy: string): string => labels.get(name)!.get(policy) ?? policy;
  const runs = named.flatMap(({ name, comparison }) =>
    comparison.runs.map((run) => ({ ...run, policy: nameIn(name, run.policy) })),
  );
  const pairs =
    others.length > 0
      ? undefined
      : first.comparison.ratios.map((each) => [each.policy, each.baseline] as const);
  const times = named.every((each) => each.times !== undefined)
    ? named.flatMap(({ name, times: own }) =>
        own!.map((each) => ({ ...each, policy: nameIn(name, each.policy) })),
      )
    : [];
  const merged = buildComparison({ workload, cluster, runs, pairs, times });
  const known = named.flatMap(({ name, comparison }) =>
    comparison.ratios.map((ratio) => ({
      policy: nameIn(name, ratio.policy),
      baseline: nameIn(name, ratio.baseline),
      interval: ratio.interval,
      method: comparison.intervals,
    })),
  );
  let intervals = merged.intervals;
  const ratios = merged.ratios.map((ratio) => {
    const same = known.find(({ policy, baseline }) => policy === ratio.policy && baseline === ratio.baseline);
    if (same?.interval === undefined || same.method === undefined) return ratio;
    intervals ??= same.method;
    return same.method.over === intervals.over ? { ...ratio, interval: same.interval } : ratio;
  });
  return intervals === undefined ? merged : { ...merged, ratios, intervals };
}

/** Differences that a label names; more are left to the name of the file. */
const NAMED_MAX = 3;

/**
 * Names the runs of each comparison, by its name and their policy: a policy of several comparisons gets the settings in which its
 * runs differ, and the name of the comparison if these do not tell them apart.
 */
export function labelRuns(
  named: readonly { readonly name: string; readonly comparison: Pick<Comparison, 'runs'> }[],
): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const labels = new Map(named.map(({ name }) => [name, new Map<string, string>()]));
  const policies = new Set(named.flatMap(({ comparison }) => comparison.runs.map(({ policy }) => policy)));
  const taken = new Set<string>();
  for (const policy of policies) {
    const found = named.flatMap(({ name, comparison: { runs } }) => {
      const run = runs.find((each) => each.policy === policy);
      return run === undefined ? [] : [{ name, options: settingsOf(run) }];
    });
    const names = [...new Set(found.flatMap(({ options }) => [...options.keys()]))];
    const differing = names.filter(
      (option) => new Set(found.map(({ options }) => options.get(option))).size > 1,
    );
    const shown = differing.slice(0, NAMED_MAX);
    const inWords = found.map(({ options }) =>
      shown.map((option) => `${option}=${options.get(option) ?? 'unset'}`).join(', '),
    );
    for (const [index, { name }] of found.entries()) {
      const words = inWords[index]!;
      const isUnique = words !== '' && inWords.filter((each) => each === words).length === 1;
      const parts = [...(words === '' ? [] : [words]), ...(isUnique ? [] : [name])];
      let label = found.length === 1 ? policy : `${policy} (${parts.join(', ')})`;
      // A policy may have been named like the label of another one.
      while (taken.has(label)) label = `${label} (${name})`;
      taken.add(label);
      labels.get(name)!.set(policy, label);
    }
  }
  return labels;
}

/** The settings of a run as text, by name, except its seed. */
function settingsOf({ options }: Run): ReadonlyMap<string, string> {
  const texts = Object.entries(options).flatMap(([name, value]): [string, string][] =>
    name === 'seed' || name === 'seeds' || value === null
      ? []
      : [[name, typeof value === 'object' ? JSON.stringify(value) : String(value)]],
  );
  return new Map(texts);
}

function assertComparable(runs: readonly Run[]): void {
  const first = runs[0];
  if (first === undefined) throw new ComparisonError('a comparison needs at least one run');
  const seen = new Set<string>();
  for (const { policy, seed, jobs } of runs) {
    const key = JSON.stringify([policy, seed]);
    if (seen.has(key)) {
      throw new ComparisonError(
        `${policy} ran twice under seed ${seed}: list each policy once, or use another seed`,
      );
    }
    seen.add(key);
    if (jobs.submitted !== first.jobs.submitted) {
      throw new ComparisonError(
        `${policy} ran ${jobs.submitted} jobs, but ${first.policy} ran ${first.jobs.submitted}: ` +
          'compare only runs of the whole workload',
      );
    }
  }
}

/**
 * Compares the first policy with each other one, or the given pairs. With several seeds, a ratio is that of
 * the means over the seeds, and the spread is over the seeds that both policies ran.
 */
function compareInPairs(
  runs: readonly Run[],
  pairs?: readonly (readonly [policy: string, baseline: string])[],
): Ratio[] {
  const summaries = summarisePolicies({ runs });
  const named = (name: string): PolicySummary | undefined => summaries.find(({ policy }) => policy === name);
  const [head, ...rest] = summaries;
  const paired = pairs?.map((names) => names.map(named)) ?? rest.map((other) => [head, other]);
  return paired.flatMap(([first, other]) => {
    if (first === undefined || other === undefined) return [];
    const ratio = {
      policy: first.policy,
      baseline: other.policy,
      ...byClassAndStatistic((of, statistic) =>
        quotient(first.runtimeSeconds[of][statistic], other.runtimeSeconds[of][statistic]),
      ),
    };
    const bySeed = pairBySeed(first, other);
    if (bySeed.length < 2) return [ratio];
    return [{ ...ratio, spread: byClassAndStatistic((of, statistic) => spread(bySeed, of, statistic)) }];
  });
}

function pairBySeed(first: PolicySummary, other: PolicySummary): (readonly [Run, Run])[] {
  return first.runs.flatMap((run) => {
    const twin = other.runs.find(({ seed }) => seed === run.seed);
    return twin === undefined ? [] : [[run, twin] as const];
  });
}

function spread(
  paired: readonly (readonly [Run, Run])[],
  of: JobClass,
  statistic: Statistic,
): [least: number, greatest: number] | null {
  const values = paired
    .map(([run, twin]) => quotient(run.runtimeSeconds[of][statistic], twin.runtimeSeconds[of][statistic]))
    .filter((value) => value !== null);
  return values.length === 0 ? null : [Math.min(...values), Math.max(...values)];
}

function quotient(value: number | null, baseline: number | null): number | null {
  return value === null || baseline === null || baseline === 0 ? null : value / baseline;
}

function byClassAndStatistic<T>(
  value: (of: JobClass, statistic: Statistic) => T,
): ByClass<RatioStatistics<T>> {
  const statistics = (of: JobClass) => ({
    p50: value(of, 'p50'),
    p90: value(of, 'p90'),
    mean: value(of, 'mean'),
  });
  return { short: statistics('short'), long: statistics('long') };
}
