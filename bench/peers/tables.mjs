import { percentile } from '../dist/bench-report.js';

const median = (numbers) => percentile(numbers, 0.5);
/** Rounds to three significant digits, and to integers from 100 on. */
const rounded = (value) => (value >= 100 ? Math.round(value) : Number(value.toPrecision(3)));

const COLUMNS = {
  'tasks/s (W1)': 'tasksPerSecond',
  'jobs/s (W1b)': 'jobsPerSecond',
  again: 'warmJobsPerSecond',
  'one job p50, ms (W2)': 'p50Ms',
  'p99, ms': 'p99Ms',
  'delay p50, ms (W3)': 'delayP50Ms',
  'delay p99, ms': 'delayP99Ms',
  'programs/s': 'programsPerSecond',
  'calls/s': 'callsPerSecond',
  'calls/s, again': 'warmCallsPerSecond',
};
/** Delays are multiples of the ideal delays, because peers have different loads. */
const RATIOS = {
  'tasks/s': 'tasksPerSecond',
  'jobs/s': 'jobsPerSecond',
  again: 'warmJobsPerSecond',
  'one job p50': 'p50Ms',
  p99: 'p99Ms',
  'delay p50 ÷ ideal': 'delayP50',
  'delay p99 ÷ ideal': 'delayP99',
  'programs/s': 'programsPerSecond',
  'calls/s': 'callsPerSecond',
  'calls/s, again': 'warmCallsPerSecond',
};

/**
 * Returns the median of the ratios within each round, because rounds differ more than peers do; undefined if one of the
 * two was not measured.
 */
function ratio(rounds, what, name, to) {
  const ratios = rounds.map((measured) => measured[name]?.[what] / measured[to]?.[what]);
  return ratios.every(Number.isFinite) ? median(ratios) : undefined;
}

/**
 * Returns tables of medians, and of ratios to Goshawk. @param ideal delays of the ideal queue, in ms,
 * by name
 */
export function tablesOf(names, rounds, ideal) {
  const cell = (value) => (value === undefined || Number.isNaN(value) ? '' : rounded(value));
  const medians = names.map((name) => [
    name,
    ...Object.values(COLUMNS).map((what) => {
      const numbers = rounds.map((measured) => measured[name][what]);
      return numbers.includes(undefined) ? '' : rounded(median(numbers));
    }),
  ]);
  const ratios = {
    title: 'times goshawk',
    columns: ['', ...Object.keys(RATIOS)],
    rows: names.map((name) => [
      name,
      ...Object.values(RATIOS).map((what) => cell(ratio(rounds, what, name, 'goshawk'))),
    ]),
  };
  return [
    {
      title: `medians of ${rounds.length}`,
      columns: ['', ...Object.keys(COLUMNS)],
      rows: [...medians, ['ideal queue', ...Object.values(COLUMNS).map((what) => cell(ideal[what]))]],
    },
    ...(names.includes('goshawk') ? [ratios] : []),
  ];
}

/** Pairs to compare: both on disk, both in memory, and Goshawk on disk with BullMQ in memory. */
const BULLMQ_PAIRS = [
  ['goshawk', 'bullmq on disk'],
  ['goshawk in memory', 'bullmq in memory'],
  ['goshawk', 'bullmq in memory'],
];
const TARGETS = [
  ...BULLMQ_PAIRS.map((pair) => ['W1 tasks/s', 'tasksPerSecond', ...pair, 'at least', 2]),
  ['W1 tasks/s', 'tasksPerSecond', 'goshawk', 'floor', 'at least', 0.5],
  ...BULLMQ_PAIRS.map((pair) => ['W1b jobs/s', 'jobsPerSecond', ...pair, 'at least', 1]),
  ...BULLMQ_PAIRS.map((pair) => ['W1b jobs/s, again', 'warmJobsPerSecond', ...pair, 'at least', 1]),
  ...BULLMQ_PAIRS.map((pair) => ['W2 p50', 'p50Ms', ...pair, 'at most', 0.8]),
  ['W2 p50', 'p50Ms', 'goshawk in memory', 'floor', 'at most', 2],
  ['exec programs/s', 'programsPerSecond', 'goshawk', 'bare', 'at least', 0.8],
  ['module calls/s', 'callsPerSecond', 'goshawk', 'bare', 'at least', 0.6],
  ['module calls/s, again', 'warmCallsPerSecond', 'goshawk', 'bare', 'at least', 0.6],
];
/** These are not peers, or have another load: Slurm's tasks run a hundred times as long. */
const NOT_COMPARED = ['floor', 'bare', 'goshawk', 'goshawk in memory', 'goshawk in PostgreSQL', 'slurm'];

/** Returns a table of the measured targets: their ratios, and whether they are met. */
export function targetsOf(rounds) {
  const bestPeer = (measured) =>
    Math.min(
      ...Object.entries(measured).flatMap(([name, { delayP99 }]) =>
        NOT_COMPARED.includes(name) || delayP99 === undefined ? [] : [delayP99],
      ),
    );
  const delays = rounds.map(({ goshawk }) => goshawk?.delayP99);
  const seen = [
    ...TARGETS.map(([what, key, ours, theirs, bound, limit]) => [
      what,
      `${ours} ÷ ${theirs}`,
      bound,
      limit,
      ratio(rounds, key, ours, theirs),
    ]),
    [
      'W3 delay p99',
      'goshawk ÷ ideal queue',
      'at most',
      1.5,
      delays.includes(undefined) ? undefined : median(delays),
    ],
    [
      'W3 delay p99',
      'goshawk ÷ best peer',
      'below',
      1,
      delays.includes(undefined)
        ? undefined
        : median(rounds.map((measured) => measured.goshawk.delayP99 / bestPeer(measured))),
    ],
  ].filter((row) => Number.isFinite(row[4]) && row[4] > 0);
  const holds = (bound, limit, value) =>
    bound === 'at least' ? value >= limit : bound === 'at most' ? value <= limit : value < limit;
  return {
    title: 'targets',
    columns: ['', 'of', 'bound', 'limit', 'seen', 'holds'],
    rows: seen.map(([what, of, bound, limit, value]) => [
      what,
      of,
      bound,
      limit,
      rounded(value),
      holds(bound, limit, value) ? 'yes' : 'no',
    ]),
  };
}
