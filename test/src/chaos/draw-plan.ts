import { type JobInput, type PolicySettings, present, startsGangs, sumOf } from '@goshawk/core';
import { presetNamed } from '@goshawk/policies';
import { Draw } from '../drawing/draw.js';
import { drawSettings } from '../drawing/settings.js';
import { drawFaults, drawStalls, drawTakeovers } from './draw-faults.js';
import { drawContention, drawEnduring, drawLending, drawNesting, drawOrder } from './draw-orders.js';
import type { AppendedTask, Fault, Plan, ProcessPlan, UsersPlan, WorkerPlan } from './plan.js';

/** No fault occurs before this time, so that the cluster can form. */
const FAULTS_FROM_MS = 3_000;
const HOUR_MS = 3_600_000;

/** Prefix of seeds of clusters whose schedulers share journals. */
export const SHARED = 'shared ';
/** Prefix of seeds of clusters without faults, only with delays. Recorded seeds contain it. */
export const FAULT_FREE = 'calm ';
/** Prefix of seeds of clusters with limits of users, whose only faults are outages of central. */
export const OUTAGES = 'outages ';
/** Downtimes of central, and how long it hangs. ms */
const OUTAGES_MS = [0, 300, 1_000, 4_000, 9_000, 20_000];
/** In one of this many clusters, faults affect only schedulers. */
const ONE_FAULT_FREE_IN = 3;
/** In one of this many clusters, some tasks run long after the last fault. */
const ONE_ENDURING_IN = 8;

/** Draws the whole plan of a run from its seed. */
export function drawPlan(seed: string): Plan {
  if (seed.startsWith(SHARED)) return drawShared(seed);
  if (seed.startsWith(FAULT_FREE)) return { ...drawPrivate(seed), faults: [], faultFree: true };
  if (seed.startsWith(OUTAGES)) return { ...drawPrivate(seed), faults: drawOutages(seed), outages: true };
  return drawPrivate(seed);
}

function drawOutages(seed: string): Fault[] {
  const draw = new Draw(`${seed}/outages`);
  const outages = Array.from({ length: draw.int(1, 6) }, (): Fault => {
    const at = draw.int(FAULTS_FROM_MS, 25_000);
    const ms = draw.pick(OUTAGES_MS);
    return draw.chance(0.6)
      ? { kind: 'crash', at, process: 'central', downMs: ms, disk: 'kept' }
      : { kind: 'pause', at, process: 'central', forMs: ms };
  });
  return outages.sort((one, other) => one.at - other.at);
}

function drawShared(seed: string): Plan {
  const draw = new Draw(`${seed}/shared`);
  const plan = drawPrivate(seed);
  const faultFree = draw.int(1, ONE_FAULT_FREE_IN) === 1;
  const more = draw.int(1, 2);
  const schedulers = [
    ...plan.schedulers,
    ...Array.from({ length: more }, (_, i) => ({ ...plan.schedulers[0]!, name: `t${i + 1}` })),
  ];
  const names = schedulers.map(({ name }) => name);
  const span = { from: FAULTS_FROM_MS, to: plan.safetyMs };
  const faults = [...(faultFree ? [] : plan.faults), ...drawTakeovers(seed, names, span)];
  return {
    ...plan,
    schedulers,
    faults: faults.sort((one, other) => one.at - other.at),
    shared: true,
    faultFree,
  };
}

