import { counted, meanOf } from '@goshawk/core';
import type {
  ByClass,
  Comparison,
  Messages,
  Run,
  Steals,
  TimeParts,
  Utilisation,
  UtilisationLevels,
} from './comparison.js';
import { type Distribution, meanOfPresent } from './distribution.js';
import { duration, whole } from './numbers.js';

/** Summary of one policy: each number is the mean over the seeds. */
export interface PolicySummary {
  readonly policy: string;
  readonly runs: readonly Run[];
  readonly jobs: Run['jobs'];
  readonly runtimeSeconds: ByClass<Distribution>;
  readonly queueingSeconds: ByClass<Distribution>;
  readonly utilisation: Pick<Utilisation, 'mean' | 'p50' | 'max' | 'whileSubmitting'>;
  readonly timeParts: ByClass<TimeParts | null>;
  readonly messages: Messages;
  readonly messagesPerTask: number | null;
  readonly steals: Steals;
}

/** Returns one summary per policy, in the order of the runs. */
export function summarisePolicies(comparison: Pick<Comparison, 'runs'>): PolicySummary[] {
  const policies = [...new Set(comparison.runs.map((run) => run.policy))];
  return policies.map((policy) => {
    const runs = comparison.runs.filter((run) => run.policy === policy);
    const distribution = (of: (run: Run) => Distribution) => meanFields(runs.map(of));
    return {
      policy,
      runs,
      jobs: meanFields(runs.map((run) => run.jobs)),
      runtimeSeconds: {
        short: distribution((run) => run.runtimeSeconds.short),
        long: distribution((run) => run.runtimeSeconds.long),
      },
      queueingSeconds: {
        short: distribution((run) => run.queueingSeconds.short),
        long: distribution((run) => run.queueingSeconds.long),
      },
      utilisation: {
        ...meanUtilisation(runs.map((run) => run.utilisation)),
        whileSubmitting: meanUtilisation(runs.map((run) => run.utilisation.whileSubmitting)),
      },
      timeParts: {
        short: meanParts(runs.map((run) => run.timeParts.short)),
        long: meanParts(runs.map((run) => run.timeParts.long)),
      },
      messages: {
        total: meanOfPresent(runs.map((run) => run.messages.total)) ?? 0,
        byType: meanByType(runs.map((run) => run.messages.byType)),
      },
      messagesPerTask: meanOfPresent(
        runs.map(({ messages, tasks }) => (tasks.submitted === 0 ? null : messages.total / tasks.submitted)),
      ),
      steals: meanFields(runs.map((run) => run.steals)),
    };
  });
}

function meanUtilisation(all: readonly UtilisationLevels[]): UtilisationLevels {
  return meanFields(all.map(({ mean, p50, max }) => ({ mean, p50, max })));
}

function meanParts(parts: readonly (TimeParts | null)[]): TimeParts | null {
  const present = parts.filter((part) => part !== null);
  if (present.length === 0) return null;
  const mean = (of: keyof TimeParts) => meanOf(present, (part) => part[of] ?? 0);
  const means = { queueing: mean('queueing'), running: mean('running'), reporting: mean('reporting') };
  return present.some((part) => part.binding !== undefined) ? { ...means, binding: mean('binding') } : means;
}

/** Returns the mean of each field over the numbers present; null if there are none. */
export function meanFields<T extends Readonly<Record<keyof T, number | null>>>(records: readonly T[]): T {
  const names = Object.keys(records[0]!) as (keyof T)[];
  const entries = names.map((name) => [name, meanOfPresent(records.map((each) => each[name]))]);
  return Object.fromEntries(entries) as T;
}

function meanByType(records: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const types = [...new Set(records.flatMap((record) => Object.keys(record)))];
  return Object.fromEntries(
    types.map((type) => [type, meanOfPresent(records.map((record) => record[type] ?? 0)) ?? 0]),
  );
}

/** Names a workload; the parameters of a generator could be mistaken for those of the run. */
export function workloadInWords(name: string): string {
  const [, generator, parameters] = /^([\w-]+):(\w+=.*)$/.exec(name) ?? [];
  if (parameters === undefined) return name;
  return `${generator} (generated with ${parameters.replaceAll(',', ', ')})`;
}

/** Returns `100 workers`, or `1,000 to 1,500 workers` if runs differ. */
export function workersInWords({ cluster, runs }: Pick<Comparison, 'cluster' | 'runs'>): string {
  const counts = runs.map(({ options }) => Number(options.workers ?? cluster.workers));
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return least === most ? counted(cluster.workers, 'worker') : `${whole(least)} to ${whole(most)} workers`;
}

/**
 * Returns the estimator and the cutoff of the runs, all of them if they differ: `estimator oracle (true run times), cutoff 10 s`.
 * A reader of a table cannot tell otherwise that the run times were known.
 */
export function estimatesInWords({ runs }: Pick<Comparison, 'runs'>): string {
  const valuesOf = (name: string): unknown[] => [...new Set(runs.map(({ options }) => options[name]))];
  const estimators = valuesOf('estimator').filter((value) => typeof value === 'string');
  const cutoffs = valuesOf('cutoff').filter((value) => typeof value === 'number');
  const named = estimators.map((name) => (name === 'oracle' ? 'oracle (true run times)' : String(name)));
  return [
    ...(named.length === 0 ? [] : [`estimator ${named.join(' / ')}`]),
    ...(cutoffs.length === 0 ? [] : [`cutoff ${cutoffs.map(duration).join(' / ')}`]),
  ].join(', ');
}

/** Returns the legend of the brackets after ratios; empty if there are none. */
export function bracketsInWords({ ratios, intervals }: Pick<Comparison, 'ratios' | 'intervals'>): string {
  if (intervals !== undefined) {
    const { level, over } = intervals;
    return `brackets show ${level * 100}% confidence intervals from a paired bootstrap over ${over}`;
  }
  const hasSpread = ratios.some(({ spread }) => spread !== undefined);
  return hasSpread ? 'brackets show the minimum and maximum over the seeds' : '';
}
