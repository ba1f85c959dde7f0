import { type Random, sumOf } from '@goshawk/core';
import { exponential, integer, microseconds, shuffle } from '../draws.js';
import { jobOf, type TraceJob } from '../job.js';
import { count, positive, seed, wholeNumber } from './options.js';

/**
 * Interarrival times with a squared coefficient of variation of 4, as in 3Sigma §5: of two exponentials with balanced
 * means, the shorter one is drawn with this probability.
 */
const SHORT_GAPS = (1 + Math.sqrt(3 / 5)) / 2;
/** Possible deadline slacks, in percent of the run time (§5). */
const SLACKS = [20, 40, 60, 80];
/** Fraction of the cluster that jobs with a deadline prefer (§5). */
const PREFERRED_SHARE = 0.75;
/** Slowdown elsewhere (§5). */
const SLOWDOWN = 1.5;

/** Options of every gang workload. */
export function gangOptions(jobs: number) {
  return {
    jobs: count(jobs, 'number of jobs'),
    load: positive(1.4, 'node seconds submitted per second, divided by the number of nodes'),
    nodes: count(256, 'nodes that `load` refers to; wider jobs are cut to this width'),
    racks: count(8, 'racks of the cluster; jobs with a deadline prefer three quarters of them'),
    slack: wholeNumber(0, 'deadline slack in percent of the run time; 0: 20, 40, 60 or 80, drawn', 0),
    rate: wholeNumber(
      0,
      'jobs per hour, reached by stretching run times; 0: as many as the load requires',
      0,
    ),
    seed: seed(),
  };
}

/** The cluster that the jobs are made for. */
interface GangCluster {
  readonly load: number;
  readonly nodes: number;
  readonly racks: number;
  readonly slack: number;
  readonly rate: number;
}

/** All of its tasks run as long as the job. */
export interface DrawnJob {
  readonly tasks: number;
  readonly seconds: number;
  readonly user: string;
  readonly name: string;
  readonly hasDeadline: boolean;
}

/** Adds arrivals for the load, deadlines, and racks preferred by jobs with one (3Sigma §5). */
export function* withDeadlines(
  random: Random,
  drawn: readonly DrawnJob[],
  { load, nodes, racks, slack, rate }: GangCluster,
): Generator<TraceJob> {
  const work = sumOf(drawn, (job) => job.tasks * job.seconds);
  const spanSeconds = rate > 0 ? (3_600 * drawn.length) / rate : work / (load * nodes);
  const stretch = (load * nodes * spanSeconds) / work;
  const submit = arrivals(random.fork('arrivals'), drawn.length, spanSeconds);
  const details = random.fork('deadlines');
  for (const [index, { tasks, seconds: drawnSeconds, user, name, hasDeadline }] of drawn.entries()) {
    const seconds = rate > 0 ? microseconds(drawnSeconds * stretch) : drawnSeconds;
    const job = jobOf(submit[index]!, new Float64Array(tasks).fill(seconds));
    const named = { ...job, user, name, logicalName: name };
    if (!hasDeadline) {
      yield named;
      continue;
    }
    const percent = slack > 0 ? slack : SLACKS[integer(details, SLACKS.length)]!;
    const deadlineSeconds = microseconds(seconds * (1 + percent / 100));
    yield {
      ...named,
      deadlineSeconds,
      prefer: { rack: preferredRacks(details, racks) },
      slowdown: SLOWDOWN,
    };
  }
}

/**
 * Draws submission times in seconds from 0 on; the last is one interarrival time before the end of the span.
 */
function arrivals(random: Random, count: number, spanSeconds: number): number[] {
  const gaps = Array.from({ length: count }, () => {
    const short = random.next() < SHORT_GAPS;
    return exponential(random, 1 / (2 * (short ? SHORT_GAPS : 1 - SHORT_GAPS)));
  });
  const scale = spanSeconds / sumOf(gaps);
  let now = 0;
  return gaps.map((gap) => {
    const at = Math.round(now * 1_000) / 1_000;
    now += gap * scale;
    return at;
  });
}

function preferredRacks(random: Random, racks: number): string {
  const all = shuffle(
    random,
    Array.from({ length: racks }, (_, index) => index + 1),
  );
  const wanted = Math.max(1, Math.round(PREFERRED_SHARE * racks));
  return all
    .slice(0, wanted)
    .sort((a, b) => a - b)
    .map((rack) => `r${rack}`)
    .join(',');
}
