import { Random } from '@goshawk/core';
import { exponential, integer, microseconds, NormalDraws, shuffle } from '../draws.js';
import { jobOf, type TraceJob } from '../job.js';
import { E2E_CLASSES, type E2eClass, type E2eProgram, TASK_QUANTILES } from './e2e-tables.js';
import { defineGenerator } from './generator.js';
import { count, positive, seed, wholeNumber } from './options.js';

/**
 * Interarrival times of squared coefficient of variation 4, as 3Sigma §5 has it: of two exponentials with balanced means
 * the shorter one is drawn with this probability.
 */
const SHORT_GAPS = (1 + Math.sqrt(3 / 5)) / 2;
/** Deadline slacks, in per cent of the run time, of which one is drawn for each job (§5). */
const SLACKS = [20, 40, 60, 80];
/** Of the trace's programs of which each has few jobs, those that are drawn: 10,000 jobs before are learnt from, not 219,406. */
const SELDOM_SHARE = 20;
/** Jobs with a deadline prefer so much of the cluster (§5). */
const PREFERRED_SHARE = 0.75;

/**
 * The workload of 3Sigma (§5): half of the jobs have deadlines, and prefer three quarters of the racks; the others are
 * best effort. All tasks of a job run for as long as the job does.
 */
export const e2e = defineGenerator({
  name: 'e2e',
  description:
    "3Sigma's E2E: gangs of Google's run times, half with a deadline and preferred racks, half best effort",
  options: {
    jobs: count(1_470, 'number of jobs'),
    load: positive(1.4, 'node seconds submitted a second, over the nodes'),
    nodes: count(256, 'nodes that `load` refers to; wider jobs are made as wide'),
    racks: count(8, 'racks of the cluster, of which jobs with a deadline prefer three quarters'),
    slack: wholeNumber(0, 'deadline slack in per cent of the run time; 0: 20, 40, 60 or 80, drawn', 0),
    seed: seed(),
  },
  generate: function* ({ jobs, load, nodes, racks, slack, seed }): Generator<TraceJob> {
    const random = Random.seeded(seed).fork('e2e');
    const drawn = drawJobs(random, jobs, nodes);
    const work = drawn.reduce((sum, job) => sum + job.tasks * job.seconds, 0);
    const submit = arrivals(random.fork('arrivals'), jobs, work / (load * nodes));
    const details = random.fork('deadlines');
    for (const [index, { tasks, seconds, user, name, hasDeadline }] of drawn.entries()) {
      const job = jobOf(submit[index]!, new Float64Array(tasks).fill(seconds));
      const named = { ...job, user, name, logicalName: name };
      if (!hasDeadline) {
        yield named;
        continue;
      }
      const percent = slack > 0 ? slack : SLACKS[integer(details, SLACKS.length)]!;
      const deadlineSeconds = microseconds(seconds * (1 + percent / 100));
      yield { ...named, deadlineSeconds, prefer: { rack: preferredRacks(details, racks) } };
    }
  },
});

interface DrawnJob {
  readonly tasks: number;
  readonly seconds: number;
  readonly user: string;
  readonly name: string;
  readonly hasDeadline: boolean;
}

/** Of each class its share, and half of its jobs with a deadline. */
function drawJobs(random: Random, count: number, nodes: number): DrawnJob[] {
  const normal = new NormalDraws(random.fork('run times'));
  const sizes = random.fork('sizes');
  const programs = random.fork('programs');
  let before = 0;
  let share = 0;
  const drawn = E2E_CLASSES.flatMap((each, index) => {
    share = index === E2E_CLASSES.length - 1 ? 1 : share + each.share;
    const upTo = Math.round(share * count);
    const jobs = Array.from({ length: upTo - before }, (_, place) => {
      const [user, name, names, , mu, sigma] = drawProgram(each, programs);
      return {
        tasks: Math.min(nodes, tasksAt(each, sizes.next())),
        seconds: microseconds(Math.exp(mu + sigma * normal.next())),
        user: user === 0 ? `many-${seldom(names, programs)}` : `user-${user}`,
        name: name === 0 ? `seldom-${index}-${user}-${seldom(names, programs)}` : `program-${name}`,
        hasDeadline: (before + place) % 2 === 0,
      };
    });
    before = upTo;
    return jobs;
  });
  return shuffle(random.fork('order'), drawn);
}

/** One of the seldom programs: as many fewer as there are fewer jobs to learn from than in the trace. */
function seldom(names: number, random: Random): number {
  return integer(random, Math.ceil(names / SELDOM_SHARE));
}

function drawProgram({ programs }: E2eClass, random: Random): E2eProgram {
  const total = programs.reduce((sum, [, , , weight]) => sum + weight, 0);
  let left = random.next() * total;
  for (const program of programs) {
    left -= program[3];
    if (left < 0) return program;
  }
  return programs.at(-1)!;
}

function tasksAt({ tasks }: E2eClass, quantile: number): number {
  let at = 1;
  while (TASK_QUANTILES[at]! < quantile) at++;
  const [low, high] = [TASK_QUANTILES[at - 1]!, TASK_QUANTILES[at]!];
  const within = (quantile - low) / (high - low);
  return Math.round(tasks[at - 1]! + within * (tasks[at]! - tasks[at - 1]!));
}

/** Submission times from 0 on, the last one at the end of the span but for its own gap. Seconds. */
function arrivals(random: Random, count: number, spanSeconds: number): number[] {
  const gaps = Array.from({ length: count }, () => {
    const short = random.next() < SHORT_GAPS;
    return exponential(random, 1 / (2 * (short ? SHORT_GAPS : 1 - SHORT_GAPS)));
  });
  const scale = spanSeconds / gaps.reduce((sum, gap) => sum + gap, 0);
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
