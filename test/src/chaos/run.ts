import type { Central } from '@goshawk/central';
import type { JobDetail, Machine, Message, MessageType, Millis, ParentRun, TaskRange } from '@goshawk/core';
import { WorkConservation } from '@goshawk/policies';
import type { Scheduler } from '@goshawk/scheduler';
import type { Worker } from '@goshawk/worker';
import { Draw } from '../drawing/draw.js';
import { Calendar } from '../stepped/calendar.js';
import { Checker, tagOf } from './checker.js';
import { Client, type ClientWorld } from './client.js';
import { Cluster, type Counts } from './cluster.js';
import { isOver, type Order, type OrderWish, UNSENT } from './orders.js';
import type { Fault, OrderPlan, Plan } from './plan.js';
import type { Process } from './process.js';
import { StoreConnection } from './store.js';
import type { Execution, TaskInput } from './tasks.js';
import { Transcript } from './transcript.js';
import { anyPartyOf } from './wire.js';

/**
 * All accepted jobs end within this time after the last fault, even those that wait for the only worker with an
 * attribute, which was repeatedly quarantined for five minutes because tasks failed there.
 */
const LIVENESS_MS = 900_000;
/** All messages have been delivered by this time. */
const SETTLE_MS = 120_000;
/** Reservations of a scheduler that has lost its disk are kept for as long as it may still return. */
const SETTLE_AFTER_LOSS_MS = 1_200_000;
const CHECK_INTERVAL_MS = 500;
const ORPHANS_CHECK_INTERVAL_MS = 2_000;
/** Longer than three round trips after all faults have ended. */
const IDLE_MS = 3_000;
/** Maximum number of events, far more than in a run without errors. */
const EVENTS_MAX = 1_000_000;
/** Drained workers are undrained again. */
const UNDRAIN_MS = 10_000;
/** Types of periodic messages, which never stop while central and workers run. */
const RECURRING_TYPES: ReadonlySet<MessageType> = new Set([
  'heartbeat',
  'heartbeatAck',
  'steal',
  'stolen',
  'usage',
  'occupied',
  // Repeated with each heartbeat until the worker is undrained.
  'drained',
]);
/** Runs that an owner has abandoned must end within this time after their worker reconnects. */
const ORPHANED_MS = 30_000;

export interface Report {
  /** All violations, one line each, beginning with the name of the broken promise. */
  readonly complaints: readonly string[];
  readonly counts: Counts;
  readonly executions: number;
  readonly orders: Readonly<Record<string, number>>;
  /** True time that has passed. */
  readonly ms: Millis;
}

/** Plays a plan: a phase with faults, then one in which all promises must be kept. */
export async function play(plan: Plan, write?: (line: string) => void): Promise<Report> {
  return new ChaosRun(plan, write).play();
}

class ChaosRun {
  readonly #plan: Plan;
  readonly #calendar = new Calendar();
  readonly #checker: Checker;
  readonly #cluster: Cluster;
  readonly #transcript: Transcript | undefined;
  readonly #clients: Client[] = [];
  readonly #clientProcesses: Process[] = [];
  /** The time at which each run was orphaned. */
  readonly #orphanedAt = new Map<Execution, Millis>();
  /** The job that was first accepted for a key. */
  readonly #jobOf = new Map<string, string>();
  #events = 0;
  readonly #conservation = new WorkConservation(IDLE_MS);

  constructor(plan: Plan, write?: (line: string) => void) {
    this.#plan = plan;
    this.#transcript = write && new Transcript(this.#calendar, write);
    this.#checker = new Checker(this.#transcript && ((line) => this.#transcript!.say(line)), plan);
    this.#cluster = new Cluster(plan, this.#calendar, this.#checker, this.#transcript);
    this.#cluster.submitChild = (input, parent, attempt) => this.#submitChild(input, parent, attempt);
    // One client per order, and two further clients that repeat an order or send a different one with its key.
    for (const name of ['c1', 'c2', 'c3']) this.#addClient(name);
  }

