import type { Columns } from '../columns.js';
import { type Comparison, JOB_CLASSES, type JobClass, type Ratio, type Run } from '../comparison.js';
import { html, type Markup } from '../markup.js';
import {
  bytes,
  compact,
  duration,
  factor,
  factorRange,
  inUnit,
  ofHundred,
  percent,
  threeDigits,
  unitFor,
  whole,
} from '../numbers.js';
import { bracketsInWords } from '../summary.js';
import { columnTable, type HtmlColumn, type HtmlRow, section, swatch, table } from './elements.js';
import type { PolicyView } from './policy.js';

const STATISTICS = ['p50', 'p90', 'p99', 'mean', 'max'] as const;
/**
 * Policies whose ratio is this close to 1 are called equal: seeds and machine load cause such differences.
 */
const NOTABLE_RATIO = 0.05;

/** Tables of more policies than this take the page's whole width. */
const SIDE_BY_SIDE_MAX = 3;

/** Renders the four most important numbers: the first policy against the first baseline, and the best other policy of each. */
export function headlineCards(policies: readonly PolicyView[], ratios: readonly Ratio[]): Markup | null {
  const [first, baseline] = policies;
  const ratio = ratios[0];
  if (first === undefined || baseline === undefined || ratio === undefined) return null;
  const cards = JOB_CLASSES.flatMap((of) =>
    (['p50', 'p90'] as const).map((statistic) => {
      const ours = duration(first.runtimeSeconds[of][statistic]);
      const theirs = duration(baseline.runtimeSeconds[of][statistic]);
      return html`<div class="card"><h3>${of} jobs, ${statistic}</h3><p class="big">${factor(ratio[of][statistic])}</p>
<p class="words">${inWords(ratio[of][statistic])}</p><p>${first.policy} ${ours}<br>${baseline.policy} ${theirs}${bestLine(policies, of, statistic)}</p></div>`;
    }),
  );
  return html`<div class="cards">${cards}</div>`;
}

/** Names the best policy other than the first one, unless it is the only other one. */
function bestLine(policies: readonly PolicyView[], of: JobClass, statistic: 'p50' | 'p90'): Markup | null {
  const rivals = policies.slice(1).flatMap(({ policy, runtimeSeconds }) => {
    const seconds = runtimeSeconds[of][statistic];
    return seconds === null ? [] : [{ policy, seconds }];
  });
  if (policies.length <= 2 || rivals.length === 0) return null;
  const best = rivals.reduce((one, other) => (other.seconds < one.seconds ? other : one));
  const own = policies[0]!.runtimeSeconds[of][statistic];
  const ratio = own === null || best.seconds === 0 ? null : own / best.seconds;
  return html`<br>best other: ${best.policy} ${duration(best.seconds)} (${factor(ratio)})`;
}

/** Describes a ratio of run times in words. */
export function inWords(ratio: number | null): string {
  if (ratio === null) return 'no jobs to compare';
  if (Math.abs(ratio - 1) <= NOTABLE_RATIO) return 'about equal';
  if (ratio > 1)
    return ratio < 2 ? `${Math.round((ratio - 1) * 100)}% slower` : `${threeDigits(ratio)} times as slow`;
  return ratio > 0.5
    ? `${Math.round((1 - ratio) * 100)}% less time`
    : `${threeDigits(1 / ratio)} times as fast`;
}

/** Renders run times by policy, and the first policy's as ratios to those of the others. */
export function runtimeTables(policies: readonly PolicyView[], comparison: Comparison): Markup {
  const units = new Map(
    JOB_CLASSES.map((of) => [
      of,
      unitFor(policies.flatMap((each) => STATISTICS.map((name) => each.runtimeSeconds[of][name]))),
    ]),
  );
  return section(
    'Run times',
    table(
      'policy',
      JOB_CLASSES.flatMap((of) =>
        STATISTICS.map((title): HtmlColumn => ({ title, group: `${of} jobs, ${units.get(of)!.symbol}` })),
      ),
      policies.map((policy) => ({
        head: named(policy),
        cells: JOB_CLASSES.flatMap((of) =>
          STATISTICS.map((name) => inUnit(policy.runtimeSeconds[of][name], units.get(of)!)),
        ),
      })),
    ),
    html`<p class="note">Submission to the end of the last task. Percentiles by nearest rank. Short and long by a job’s true mean
task run time against the cutoff, regardless of its estimate.</p>`,
    failures(policies),
    ratioTable(comparison),
  );
}

function failures(policies: readonly PolicyView[]): Markup[] {
  return policies
    .filter(({ jobs }) => jobs.failed > 0)
    .map(
      ({
        policy,
        jobs,
      }) => html`<p class="warning">${policy}: ${threeDigits(jobs.failed)} of ${whole(jobs.submitted)} jobs failed; run
times are those of the others.</p>`,
    );
}

