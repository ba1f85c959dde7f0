import { Random, sumOf } from '@goshawk/core';
import { integer, microseconds, NormalDraws, pickAt, shuffle } from '../draws.js';
import type { TraceJob } from '../job.js';
import { E2E_CLASSES, type E2eClass, type E2eProgram, TASK_QUANTILES } from './e2e-tables.js';
import { type DrawnJob, gangOptions, withDeadlines } from './gangs.js';
import { defineGenerator } from './generator.js';

/**
 * Divides the number of rarely used programs in the trace, because estimators learn from 10,000 earlier jobs, not from
 * 219,406.
 */
const RARE_DIVISOR = 20;

/**
 * The workload of 3Sigma (§5): half of the jobs have deadlines, and prefer three quarters of the racks; the others
 * are best effort. All tasks of a job run as long as the job.
 */
export const e2e = defineGenerator({
  name: 'e2e',
  description:
    "3Sigma's E2E: gangs with the run times of Google's trace; half have a deadline and preferred racks, half are best effort",
  options: gangOptions(1_470),
  generate: function* ({ jobs, nodes, seed, ...given }): Generator<TraceJob> {
    const random = Random.seeded(seed).fork('e2e');
    yield* withDeadlines(random, drawJobs(random, jobs, nodes), { nodes, ...given });
  },
});

/** Draws jobs by the shares of the classes, half of them with a deadline. */
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

/** Returns the number of a random rarely used program, of `names` such programs in the trace. */
function seldom(names: number, random: Random): number {
  return integer(random, Math.ceil(names / RARE_DIVISOR));
}

function drawProgram({ programs }: E2eClass, random: Random): E2eProgram {
  const weightOf = ([, , , weight]: E2eProgram) => weight;
  return pickAt(programs, weightOf, random.next() * sumOf(programs, weightOf));
}

function tasksAt({ tasks }: E2eClass, quantile: number): number {
  let at = 1;
  while (TASK_QUANTILES[at]! < quantile) at++;
  const [low, high] = [TASK_QUANTILES[at - 1]!, TASK_QUANTILES[at]!];
  const within = (quantile - low) / (high - low);
  return Math.round(tasks[at - 1]! + within * (tasks[at]! - tasks[at - 1]!));
}