  async play(): Promise<Report> {
    const { orders, faults, safetyMs } = this.#plan;
    for (const order of orders) this.#schedule(order);
    for (const { at, users } of this.#plan.users ?? [])
      this.#calendar.put(at, () => this.#cluster.grant(JSON.stringify(users)));
    faults.forEach((fault, index) => void this.#calendar.put(fault.at, () => this.#happen(fault, index)));
    await this.#runTo(safetyMs);
    this.#transcript?.say('-- everything heals');
    this.#cluster.loadCentral(0);
    // Another client may still send the same job, or another job with the key.
    const lastAt = Math.max(
      ...orders.map(
        ({ at, doubledAfterMs = 0, conflictAfterMs = 0 }) => at + doubledAfterMs + conflictAfterMs,
      ),
    );
    await this.#runTo(Math.max(safetyMs, lastAt));
    const healedAt = this.#calendar.now;
    let undrainAt = 0;
    let orphansAt = 0;
    while (
      this.#calendar.now < healedAt + LIVENESS_MS &&
      this.#isBusy &&
      this.#checker.complaints.length === 0
    ) {
      if (this.#calendar.now >= undrainAt) {
        undrainAt = this.#calendar.now + UNDRAIN_MS;
        this.#undrain();
        this.#releaseHeldTwice();
      }
      await this.#runTo(this.#calendar.now + CHECK_INTERVAL_MS);
      if (this.#calendar.now >= orphansAt) {
        orphansAt = this.#calendar.now + ORPHANS_CHECK_INTERVAL_MS;
        this.#lookForOrphans();
      }
      this.#lookForIdleRoom();
    }
    if (this.#checker.complaints.length === 0) this.#complainOfOpenOrders();
    for (const order of this.#orders) this.#checkPredecessors(order);
    this.#checker.checkPreempted();
    if (this.#checker.complaints.length === 0) await this.#heal();
    const states: Record<string, number> = {};
    for (const { state } of this.#orders) states[state] = (states[state] ?? 0) + 1;
    return {
      complaints: this.#checker.complaints,
      counts: this.#cluster.counts,
      executions: this.#checker.executions,
      orders: states,
      ms: this.#calendar.now,
    };
  }

  async #runTo(time: Millis): Promise<void> {
    while (this.#calendar.step(time)) {
      // Errors that follow from the first one are of no interest.
      if (this.#checker.complaints.length > 0) return;
      if (++this.#events > EVENTS_MAX) return this.#checker.wrong('endless: too much happens');
      if (!this.#cluster.hasSettled) continue;
      this.#cluster.hasSettled = false;
      // The journal's group commit continues in microtasks.
      for (let turn = 0; turn < 4; turn++) await undefined;
    }
  }

  get #orders(): Order[] {
    return this.#clients.flatMap(({ orders }) => orders);
  }

  get #isBusy(): boolean {
    return this.#clients.some(({ isAsking }) => isAsking);
  }

  // ---- clients

  #addClient(name: string): void {
    const process = this.#cluster.addClient(name, (self) => {
      const client = new Client(self.environment(), this.#worldOf(self));
      this.#clients.push(client);
      return client;
    });
    this.#clientProcesses.push(process);
  }

  #worldOf(process: Process): ClientWorld {
    const checker = this.#checker;
    return {
      now: () => this.#calendar.now,
      schedulers: this.#plan.schedulers.map(({ name }) => name),
      schedulerAt: (name) => process.wire.addressNamed(anyPartyOf(name, 'scheduler')),
      central: process.wire.addressNamed(anyPartyOf('central', 'central')),
      ownerOf: (jobId) => this.#cluster.ownerOf(tagOf(jobId)),
      isShared: this.#plan.shared === true,
      predecessorsOf: (order) => this.#predecessorsOf(order),
      accepted: (order, jobId) => {
        if (!this.#jobOf.has(order.key)) this.#jobOf.set(order.key, jobId);
        checker.accepted(order, jobId);
      },
      isHeldForGood: (order) => this.#isHeldForGood(order),
      retryAsked: (order) => checker.retryAsked(order),
      cancelAsked: (jobId) => checker.cancelAsked(jobId),
      tasksCancelled: (order) => checker.tasksCancelled(order),
      cancelConfirmed: (order) => checker.cancelConfirmed(order),
      holdConfirmed: (jobId, running) => checker.holdConfirmed(jobId, running),
      releaseAsked: (jobId) => checker.releaseAsked(jobId),
      isCancelAsked: (jobId) => checker.isCancelAsked(jobId),
      ended: (order) => checker.ended(order),
      wrong: (complaint) => checker.wrong(complaint),
      tryAgain: (order) =>
        this.#order(0, {
          ...order,
          key: `${order.key} again`,
          ...(order.retry?.asNew === true ? { asNewOf: order.jobId } : { retryOf: order.jobId }),
          chosen: chosenTasks(order),
          cancelAfterMs: undefined,
          cancelTasks: undefined,
          hold: undefined,
          appends: undefined,
        }),
    };
  }

  #isHeldForGood({ after, afterOk }: Order): boolean {
    if (!afterOk) return false;
    return after.some((key) => {
      const jobId = this.#jobOf.get(key);
      const orders = this.#orders.filter((order) => order.key === key || order.retryOf === jobId);
      return (
        orders.length > 0 && orders.every(isOver) && !orders.some(({ end }) => end?.state === 'completed')
      );
    });
  }

  #predecessorsOf({ after }: Order): readonly string[] | undefined | null {
    const open = after.filter((key) => !this.#jobOf.has(key));
    if (open.length === 0) return after.map((key) => this.#jobOf.get(key)!);
    const never = open.some((key) => {
      const orders = this.#orders.filter((order) => order.key === key);
      return orders.length > 0 && orders.every(isOver);
    });
    return never ? null : undefined;
  }

  /** Checks that the predecessors of every started task had completed. */
  #checkPredecessors(order: Order): void {
    const { after, afterOk, jobId, end } = order;
    if (jobId === undefined) return;
    const ends = after.map((key) => {
      const orders = this.#orders.filter(
        (other) => other.jobId !== undefined && other.jobId === this.#jobOf.get(key),
      );
      // `after` waits only for the first end; a retry may complete the job later.
      const completed = afterOk ? orders.find((other) => other.end?.state === 'completed') : undefined;
      const before = completed ?? orders[0];
      if (before?.end?.state === 'completed')
        this.#checker.follows(jobId, before.jobId!, before.end.tasks.total);
      return before?.end?.state;
    });
    if (afterOk && end !== undefined) this.#checker.endedAfter(jobId, end.state, ends);
  }

