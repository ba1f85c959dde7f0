import { LIMITS, meanOf, present, sumOf } from '@goshawk/core';
import { alignment, type PolicyOptions } from '@goshawk/policies';
import { closedForm, type PlanProblem, planJob } from '../policies/carbyne/index.js';
import { runTrial, type TrialJob, trialPolicy } from '../trials/trial.js';
import { checkEach, checkKnown, checkValue, FieldError, type Fields } from './fields.js';
import type { CaseKind } from './kind.js';

interface StageEntry {
  readonly n: number;
  readonly demand: readonly number[];
  readonly duration: number;
  readonly parents: readonly number[];
}

interface JobEntry {
  readonly arrive: number;
  readonly weight?: number;
  readonly stages: readonly StageEntry[];
}

const STAGE: Fields = { n: 'count', demand: 'amounts', duration: 'amount', parents: 'counts' };
const JOB: Fields = { 'id?': 'any', 'arrive?': 'amount', 'weight?': 'amount', stages: 'list' };
const USER: Fields = { demand: 'amounts', weight: 'positive', maxTasks: 'any' };

function checkJobs(
  jobs: readonly { readonly stages: readonly StageEntry[] }[],
  fields: Fields,
  capacity: readonly number[],
): void {
  checkEach(jobs, fields, 'jobs');
  checkValue(capacity, 'amounts', 'the capacity or share');
  for (const [place, { stages }] of jobs.entries()) checkStages(stages, `jobs[${place}].stages`, capacity);
}

function checkStages(stages: readonly StageEntry[], where: string, capacity: readonly number[]): void {
  checkEach(stages, STAGE, where);
  if (stages.length > LIMITS.stagesPerJobMax)
    throw new FieldError(`${where} has ${stages.length} stages; a job has at most ${LIMITS.stagesPerJobMax}`);
  for (const [place, { demand, parents }] of stages.entries()) {
    checkLength(demand, `${where}[${place}].demand`, capacity);
    const missing = parents.find((parent) => parent >= stages.length);
    if (missing !== undefined)
      throw new FieldError(
        `${where}[${place}].parents has ${missing}, and there are ${stages.length} stages`,
      );
  }
  checkAcyclic(stages, where);
}

function checkLength(amounts: readonly number[], where: string, capacity: readonly number[]): void {
  if (amounts.length !== capacity.length)
    throw new FieldError(
      `${where} has ${amounts.length} amounts, and the capacity or share has ${capacity.length}`,
    );
}

/** Removes stages whose parents are removed, until none is left. */
function checkAcyclic(stages: readonly StageEntry[], where: string): void {
  const left = new Set(stages.keys());
  for (let before = Number.POSITIVE_INFINITY; left.size < before; ) {
    before = left.size;
    for (const place of left)
      if (!stages[place]!.parents.some((parent) => left.has(parent))) left.delete(place);
  }
  if (left.size > 0) throw new FieldError(`${where} depend on each other in a cycle`);
}

/** Books count in integer units, plans in integer ms. */
const UNITS = 1e6;
const MS = 1_000;
/** Results in the files have four decimals. */
const DIGITS = 1e4;

/** Maps names of settings in the files to those of the published policy. */
const VARIANTS: Readonly<Record<string, readonly [name: string, options: PolicyOptions]>> = {
  carbyne: ['carbyne-paper', {}],
  'carbyne-pAltruism-0': ['carbyne-paper', { altruism: 0 }],
  'carbyne-leftover-none': ['carbyne-paper', { leftover: 'none' }],
};

const SCHEDULES: CaseKind = {
  policy: 'carbyne',
  accepts: ({ capacity, jobs, expect }) =>
    Array.isArray(capacity) && Array.isArray(jobs) && expect !== undefined,
  *check({ capacity, jobs, expect }) {
    checkJobs(jobs, { ...JOB, arrive: 'amount' }, capacity);
    checkValue(expect, 'object', 'expect');
    for (const [name, expected] of Object.entries<Record<string, unknown>>(expect)) {
      const jct = completionTimes(name, capacity, jobs);
      const got: Record<string, unknown> = {
        jct: rounded(jct),
        avg: rounded(meanOf(jct)),
        makespan: rounded(Math.max(...jct.map((each, i) => each + jobs[i].arrive))),
      };
      const asked = Object.keys(expected).filter((key) => key in got);
      yield { policy: name, expected, got: Object.fromEntries(asked.map((key) => [key, got[key]])) };
    }
  },
};