function drawPrivate(seed: string): Plan {
  const draw = new Draw(`${seed}/cluster`);
  const { policy, timings } = drawSettings(draw, [
    ...['given', 'given', 'pilot', 'pilot', 'hybrid', 'history', 'slearn-dag'],
  ]);
  const cutoffJobs = new Draw(`${seed}/cutoff`).chance(0.25) ? 0 : null;
  const settings = { policy: { ...withLoans(seed, policy), cutoffJobs }, timings };
  const processOf = (name: string): ProcessPlan => ({
    name,
    at: draw.int(0, 500),
    drift: draw.chance(0.5) ? 0 : (draw.random() - 0.5) / 20,
    wallErrorMs: draw.chance(0.5) ? 0 : draw.int(-HOUR_MS, HOUR_MS),
  });
  const memory = draw.chance(0.3) ? 10 : 0;
  const slots = draw.pick([1, 1, 2, 3]);
  const central = processOf('central');
  const workers = Array.from({ length: draw.int(2, 7) }, (_, i) => ({
    ...processOf(`w${i + 1}`),
    slots: draw.chance(0.8) ? slots : draw.int(1, 3),
    memory,
  }));
  const schedulers = Array.from({ length: draw.int(1, 3) }, (_, i) => processOf(`s${i + 1}`));
  const safetyMs = draw.int(10_000, 30_000);
  const network = {
    leastMs: draw.pick([0.1, 0.1, 1, 20]),
    moreMs: draw.pick([0.1, 1, 10, 100]),
    syncMs: draw.pick([0.1, 2, 20, 200]),
  };
  const orders = Array.from({ length: draw.int(2, 14) }, (_, i) =>
    drawOrder(
      new Draw(`${seed}/order ${i}`),
      i,
      { from: FAULTS_FROM_MS, to: safetyMs },
      memory,
      schedulers.length,
    ),
  );
  const enduring = new Draw(`${seed}/enduring`);
  if (enduring.int(1, ONE_ENDURING_IN) === 1) {
    const span = { from: FAULTS_FROM_MS, to: safetyMs };
    orders.push(drawEnduring(enduring, orders.length, span, schedulers.length));
  }
  const names = { workers: workers.map(({ name }) => name), schedulers: schedulers.map(({ name }) => name) };
  const span = { from: FAULTS_FROM_MS, to: safetyMs };
  const stalls = drawStalls(seed, names.schedulers, span);
  const faults = [...drawFaults(seed, names, span), ...stalls].sort((one, other) => one.at - other.at);
  const plan = { seed, settings, workers, schedulers, central, network, orders, faults, safetyMs };
  const drawn = DRAWN.reduce((so, more) => more(so), plan as Plan);
  return withIndices(drawn);
}

/** The policy of about half of the clusters lends CPUs. */
function withLoans(seed: string, policy: PolicySettings): PolicySettings {
  const draw = new Draw(`${seed}/loans`);
  const lends = policy.policy === 'goshawk';
  if (!lends && !draw.chance(0.35)) return policy;
  const lend = draw.pick(['all', 'all', 'all', 'short', 'none'] as const);
  if (lends) return { ...policy, lend };
  const estimator = draw.pick(['given', 'given', 'pilot', 'hybrid', 'history'] as const);
  return { ...policy, policy: 'goshawk', preset: presetNamed('goshawk'), estimator, lend };
}

/** Each function extends some plans, with separate random numbers. */
const DRAWN: readonly ((plan: Plan) => Plan)[] = [
  withPredecessors,
  withZones,
  withGpus,
  withGangs,
  withUsers,
  withLimits,
  withHolds,
  withAppends,
  withRetries,
  withCancelledTasks,
  withContention,
  withLending,
  withNesting,
];

/** Some jobs start after others. A job on a lost disk would delay its successors until schedulers give it up. */
function withPredecessors(plan: Plan): Plan {
  const draw = new Draw(`${plan.seed}/after`);
  const ok = new Draw(`${plan.seed}/after ok`);
  const mayLose = plan.faults.some((fault) => fault.kind === 'crash' && fault.disk === 'lost');
  if (!draw.chance(0.4) || mayLose) return plan;
  const orders = plan.orders.map((order, at) => {
    const others = plan.orders.slice(0, at).filter(({ job }) => job.name !== 'enduring');
    const before = others.filter(() => draw.chance(Math.min(0.4, 1 / at)));
    if (before.length === 0) return order;
    return { ...order, after: before.map(({ key }) => key), afterOk: ok.chance(0.5) };
  });
  return { ...plan, orders };
}

/** Workers of some plans have GPUs; tasks request tenths of a GPU or whole GPUs. */
function withGpus(plan: Plan): Plan {
  const draw = new Draw(`${plan.seed}/gpus`);
  if (!draw.chance(0.25)) return plan;
  const gpus = draw.int(1, 2);
  const workers = plan.workers.map((worker) => ({ ...worker, slots: draw.int(2, 4), gpus }));
  const orders = plan.orders.map((order) => {
    if (!draw.chance(0.7)) return order;
    const gpu = draw.chance(0.75) ? draw.int(1, 9) / 10 : draw.int(1, gpus);
    return { ...order, job: { ...order.job, demand: { ...order.job.demand, gpu } } };
  });
  return { ...plan, workers, orders };
}

