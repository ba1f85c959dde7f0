import { drawJobs, meanSize, PACKING_NAMES, runPacking, type SizeDraw } from '@goshawk/policies';
import { percentile, table } from './bench-report.js';
import { chanceOfRanks } from './packing/chance.js';
import { fail, readOptions } from './script.js';

/**
 * Mean queues of the set-ups of figures 4a and 4b against those of an independent program, of which the least and the greatest
 * of three seeds are known, rounded. A queue that grows has no greatest here. Exits 1 where chance does not explain a difference.
 */
const SEEDS_THERE = 3;
/** Over all cells together (Bonferroni). */
const SIGNIFICANT = 0.05;
/** With fewer, no ranks at all would be too unlikely. */
const SEEDS_MIN = 16;
const [SERVERS, SLOTS, UNTIL, FROM] = [5, 100, 1_000_000, 200_000];

interface Range {
  readonly least: number;
  readonly greatest: number;
  /** What both are rounded to. */
  readonly to: number;
}

const range = (least: number, greatest: number, to: number): Range => ({ least, greatest, to });
const grows = (least: number): Range => range(least, Number.POSITIVE_INFINITY, 100);

interface SetUp {
  readonly figure: string;
  readonly sizes: SizeDraw;
  readonly j: number;
  /** By load, in order of PACKING_NAMES. */
  readonly ranges: readonly { readonly load: number; readonly of: readonly Range[] }[];
}

const SET_UPS: readonly SetUp[] = [
  {
    figure: '4a',
    sizes: { kind: 'uniform', low: 0.01, high: 0.19 },
    j: 7,
    ranges: [
      { load: 0.85, of: [range(4, 5, 1), range(2, 2, 1), range(2700, 2900, 100), range(2, 2, 1)] },
      { load: 0.95, of: [range(664, 1447, 1), range(20, 26, 1), grows(20_300), range(20, 29, 1)] },
      { load: 0.99, of: [grows(12_000), range(160, 350, 10), grows(27_400), range(260, 2420, 10)] },
    ],
  },
  {
    figure: '4b',
    sizes: { kind: 'uniform', low: 0.1, high: 0.9 },
    j: 4,
    ranges: [
      { load: 0.85, of: [grows(5900), range(15, 18, 1), grows(1800), range(23, 32, 1)] },
      { load: 0.95, of: [grows(11_800), range(157, 185, 1), grows(6800), grows(1900)] },
      { load: 0.99, of: [grows(14_200), range(760, 1200, 10), grows(9100), grows(3700)] },
    ],
  },
];

function meanQueues(
  { sizes, j }: SetUp,
  load: number,
  policy: (typeof PACKING_NAMES)[number],
  seeds: number,
) {
  const rate = (load * SERVERS) / SLOTS / meanSize(sizes);
  return Array.from({ length: seeds }, (_, at) => {
    const jobs = drawJobs({
      sizes,
      arrivals: 'poisson',
      rate,
      service: 'geometric',
      slots: SLOTS,
      seed: at + 1,
    });
    return runPacking({ policy, j, servers: SERVERS, jobs, until: UNTIL, from: FROM, windows: 1 }).meanQueue;
  });
}

function plain(number: string): string {
  return `${Number(number)}`;
}

const { seeds } = readOptions({ seeds: 24 });
if (!(Number.isInteger(seeds) && seeds >= SEEDS_MIN))
  fail(`--seeds must be a whole number of ${SEEDS_MIN} at least`);
const rows = [['figure, load, policy', 'least', 'median', 'greatest', 'theirs', 'below', 'above', 'p']];
const chances: number[] = [];
for (const setUp of SET_UPS) {
  for (const { load, of } of setUp.ranges) {
    for (const [at, policy] of PACKING_NAMES.entries()) {
      const { least, greatest, to } = of[at]!;
      const queues = meanQueues(setUp, load, policy, seeds);
      const rounded = queues.map((queue) => Math.round(queue / to) * to);
      const below = rounded.filter((queue) => queue < least).length;
      const above = rounded.filter((queue) => queue > greatest).length;
      const chance = chanceOfRanks(seeds, SEEDS_THERE, { below, above });
      chances.push(chance);
      rows.push([
        `${setUp.figure}, ${load}, ${policy}`,
        ...[0, 0.5, 1].map((fraction) => percentile(queues, fraction).toPrecision(3)).map(plain),
        Number.isFinite(greatest) ? `${least}–${greatest}` : `> ${least}`,
        `${below}`,
        Number.isFinite(greatest) ? `${above}` : '',
        chance.toFixed(3),
      ]);
    }
  }
}
const joint = Math.min(1, Math.min(...chances) * chances.length);
const agrees = joint >= SIGNIFICANT;
process.stdout.write(`${table(rows)}\n`);
process.stdout.write(
  `${agrees ? 'chance explains all differences' : 'chance does not explain all differences'}: least p times ${chances.length} cells ${joint.toFixed(2)}\n`,
);
process.exitCode = agrees ? 0 : 1;