const PLANS: CaseKind = {
  policy: 'carbyne',
  accepts: ({ share, jobs }) => Array.isArray(share) && Array.isArray(jobs),
  *check({ share, jobs, expect }) {
    checkJobs(jobs, JOB, share);
    checkValue(expect, 'object', 'expect');
    for (const { id, stages } of jobs) {
      const { T, greedyNow, mustNow } = planOf(share, stages);
      const used = sumOf(mustNow, (count, i) => count * stages[i].demand[0]);
      yield {
        name: id,
        expected: expect[id],
        got: { T, greedyNow, mustNow, leftover: rounded(share[0] - used) },
      };
    }
  },
};

const LATEST_STARTS: CaseKind = {
  policy: 'carbyne',
  accepts: ({ share, stages }) => Array.isArray(share) && Array.isArray(stages),
  *check({ share, stages, running, expect }) {
    checkValue(share, 'amounts', 'share');
    checkStages(stages, 'stages', share);
    checkEach(running ?? [], { stage: 'count', left: 'amount' }, 'running', checkKnown);
    checkValue(expect, 'object', 'expect');
    const got = planOf(share, stages, running);
    yield {
      expected: expect,
      got: Object.fromEntries(Object.keys(expect).map((key) => [key, got[key as keyof typeof got]])),
    };
  },
};

const DOMINANT_SHARES: CaseKind = {
  policy: 'drf',
  accepts: ({ capacity, users }) => Array.isArray(capacity) && Array.isArray(users),
  *check({ capacity, users, expect }) {
    checkValue(capacity, 'amounts', 'capacity');
    checkValue(expect, 'object', 'expect');
    checkEach(users, USER, 'users');
    for (const [place, { demand, maxTasks }] of users.entries()) {
      checkLength(demand, `users[${place}].demand`, capacity);
      if (maxTasks !== null) checkValue(maxTasks, 'count', `users[${place}].maxTasks`);
    }
    const order = startOrder(capacity, users);
    const tasks = users.map((_: unknown, user: number) => order.filter((each) => each === user).length);
    const used = capacity.map((_: number, r: number) =>
      sumOf(users, ({ demand }: Filler, user: number) => demand[r]! * tasks[user]),
    );
    const { level, shares } = closedForm(users, capacity);
    const got: Record<string, unknown> = {
      tasks,
      dominantShares: users.map(({ demand }: Filler, user: number) =>
        rounded(Math.max(...demand.map((each, r) => (each * tasks[user]) / capacity[r]))),
      ),
      used,
      order,
      closedForm: { level: rounded(level), shares: shares.map((each) => rounded([...each])) },
    };
    yield { expected: expect, got: Object.fromEntries(Object.keys(expect).map((key) => [key, got[key]])) };
  },
};

const SCORES: CaseKind = {
  policy: 'tetris',
  accepts: ({ free, tasks }) => Array.isArray(free) && typeof tasks === 'object' && tasks !== null,
  *check({ capacity, free, tasks, expect }) {
    checkValue(capacity, 'amounts', 'capacity');
    checkValue(free, 'amounts', 'free');
    for (const [name, amounts] of Object.entries(tasks)) {
      checkValue(amounts, 'amounts', `tasks.${name}`);
      checkLength(amounts as number[], `tasks.${name}`, capacity);
    }
    const names = Object.keys(tasks);
    const scores = Object.fromEntries(names.map((name) => [name, alignment(tasks[name], free, capacity)]));
    const first = names.reduce((best, name) => (scores[name]! > scores[best]! ? name : best));
    const freeAfter = free.map((amount: number, r: number) => amount - tasks[first][r]);
    yield {
      expected: expect,
      got: {
        scores,
        first,
        freeAfter,
        thenB: alignment(tasks.B, freeAfter, capacity),
        bFits: tasks.B.every((amount: number, r: number) => amount <= freeAfter[r]),
      },
    };
  },
};