/** Some jobs are gangs, as many tasks as fit on the workers that stay. */
function withGangs(plan: Plan): Plan {
  const draw = new Draw(`${plan.seed}/gangs`);
  if (!startsGangs(plan.settings.policy.preset) || !draw.chance(0.4)) return plan;
  const room = sumOf(stayingWorkers(plan), ({ slots }) => slots);
  const orders = plan.orders.map((order) => {
    const { demand, require, maxRunning: _, stages, tasks, ...job } = order.job;
    const isSmall = demand === undefined && require === undefined && Math.max(...sizesOf(order.job)) <= room;
    if (!isSmall || !draw.chance(0.6)) return order;
    return { ...order, job: { ...job, ...present({ stages, tasks }), gang: true } };
  });
  return { ...plan, orders };
}

function stayingWorkers({ faults, workers }: Plan): readonly WorkerPlan[] {
  const removed = faults.flatMap((fault) => (fault.kind === 'remove' ? [fault.process] : []));
  return workers.filter(({ name }) => !removed.includes(name));
}

/** The number of tasks in each stage. */
function sizesOf({ tasks, stages }: JobInput): number[] {
  return (stages ?? [{ tasks }]).map((stage) => (Array.isArray(stage.tasks) ? stage.tasks.length : 0));
}

/** Some jobs are on hold for a while, or begin later. */
function withHolds(plan: Plan): Plan {
  const draw = new Draw(`${plan.seed}/holds`);
  if (!draw.chance(0.4)) return plan;
  // The time to begin is a wall-clock time, and a scheduler that takes over has another clock.
  const isSetAnew = plan.seed.startsWith(SHARED);
  const mayBegin = !isSetAnew && !plan.faults.some(({ kind }) => kind === 'wallJump') && draw.chance(0.3);
  const orders = plan.orders.map((order) => {
    if (!draw.chance(0.4)) return order;
    const job = order.job;
    // A job that begins at or after its deadline is refused.
    if (mayBegin && draw.chance(0.3) && job.deadline === undefined)
      return { ...order, job: { ...job, begin: draw.int(1, 3_000) } };
    const forMs = draw.int(10, draw.pick([500, 15_000]));
    // Only the client that submits it releases it.
    const isFromStart = draw.chance(0.3) && order.doubledAfterMs === undefined;
    if (isFromStart) return { ...order, job: { ...job, hold: true }, hold: { afterMs: 0, forMs } };
    return { ...order, hold: { afterMs: draw.pick([0, 1, 50, 500, 2_000]), forMs } };
  });
  return { ...plan, orders };
}

/** Some retries make new jobs, or name tasks. */
function withRetries(plan: Plan): Plan {
  const draw = new Draw(`${plan.seed}/retries`);
  const orders = plan.orders.map((order) => {
    if (!draw.chance(0.7)) return order;
    const leaveOut = draw.chance(0.4) ? draw.int(0, 2) : undefined;
    return { ...order, retry: { asNew: draw.chance(0.5), failedOnly: draw.chance(0.3), leaveOut } };
  });
  return { ...plan, orders };
}

/** Some tasks of some jobs are cancelled. */
function withCancelledTasks(plan: Plan): Plan {
  const draw = new Draw(`${plan.seed}/cancelled tasks`);
  if (!draw.chance(0.3)) return plan;
  const orders = plan.orders.map((order) => {
    const count = sumOf(sizesOf(order.job), (size) => size);
    if (!draw.chance(0.3) || order.appends !== undefined || order.job.gang === true) return order;
    const first = draw.int(0, count - 1);
    const cancelTasks = { first, last: draw.int(first, count - 1), afterMs: draw.pick([0, 50, 500, 2_000]) };
    return { ...order, cancelTasks };
  });
  return { ...plan, orders };
}

