import { Random } from '@goshawk/core';
import { integer, microseconds, NormalDraws } from '../draws.js';
import type { TraceJob } from '../job.js';
import { type DrawnJob, gangOptions, withDeadlines } from './gangs.js';
import { defineGenerator } from './generator.js';

/**
 * Parameters of the two other workloads of 3Sigma (§2.1, §5, §6.1). Their traces are not public, so these follow the
 * paper's statements about predictability. Each user has several programs, with different typical run times.
 */
interface RunTimeModel {
  readonly users: number;
  readonly programsEach: number;
  /** Distribution of typical run times: median in seconds, and standard deviation of the logarithm. */
  readonly medianSeconds: number;
  readonly amongPrograms: number;
  /** Standard deviation of the logarithm of a program's run times; each program has one in this range. */
  readonly within: readonly [least: number, most: number];
  /** Share of programs that often end early, how often they do, and after which fraction of their time. */
  readonly unsteady: number;
  readonly endsEarly: number;
  readonly early: readonly [least: number, most: number];
  /** Numbers of tasks are powers of two up to this one; smaller numbers are more likely. */
  readonly widest: number;
}

/** Few estimates are very accurate, and many are far off on both sides (§2.1). */
const HEDGE_FUND: RunTimeModel = {
  users: 60,
  programsEach: 8,
  medianSeconds: 280,
  amongPrograms: 1.7,
  within: [0.15, 0.8],
  unsteady: 0,
  endsEarly: 0,
  early: [1, 1],
  widest: 6,
};

/**
 * Many estimates are within 5%, and 23% of the jobs, mostly small ones, end long before their estimate (§2.1, §6.1).
 */
const MUSTANG: RunTimeModel = {
  users: 40,
  programsEach: 6,
  medianSeconds: 500,
  amongPrograms: 1.3,
  within: [0.005, 0.05],
  unsteady: 0.65,
  endsEarly: 0.4,
  early: [0.05, 0.45],
  widest: 6,
};

export const hedgeFundLike = unlikeGoogle(
  'hedgefund-like',
  "3Sigma's HedgeFund, as its text describes it: gangs whose run times vary widely within each user and program",
  HEDGE_FUND,
);

export const mustangLike = unlikeGoogle(
  'mustang-like',
  "3Sigma's Mustang, as its text describes it: gangs with mostly predictable run times; a quarter ends long before its estimate",
  MUSTANG,
);

function unlikeGoogle(name: string, description: string, model: RunTimeModel) {
  return defineGenerator({
    name,
    description,
    options: gangOptions(1_470),
    generate: function* ({ jobs, nodes, seed, ...given }): Generator<TraceJob> {
      // All seeds share the programs, because the past is drawn with another seed.
      const programs = programsOf(model, Random.seeded(name).fork('programs'));
      const random = Random.seeded(seed).fork(name);
      const normal = new NormalDraws(random.fork('run times'));
      const choices = random.fork('programs');
      const drawn = Array.from({ length: jobs }, (_, index): DrawnJob => {
        const program = programs[integer(choices, programs.length)]!;
        const usual = program.seconds * Math.exp(program.within * normal.next());
        const isEarly = choices.next() < program.endsEarly;
        const share = isEarly ? between(model.early, choices.next()) : 1;
        return {
          tasks: Math.min(nodes, program.tasks),
          seconds: microseconds(usual * share),
          user: program.user,
          name: program.name,
          hasDeadline: index % 2 === 0,
        };
      });
      yield* withDeadlines(random, drawn, { nodes, ...given });
    },
  });
}

interface Program {
  readonly user: string;
  readonly name: string;
  readonly seconds: number;
  readonly within: number;
  readonly endsEarly: number;
  readonly tasks: number;
}

function programsOf(model: RunTimeModel, random: Random): Program[] {
  const normal = new NormalDraws(random);
  return Array.from({ length: model.users * model.programsEach }, (_, index) => ({
    user: `user-${1 + (index % model.users)}`,
    name: `program-${1 + index}`,
    seconds: model.medianSeconds * Math.exp(model.amongPrograms * normal.next()),
    within: between(model.within, random.next()),
    endsEarly: random.next() < model.unsteady ? model.endsEarly : 0,
    tasks: 2 ** Math.min(model.widest, Math.floor(-Math.log2(1 - random.next()))),
  }));
}

function between([least, most]: readonly [number, number], at: number): number {
  return least + at * (most - least);
}