export const CARBYNE_CASES: readonly CaseKind[] = [SCHEDULES, PLANS, LATEST_STARTS, DOMINANT_SHARES, SCORES];

/** Returns the completion time of each job, in the time unit of the file. */
function completionTimes(name: string, capacity: readonly number[], jobs: readonly JobEntry[]): number[] {
  const { completedMs } = runTrial({
    jobs: jobs.map(
      ({ arrive, weight, stages }): TrialJob => ({
        arriveMs: arrive * MS,
        ...present({ weight }),
        stages: stages.map(({ n, demand, duration, parents }) => ({
          tasks: n,
          demand: units(1, demand),
          durationMs: Math.round(duration * MS),
          parents,
        })),
      }),
    ),
    ...oneWorker(capacity),
    policy: policyOf(name),
  });
  return jobs.map(({ arrive }, i) => completedMs[i]! / MS - arrive);
}

function policyOf(variant: string) {
  const [name, options] = VARIANTS[variant] ?? [variant, {}];
  return trialPolicy(name, { quantumMs: 0, ...options });
}

interface Filler {
  readonly demand: readonly number[];
  readonly weight: number;
  readonly maxTasks: number | null;
}

/** Returns the order in which users' tasks start in an empty cluster in which no task ends. */
function startOrder(capacity: readonly number[], users: readonly Filler[]): number[] {
  const order: number[] = [];
  runTrial({
    jobs: users.map(({ demand, weight, maxTasks }) => ({
      arriveMs: 0,
      weight,
      stages: [{ tasks: maxTasks ?? 1_000, demand: units(1, demand), durationMs: 1e9, parents: [] }],
    })),
    ...oneWorker(capacity),
    policy: policyOf('drf'),
    started: (run, now) => {
      if (now === 0) order.push(run.stage.job.number);
    },
  });
  return order;
}

/** Returns a cluster of one worker, with unlimited slots. */
function oneWorker(capacity: readonly number[]) {
  return {
    resources: capacity.map((_, r) => `r${r}`),
    workers: [{ capacity: units(Number.POSITIVE_INFINITY, capacity) }],
  };
}

function units(slots: number, amounts: readonly number[]): number[] {
  return [slots, ...amounts.map((amount) => Math.round(amount * UNITS))];
}

function planOf(
  share: readonly number[],
  stages: readonly StageEntry[],
  running: readonly { readonly stage: number; readonly left: number }[] = [],
) {
  const problem: PlanProblem = {
    stages: stages.map(({ n, demand, duration, parents }, stage) => ({
      unstarted: n - running.filter((each) => each.stage === stage).length,
      demand,
      durationMs: Math.round(duration * MS),
      parents,
    })),
    running: running.map(({ stage, left }) => ({ stage, remainingMs: Math.round(left * MS) })),
    share,
    whole: share,
  };
  const { endMs, greedyNow, starts } = planJob(problem, {
    ranks: undefined,
    oneByOneMax: Number.POSITIVE_INFINITY,
  });
  const nowOf = (places: (typeof starts)[number]) =>
    places.reduce((sum, { atMs, count }) => (atMs === 0 ? sum + count : sum), 0);
  return {
    T: endMs / MS,
    greedyNow: [...greedyNow],
    mustNow: starts.map(nowOf),
    latestStarts: starts.flatMap((places, stage) =>
      places.map(({ atMs, count }) => ({ stage, start: atMs / MS, count })),
    ),
  };
}

function rounded(value: number): number;
function rounded(value: readonly number[]): number[];
function rounded(value: number | readonly number[]): number | number[] {
  return typeof value === 'number'
    ? Math.round(value * DIGITS) / DIGITS
    : value.map((each) => Math.round(each * DIGITS) / DIGITS);
}