/** Clients append the later tasks of some jobs of one stage. */
function withAppends(plan: Plan): Plan {
  const draw = new Draw(`${plan.seed}/appends`);
  if (!draw.chance(0.4)) return plan;
  const orders = plan.orders.map((order) => {
    const { tasks, gang } = order.job;
    if (!Array.isArray(tasks) || gang === true || !draw.chance(0.5)) return order;
    const has = draw.int(1, tasks.length);
    const appends: AppendedTask[][] = [];
    for (let first = has; first < tasks.length; ) {
      const size = draw.int(1, tasks.length - first);
      appends.push(tasks.slice(first, first + size) as AppendedTask[]);
      first += size;
    }
    // The last append closes the job, and may have no tasks.
    if (appends.length === 0 || draw.chance(0.2)) appends.push([]);
    return { ...order, job: { ...order.job, tasks: tasks.slice(0, has), open: OPEN }, appends };
  });
  return { ...plan, orders };
}

/** Longer than clients are ever silent. */
const OPEN = '5m';

/** Each task carries its index, so that the checker notices a task that runs in place of another. */
export function withIndices(plan: Plan): Plan {
  const orders = plan.orders.map((order) => {
    let at = 0;
    const numbered = <T>(tasks: T): T =>
      (Array.isArray(tasks)
        ? tasks.map((task) => ({ ...task, input: { ...task.input, at: at++ } }))
        : tasks) as T;
    const { stages, tasks, ...job } = order.job;
    const parts =
      stages === undefined
        ? present({ tasks: numbered(tasks) })
        : { stages: stages.map((stage) => ({ ...stage, tasks: numbered(stage.tasks) })) };
    const appends = order.appends?.map((list) => numbered(list));
    return { ...order, job: { ...job, ...parts }, ...present({ appends }) };
  });
  return { ...plan, orders };
}

const USERS = ['ann', 'ben', 'cleo'] as const;

/** Jobs of several users; if tasks may run again, also with deadlines and preemptible jobs. */
function withUsers(plan: Plan): Plan {
  const draw = new Draw(`${plan.seed}/users`);
  const { preset } = plan.settings.policy;
  const isGoshawk = preset.decidedBy.policy === 'goshawk';
  if (!(isGoshawk || preset.declares) || !draw.chance(0.6)) return plan;
  const mayPreempt =
    isGoshawk && !plan.seed.startsWith(FAULT_FREE) && !plan.seed.startsWith(SHARED) && draw.chance(0.7);
  const orders = plan.orders.map((order) => {
    const user = draw.pick(USERS);
    const isUrgent = draw.chance(0.3);
    const deadline = `${draw.int(500, 8_000)}ms`;
    const more = !mayPreempt ? {} : isUrgent ? { deadline } : { preemptible: draw.chance(0.7) };
    return { ...order, job: { ...order.job, user, ...more } };
  });
  return { ...plan, orders };
}

/** Preemptible jobs fill some clusters, and jobs with deadlines come one after another. */
function withContention(plan: Plan): Plan {
  const draw = new Draw(`${plan.seed}/contention`);
  const { preset } = plan.settings.policy;
  const slots = sumOf(stayingWorkers(plan), (worker) => worker.slots);
  const isGoshawk = preset.decidedBy.policy === 'goshawk' && preset.declares && slots > 0;
  // A user at a limit waits even if tasks could be preempted.
  const isLimited = plan.users !== undefined;
  if (!isGoshawk || isLimited || plan.seed.startsWith(SHARED) || !draw.chance(0.5)) return plan;
  // Tasks are killed only where those that run may not pause.
  const { lend } = new Draw(`${plan.seed}/pausing`).chance(0.5)
    ? plan.settings.policy
    : { lend: 'none' as const };
  const policy = { ...plan.settings.policy, lend, estimator: 'given', reserve: 0 } as const;
  const kept = plan.orders.slice(0, draw.int(0, 2));
  const span = { from: FAULTS_FROM_MS, to: plan.safetyMs };
  const more = drawContention(draw, kept.length, span, slots, plan.schedulers.length);
  return { ...plan, settings: { ...plan.settings, policy }, orders: [...kept, ...more] };
}