function ratioTable(comparison: Comparison): Markup | null {
  const { ratios } = comparison;
  const [first] = ratios;
  if (first === undefined) return null;
  const statistics = ['p50', 'p90', 'mean'] as const;
  const cell = (ratio: Ratio, of: JobClass, statistic: (typeof statistics)[number]) => {
    const spread = (comparison.intervals === undefined ? ratio.spread : ratio.interval)?.[of][statistic];
    const isTied = comparison.intervals !== undefined && spread && spread[0] <= 1 && spread[1] >= 1;
    const tie = isTied ? ', no difference shown' : '';
    const range = spread ? html`<br><small>${factorRange(...spread)}${tie}</small>` : null;
    return html`${factor(ratio[of][statistic])}${range}`;
  };
  const brackets = bracketsInWords(comparison).replace('brackets show', 'Small print shows');
  const spreadNote = brackets === '' ? '' : ` ${brackets}.`;
  const isOne = ratios.every(({ policy }) => policy === first.policy);
  const title = isOne
    ? `${first.policy} over ${ratios.length === 1 ? first.baseline : 'the others'}`
    : 'under equal settings';
  return html`<h3>${title}</h3>${table(
    'against',
    JOB_CLASSES.flatMap((of) => statistics.map((title): HtmlColumn => ({ title, group: `${of} jobs` }))),
    ratios.map((ratio) => ({
      head: isOne ? ratio.baseline : `${ratio.policy} over ${ratio.baseline}`,
      cells: JOB_CLASSES.flatMap((of) => statistics.map((statistic) => cell(ratio, of, statistic))),
    })),
  )}<p class="note">Below 1×, ${isOne ? first.policy : 'the first policy'} is faster.${spreadNote}</p>`;
}

/** Renders the costs of each policy: CPUs, steals, messages. */
export function costSection(policies: readonly PolicyView[]): Markup {
  const byPolicy = policies.map((policy): HtmlColumn => ({ title: named(policy) }));
  const rows = (entries: Columns<PolicyView>): HtmlRow[] =>
    entries.map(([head, cell]) => ({ head, cells: policies.map(cell) }));
  const types = [...new Set(policies.flatMap(({ messages }) => Object.keys(messages.byType)))];
  const work = rows([
    ['busy during arrivals, median', ({ utilisation }) => percent(utilisation.whileSubmitting.p50)],
    ['busy during arrivals, mean', ({ utilisation }) => percent(utilisation.whileSubmitting.mean)],
    ['busy CPUs, median', ({ utilisation }) => percent(utilisation.p50)],
    ['busy CPUs, mean', ({ utilisation }) => percent(utilisation.mean)],
    ['busy CPUs, max', ({ utilisation }) => percent(utilisation.max)],
    ['wait of a short task, p50', ({ queueingSeconds }) => duration(queueingSeconds.short.p50)],
    ['wait of a short task, p90', ({ queueingSeconds }) => duration(queueingSeconds.short.p90)],
    ['wait of a long task, p50', ({ queueingSeconds }) => duration(queueingSeconds.long.p50)],
    ['wait of a long task, p90', ({ queueingSeconds }) => duration(queueingSeconds.long.p90)],
    ['steal attempts', ({ steals }) => whole(steals.attempts)],
    ['steals that succeeded', ({ steals }) => whole(steals.successes)],
    ['probes moved by steals', ({ steals }) => whole(steals.probesMoved)],
  ]);
  const messages = rows([
    ['all', ({ messages }) => whole(messages.total)],
    ['a task', ({ messagesPerTask }) => threeDigits(messagesPerTask)],
    ...types.map((type) => [type, (policy: PolicyView) => whole(policy.messages.byType[type] ?? 0)] as const),
  ]);
  return section(
    'Slots, steals and messages',
    html`<div class="${policies.length > SIDE_BY_SIDE_MAX ? 'stack' : 'pair'}">${[
      table('', byPolicy, work),
      table('messages', byPolicy, messages),
    ]}</div>`,
  );
}

/** Renders the accuracy of the predictor, if there was one. */
export function predictorTable({ runs }: Comparison): Markup | null {
  const asked = runs.flatMap(({ policy, seed, predictor }) =>
    predictor === null ? [] : [{ policy, seed, ...predictor }],
  );
  if (asked.length === 0) return null;
  return section(
    'Predictor',
    columnTable('run', PREDICTOR_COLUMNS, asked, ({ policy, seed }) => `${policy}, seed ${seed}`),
  );
}

const PREDICTOR_COLUMNS: Columns<NonNullable<Run['predictor']>> = [
  ['jobs sampled', ({ jobsSampled }) => whole(jobsSampled)],
  ['pilot tasks', ({ pilotTasks }) => whole(pilotTasks)],
  ['absolute error, mean', ({ meanAbsoluteErrorPercent }) => ofHundred(meanAbsoluteErrorPercent)],
  ['p50', ({ medianAbsoluteErrorPercent }) => ofHundred(medianAbsoluteErrorPercent)],
  ['p90', ({ p90AbsoluteErrorPercent }) => ofHundred(p90AbsoluteErrorPercent)],
  ['task seconds misclassified', ({ misclassifiedPercent }) => ofHundred(misclassifiedPercent)],
  ['long as short', ({ takenForShortPercent }) => ofHundred(takenForShortPercent)],
  ['short as long', ({ takenForLongPercent }) => ofHundred(takenForLongPercent)],
];

/** Renders every run: seed, outcome, and cost. */
export function runsTable({ runs }: Comparison): Markup {
  return columnTable('run', RUN_COLUMNS, runs, ({ policy }) => policy);
}

const RUN_COLUMNS: Columns<Run> = [
  ['seed', ({ seed }) => String(seed)],
  ['jobs completed', ({ jobs }) => whole(jobs.completed)],
  ['failed', ({ jobs }) => whole(jobs.failed)],
  ['task attempts', ({ tasks }) => whole(tasks.attempts)],
  ['wall time', ({ wallSeconds }) => duration(wallSeconds)],
  ['events', ({ events }) => whole(events)],
  ['events/s', ({ eventsPerSecond }) => compact(eventsPerSecond)],
  ['peak memory', ({ peakRssBytes }) => bytes(peakRssBytes)],
];

function named({ policy, look }: PolicyView): Markup {
  return html`${swatch(look)}${policy}`;
}