  #schedule(plan: OrderPlan): void {
    const { key, at, job, retries, doubledAfterMs, conflictAfterMs, afterOk = false, hold } = plan;
    const { schedulers } = this.#plan;
    const via = schedulers[plan.via % schedulers.length]!.name;
    const after = (plan.after ?? []).filter((other) =>
      this.#plan.orders.some((order) => order.key === other),
    );
    // Other clients of the key only submit.
    const other = {
      ...{ key, at, job, after, afterOk, via, appends: plan.appends },
      ...{ retryOf: undefined, asNewOf: undefined, chosen: undefined, isConflict: false, retries: false },
      ...{ cancelAfterMs: undefined, retry: undefined, cancelTasks: undefined, hold: undefined },
    };
    const { cancelAfterMs, retry, cancelTasks } = plan;
    const order: OrderWish = { ...other, cancelAfterMs, retries, retry, cancelTasks, hold };
    this.#order(0, order);
    if (doubledAfterMs !== undefined) {
      const next = schedulers[(plan.via + 1) % schedulers.length]!.name;
      this.#order(1, { ...other, at: at + doubledAfterMs, via: next });
    }
    if (conflictAfterMs !== undefined)
      this.#order(2, {
        ...other,
        at: at + conflictAfterMs,
        // No client would release it.
        job: { ...job, name: 'another', hold: undefined },
        isConflict: true,
      });
  }

  #order(client: number, wanted: OrderWish): Order {
    const order: Order = { ...wanted, ...UNSENT, client: `c${client + 1}`, values: new Map() };
    const process = this.#clientProcesses[client]!;
    this.#calendar.put(order.at, () => process.take((now) => this.#clients[client]!.take(order, now)));
    return order;
  }

  /** A task submits a job; each attempt of the task submits its own. */
  #submitChild(input: TaskInput, parent: ParentRun, attempt: number): () => boolean {
    const { schedulers, seed } = this.#plan;
    const key = `child of ${parent.job}/${parent.task}/${attempt}`;
    const draw = new Draw(`${seed}/${key}`);
    const more = (input.nests ?? 0) > 1 ? { nests: input.nests! - 1 } : {};
    const ms = draw.int(5, 300);
    const task = { key, ms, fails: 0, prints: 0, ...more };
    const tasks = Array.from({ length: draw.int(1, 2) }, (_, at) => ({
      module: 'chaos',
      input: { ...task, at },
    }));
    const job = { name: 'child', estimate: ms, tasks, parent };
    const order = this.#order(0, {
      ...{ key, at: this.#calendar.now, job, after: [], afterOk: false, appends: undefined },
      via: draw.pick(schedulers).name,
      ...{ retryOf: undefined, asNewOf: undefined, chosen: undefined, isConflict: false, retries: false },
      ...{ cancelAfterMs: undefined, retry: undefined, cancelTasks: undefined, hold: undefined },
    });
    return () => isOver(order);
  }

  // ---- faults

  #happen(fault: Fault, index: number): void {
    const cluster = this.#cluster;
    const { kind } = fault;
    // Shrinking may have removed the process from the plan.
    if ('process' in fault && !cluster.has(fault.process)) return;
    this.#transcript?.say(`** ${JSON.stringify(fault)}`);
    switch (kind) {
      case 'lose':
      case 'double':
      case 'delay':
      case 'cut':
        // The network counts each message that the fault hits.
        return cluster.network.begin(fault, index);
      case 'reconnect':
        cluster.network.reconnect(fault);
        // All connections to central; a notice about a connection that is up has no effect.
        if (['all', 'central'].includes(fault.to)) cluster.disconnectCentral();
        return;
      case 'crash': {
        if (!cluster.crash(fault.process, fault.downMs)) return;
        cluster.count('crash');
        if (fault.disk !== 'kept' && cluster.loseDisk(fault.process)) cluster.count('diskLost');
        return;
      }
      case 'remove':
        if (cluster.remove(fault.process)) cluster.count(kind);
        return;
      case 'pause':
        return this.#forAWhile(fault, fault.process, (process) => {
          process.pause();
          return () => process.resume();
        });
      case 'slow':
        return this.#forAWhile(fault, fault.process, (process) => {
          process.slowDown(fault.stepMs);
          return () => process.slowDown(0);
        });
      case 'wallJump':
        cluster.wallJump(fault.process, fault.byMs);
        return cluster.count(kind);
      case 'takeOver':
        cluster.count(kind);
        return this.#clientProcesses[0]!.take(() => this.#clients[0]!.takeOver(fault.process));
      case 'diskFails': {
        const medium = cluster.mediumOf(fault.process);
        if (!(medium instanceof StoreConnection))
          return cluster.failDisk(fault.process, fault.isWritten, fault.downMs);
        return this.#during({ kind, forMs: fault.downMs }, () => {
          medium.lossy = 0.5;
          return () => {
            medium.lossy = 0;
          };
        });
      }
      case 'diskSlow': {
        const medium = cluster.mediumOf(fault.process);
        return this.#during(fault, () => {
          medium.syncMs = fault.syncMs;
          return () => {
            medium.syncMs = this.#plan.network.syncMs;
          };
        });
      }
      case 'diskFull': {
        const medium = cluster.mediumOf(fault.process);
        return this.#during(fault, () => {
          medium.setFull(true, fault.hasNoRoom);
          return () => medium.setFull(false, false);
        });
      }
      case 'drain':
        return this.#during(fault, () => {
          this.#drain(fault.process, true);
          return () => this.#drain(fault.process, false);
        });
      case 'terminate':
        if (cluster.terminate(fault.process, fault.downMs)) cluster.count(kind);
        return;
      case 'busy':
        return this.#during(fault, () => {
          cluster.loadCentral(1);
          return () => cluster.loadCentral(0);
        });
    }
  }

  #during({ kind, forMs }: { kind: string; forMs: Millis }, begin: () => () => void): void {
    this.#cluster.count(kind);
    const end = begin();
    this.#calendar.put(this.#calendar.now + forMs, end);
  }

  #forAWhile(
    fault: { kind: string; forMs: Millis },
    name: string,
    begin: (process: Process) => () => void,
  ): void {
    const process = this.#cluster.at(name);
    if (process === undefined) return;
    this.#during(fault, () => {
      const end = begin(process);
      return () => {
        if (process.isAlive) end();
      };
    });
  }

  #drain(worker: string, on: boolean): void {
    this.#clientProcesses[0]!.take(() => this.#clients[0]!.drain(worker, on));
  }

  #undrain(): void {
    const drained = new Set(
      this.#plan.faults.flatMap((fault) => (fault.kind === 'drain' ? fault.process : [])),
    );
    for (const worker of drained) if (!this.#cluster.isTerminating(worker)) this.#drain(worker, false);
  }

  #releaseHeldTwice(): void {
    for (const jobId of this.#checker.heldTwice())
      this.#clientProcesses[0]!.take(() => this.#clients[0]!.release(jobId));
  }

  // ---- final checks

  /** No room stays free while a task that fits it waits. */
  #lookForIdleRoom(): void {
    for (const { machine, now, isPaused } of this.#cluster.alive('central')) {
      const startable = isPaused ? [] : (machine as unknown as Central).startable(now);
      const complaint = this.#conservation.check(startable, now);
      if (complaint !== undefined) this.#checker.wrong(complaint);
    }
  }

  /** Checks that workers run only what their owners expect. */
  #lookForOrphans(): void {
    if (this.#plan.shared) return;
    const { now } = this.#calendar;
    for (const { id, name } of this.#cluster.alive('worker')) {
      for (const execution of this.#cluster.tasksOf(name)!.executions) {
        const since = this.#orphanedAt.get(execution) ?? now;
        if (this.#isWanted(execution)) this.#orphanedAt.delete(execution);
        else this.#orphanedAt.set(execution, since);
        const { jobId, task, attempt } = execution;
        if (now - since > ORPHANED_MS && this.#orphanedAt.has(execution))
          this.#checker.wrong(`orphan: ${id} runs ${jobId}/${task}/${attempt}, which its owner has given up`);
      }
    }
  }

  /**
   * Runs are expected while their owner is down, does not know the job, or has not joined the cluster, because until
   * then it does not query workers or give up runs. Joining takes half a minute if late messages of its predecessor
   * arrive after its first ones.
   */
  #isWanted({ jobId, task, started }: Execution): boolean {
    const owner = this.#cluster.ownerOf(tagOf(jobId));
    const process = owner === undefined ? undefined : this.#cluster.at(owner);
    if (process === undefined || !(process.machine as unknown as Scheduler).isReady) return true;
    const detail = readJob(process, jobId) as Partial<JobDetail>;
    if (detail.running === undefined) return true;
    return detail.running.some((run) => run.task === task && run.attempt === started);
  }

  #complainOfOpenOrders(): void {
    for (const order of this.#orders) {
      if (isOver(order)) continue;
      const detail = order.jobId === undefined ? '' : `: ${this.#describe(order.jobId)}`;
      this.#checker.wrong(
        `stuck: ${order.key} is ${order.state}, ${order.jobId ?? 'without a job'}${detail}`,
      );
    }
  }

  #describe(jobId: string): string {
    const owner = this.#cluster.ownerOf(tagOf(jobId));
    const process = owner === undefined ? undefined : this.#cluster.at(owner);
    if (process === undefined) return 'its owner is not there';
    const { class: jobClass, tasks, running } = readJob(process, jobId) as Record<string, unknown>;
    return JSON.stringify({ class: jobClass, tasks, running });
  }

  async #heal(): Promise<void> {
    const { isAnyLost } = this.#checker;
    const until = this.#calendar.now + (isAnyLost ? SETTLE_AFTER_LOSS_MS : SETTLE_MS);
    this.#releaseHeldTwice();
    let left = this.#leaks();
    while (left.length > 0 && this.#calendar.now < until) {
      await this.#runTo(this.#calendar.now + CHECK_INTERVAL_MS);
      left = this.#leaks();
    }
    for (const leak of left) this.#checker.wrong(`leak: ${leak}`);
    if (left.length === 0) this.#compareJournals();
  }

  /** Lists the resources that are still in use. */
  #leaks(): string[] {
    const left: string[] = [];
    for (const { id, machine } of this.#cluster.alive('worker')) {
      if (!(machine as unknown as Worker).isIdle) left.push(`${id} is not idle`);
    }
    for (const { id, name, machine } of this.#cluster.alive('scheduler')) {
      const { isReady, activeJobs, activeBytes, tombstoneBytes } = machine as unknown as Scheduler;
      if (!isReady && !this.#cluster.isFenced(name)) left.push(`${id} has not come back`);
      else if (activeJobs > 0) left.push(`${id} holds ${activeJobs} jobs`);
      else if (activeBytes !== tombstoneBytes)
        left.push(`${id} counts ${activeBytes - tombstoneBytes} bytes for jobs that have ended`);
      if (!this.#cluster.storeOf(name).isQuiet) left.push(`${id} waits for its disk`);
    }
    for (const { id, machine } of this.#cluster.alive('central')) {
      const { pendingTasks, placedTasks, openMatches } = machine as unknown as Central;
      if (openMatches > 0) left.push(`${id} keeps ${openMatches} slots for tasks on their way`);
      if (pendingTasks > 0) left.push(`${id} holds ${pendingTasks} tasks that wait`);
      if (placedTasks > 0) left.push(`${id} believes that ${placedTasks} tasks are at workers`);
    }
    for (const type of this.#cluster.network.typesOnTheWay)
      if (!RECURRING_TYPES.has(type)) left.push(`a ${type} is on its way`);
    return left;
  }

  /** Checks that a restarted scheduler would have the current state. */
  #compareJournals(): void {
    for (const process of this.#cluster.alive('scheduler')) {
      if (this.#cluster.isFenced(process.name)) continue;
      const { tag } = this.#cluster.storeOf(process.name);
      const { tasksCompleted } = (process.machine as unknown as Scheduler).counters;
      const completed = this.#checker.completedOf(tag);
      // The estimator does not count completions of earlier incarnations.
      if (process.incarnation === 1 && !this.#plan.shared && completed !== tasksCompleted)
        this.#checker.wrong(
          `counts: ${process.id} counted ${tasksCompleted} tasks, and completed ${completed}`,
        );
      const rebuilt = this.#cluster.rebuilt(process.name);
      for (const { jobId } of this.#orders) {
        if (jobId === undefined || tagOf(jobId) !== tag) continue;
        const live = readJob(process, jobId);
        const kept = askOf(rebuilt, process, jobId);
        // A restarted scheduler deletes the oldest of many ended jobs at once, others later. A job that was evicted for
        // lack of memory stays on the disk.
        if (kept === FORGOTTEN || live === FORGOTTEN) continue;
        const [now, then] = [summaryOf(live), summaryOf(kept)];
        if (now !== then) this.#checker.wrong(`journal: ${jobId} is ${now}, and on the disk ${then}`);
      }
    }
  }
}

/** The tasks that an order's retry names: two of every three, completed or not. */
function chosenTasks({ retry, end }: Order): readonly TaskRange[] | undefined {
  const { leaveOut } = retry ?? {};
  if (leaveOut === undefined) return undefined;
  const tasks = Array.from({ length: end!.tasks.total }, (_, task) => task);
  const chosen = tasks.filter((task) => task % 3 !== leaveOut);
  return (chosen.length === 0 ? tasks : chosen).map((task) => ({ first: task, last: task }));
}

function readJob(process: Process, jobId: string): unknown {
  return askOf(process.machine, process, jobId);
}

/** Queries a machine about a job without side effects. */
function askOf(machine: Machine, process: Process, id: string): unknown {
  const { self } = process.wire;
  const question: Message = { type: 'describeJob', request: 1, id, spec: false };
  const [answer] = process.overhear(() => machine.receive(self, question, process.now));
  if (answer?.type === 'refused' && answer.code === FORGOTTEN) return FORGOTTEN;
  return answer?.type === 'jobDetail' ? answer.value : {};
}

const FORGOTTEN = 'forgotten-job';

function summaryOf(job: unknown): string {
  const { state, class: jobClass, tasks } = job as Record<string, unknown>;
  return JSON.stringify({ state, class: jobClass, tasks });
}