/** Long tasks fill most clusters that lend CPUs, and other jobs come beside them. */
function withLending(plan: Plan): Plan {
  const draw = new Draw(`${plan.seed}/lending`);
  const { policy, lend } = plan.settings.policy;
  const slots = sumOf(stayingWorkers(plan), (worker) => worker.slots);
  if (policy !== 'goshawk' || lend === 'none' || slots === 0 || !draw.chance(0.8)) return plan;
  const span = { from: FAULTS_FROM_MS, to: plan.safetyMs };
  const more = drawLending(draw, plan.orders.length, span, slots, plan.schedulers.length);
  return { ...plan, orders: [...plan.orders, ...more] };
}

/** Tasks that fill some clusters submit jobs and wait for them. A limit of their user would let them wait for ever. */
function withNesting(plan: Plan): Plan {
  const draw = new Draw(`${plan.seed}/nesting`);
  const { policy, lend } = plan.settings.policy;
  const slots = sumOf(stayingWorkers(plan), (worker) => worker.slots);
  if (policy !== 'goshawk' || lend === 'none' || slots === 0 || plan.users !== undefined) return plan;
  if (!draw.chance(0.4)) return plan;
  const span = { from: FAULTS_FROM_MS, to: plan.safetyMs };
  const more = drawNesting(draw, plan.orders.length, span, slots, plan.schedulers.length);
  return { ...plan, orders: [...plan.orders, ...more] };
}

/** The operator limits some users, and changes the limits while the cluster runs. */
function withLimits(plan: Plan): Plan {
  const draw = new Draw(`${plan.seed}/limits`);
  // Limits are not enforced if schedulers find workers without central.
  if (!plan.settings.policy.preset.declares || !(draw.chance(0.6) || plan.seed.startsWith(OUTAGES)))
    return plan;
  if (plan.orders.every(({ job }) => job.user === undefined)) return plan;
  // Central learns of a change during an outage afterwards.
  const isConstant = plan.seed.startsWith(OUTAGES);
  const changes = Array.from({ length: isConstant ? 1 : draw.int(1, 4) }, (_, i) => ({
    at: isConstant || (i === 0 && draw.chance(0.5)) ? 0 : draw.int(FAULTS_FROM_MS, plan.safetyMs),
    users: drawLimits(draw),
  }));
  // A gang that is larger than a limit waits until the limit is lifted.
  if (draw.chance(0.5) || plan.orders.some(({ job }) => job.gang === true))
    changes.push({ at: plan.safetyMs, users: {} });
  return { ...plan, users: changes.sort((one, other) => one.at - other.at) };
}

function drawLimits(draw: Draw): UsersPlan['users'] {
  const limits = (): Record<string, number | string> => ({
    ...(draw.chance(0.8) ? { [draw.pick(['running', 'running', 'cpus'])]: draw.int(1, 4) } : {}),
    ...(draw.chance(0.1) ? { runTime: draw.pick(['150ms', '1s']) } : {}),
  });
  const hasProject = draw.chance(0.4);
  const users = Object.fromEntries(
    USERS.filter(() => draw.chance(0.7)).map((user) => [
      user,
      { weight: draw.int(1, 3), ...(hasProject && user !== 'cleo' ? { project: 'lab' } : {}), ...limits() },
    ]),
  );
  return {
    ...users,
    ...(hasProject ? { '@lab': { running: draw.int(1, 5) } } : {}),
    ...(draw.chance(0.3) ? { '*': { weight: 1, ...limits() } } : {}),
  };
}

const ZONES = ['a', 'b', 'c'] as const;

/** Some jobs require an attribute that some workers have, including one that is never removed. */
function withZones(plan: Plan): Plan {
  const draw = new Draw(`${plan.seed}/zones`);
  const staying = stayingWorkers(plan);
  // With a partition, all workers of a zone may be in the part that the job does not use.
  const { preset, shortPartition } = plan.settings.policy;
  if (preset.partition && (shortPartition !== 0 || preset.short.over === 'short')) return plan;
  if (!draw.chance(0.4) || staying.length === 0) return plan;
  const rock = draw.pick(staying);
  const workers = plan.workers.map((worker) => ({
    ...worker,
    zone: worker === rock ? ZONES[0] : draw.pick(ZONES),
  }));
  const orders = plan.orders.map((order) =>
    draw.chance(0.5)
      ? order
      : { ...order, job: { ...order.job, require: { zone: draw.pick([['a'], ['a', 'b'], ['c', 'a']]) } } },
  );
  return { ...plan, workers, orders };
}
