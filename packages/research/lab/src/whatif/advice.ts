import { counted } from '@goshawk/core';
import type { Distribution, Run } from '@goshawk/report';
import type { Served } from './served.js';

export type RunTimes = Run['runtimeSeconds'];

/** A simulation of the recorded jobs under these settings. */
export interface Tried extends Served {
  readonly label: string;
  readonly policy: string;
  readonly workers: number;
  readonly runtimeSeconds: RunTimes;
}

const CLASSES = ['short', 'long'] as const;
const PERCENTILES = ['p50', 'p90'] as const;

/** One percentile of one class, for ratios. */
interface Measure {
  readonly name: string;
  readonly of: (times: RunTimes) => number | null;
}

const MEASURES: readonly Measure[] = CLASSES.flatMap((each) =>
  PERCENTILES.map((percentile) => ({
    name: `${each} ${percentile}`,
    of: (times: RunTimes) => (times[each] as Distribution)[percentile],
  })),
);

/** Returns ratios of run times by statistic, such as `short p50`, if both sides have it. */
export function ratiosOf(times: RunTimes, to: RunTimes): Readonly<Record<string, number>> {
  return Object.fromEntries(
    MEASURES.flatMap(({ name, of }) => {
      const [one, other] = [of(times), of(to)];
      return one === null || other === null || other === 0 ? [] : [[name, one / other]];
    }),
  );
}

/** A simulation with a larger error gets a warning about small differences. */
const ERROR_NOTABLE = 0.1;

/** With fewer jobs, a p90 depends on fewer than ten of them. */
const JOBS_FOR_P90 = 100;

/** Compares the simulation of the recorded run with the record: the greatest deviation, also in words. */
export function fidelity(
  simulated: RunTimes,
  recorded: RunTimes,
): { readonly off: number; readonly words: string } {
  const ratios = ratiosOf(simulated, recorded);
  const off = Math.max(0, ...Object.values(ratios).map((ratio) => Math.abs(ratio - 1)));
  const each = Object.entries(ratios).map(([name, ratio]) => `${name} ${signed(ratio - 1)}`);
  const words = `simulated as it ran, against what was recorded: ${each.join(', ')}`;
  return { off, words };
}

/**
 * Returns advice for the cluster's operators, in sentences.
 * @param ran simulation of the recorded run
 * @param off distance of that simulation from the record
 */
export function advise(ran: Tried, others: readonly Tried[], off: number): string[] {
  const judged = others.map((tried) => ({ tried, ...judge(tried, ran) }));
  const said = judged.map(({ tried, words }) => `${tried.label}: ${words}.`);
  const better = judged.filter(({ verdict }) => verdict === 'better').sort((a, b) => a.mean - b.mean);
  const enough = judged
    .filter(
      ({ tried, verdict }) =>
        tried.policy === ran.policy && tried.workers < ran.workers && verdict !== 'worse',
    )
    .sort((a, b) => a.tried.workers - b.tried.workers)[0];
  const samePlace = better.find(({ tried }) => tried.workers <= ran.workers);
  const more = better.find(({ tried }) => tried.workers > ran.workers);
  if (samePlace !== undefined) said.push(`Advice: ${samePlace.tried.label} would have served users better.`);
  if (enough !== undefined)
    said.push(
      `Advice: ${enough.tried.workers} workers would have been enough: no time is more than 10% longer than on ${ran.workers}.`,
    );
  if (more !== undefined)
    said.push(`Advice: ${more.tried.label} would have been faster, at the cost of more workers.`);
  if (samePlace === undefined && enough === undefined && more === undefined && others.length > 0)
    said.push('Advice: keep the current setup; none of the alternatives is better.');
  const { count } = ran.runtimeSeconds.all as Distribution;
  if (count < JOBS_FOR_P90)
    said.push(
      `${count} jobs are too few: each percentile is the time of one or two jobs. Collect about ${JOBS_FOR_P90} jobs before relying on this.`,
    );
  if (off > ERROR_NOTABLE)
    said.push(
      `The simulation of what ran is up to ${Math.round(100 * off)}% off the recorded times: trust only clearly larger differences.`,
    );
  return said;
}

/** Differences up to this ratio are not noticeable. */
const RATIO_NOTABLE = 1.1;

function judge(tried: Tried, ran: Tried) {
  const ratios = Object.entries(ratiosOf(tried.runtimeSeconds, ran.runtimeSeconds));
  const values = ratios.map(([, ratio]) => ratio);
  const mean = Math.exp(values.reduce((sum, ratio) => sum + Math.log(ratio), 0) / Math.max(1, values.length));
  const [missed, before] = [tried.deadlines?.missed ?? 0, ran.deadlines?.missed ?? 0];
  const worst = Math.max(...values, 0);
  const isWorse = worst > RATIO_NOTABLE || missed > RATIO_NOTABLE * before;
  const verdict = isWorse ? 'worse' : mean < 1 / RATIO_NOTABLE ? 'better' : 'same';
  const isUnnoticed = Math.max(...values.map((ratio) => Math.max(ratio, 1 / ratio)), 1) <= RATIO_NOTABLE;
  const said = isUnnoticed ? [] : ratios.map(([name, ratio]) => `${name} ${times100(ratio)}`);
  if (missed !== before) said.push(`${counted(missed, 'deadline')} missed instead of ${before}`);
  return { verdict, mean, words: said.length === 0 ? 'users would not have noticed' : said.join(', ') };
}

function times100(ratio: number): string {
  if (ratio >= 2) return `${ratio < 10 ? ratio.toPrecision(2) : Math.round(ratio)} times as long`;
  const percent = Math.round(100 * Math.abs(ratio - 1));
  return percent === 0 ? 'the same' : `${percent}% ${ratio > 1 ? 'longer' : 'shorter'}`;
}

function signed(share: number): string {
  const digits = Math.abs(100 * share).toFixed(1);
  return `${share < 0 && digits !== '0.0' ? '−' : '+'}${digits}%`;
}
