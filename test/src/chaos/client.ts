import {
  type Address,
  type Environment,
  isFinal,
  isReply,
  type JobDetail,
  type JobState,
  type Machine,
  type Message,
  type MessageOf,
  type Millis,
  type ResultPage,
  rendezvous,
  sumOf,
} from '@goshawk/core';
import { isOver, type Order } from './orders.js';

const TICK_MS = 700;
/** A job is watched again this often, in case the scheduler has forgotten or its answer was lost. */
const WATCH_AGAIN_MS = 2_100;
/** Refusals that are temporary. */
const RETRYABLE_CODES: ReadonlySet<string> = new Set([
  'not-ready',
  'owner-away',
  'other-scheduler',
  'overloaded',
  'journal-full',
  'journal-pending',
  'journal-unavailable',
  'draining',
]);

/** Refusals of the job itself, which are permanent. */
const PERMANENT_CODES: ReadonlySet<string> = new Set(['key-conflict', 'impossible-demand', 'over-limit']);

/** The environment of a client. */
export interface ClientWorld {
  /** True time, because clients are not under test. */
  now(): Millis;
  readonly schedulers: readonly string[];
  /** The current party at a scheduler's endpoint. */
  schedulerAt(name: string): Address;
  readonly central: Address;
  /** Which scheduler's disk a job's id names; undefined when that disk is lost. */
  ownerOf(jobId: string): string | undefined;
  /** Whether schedulers take over from each other; a recent owner of a job may then no longer know it. */
  readonly isShared: boolean;
  /**
   * Ids of its predecessors; undefined while one of them is not accepted yet, null if one never will be.
   */
  predecessorsOf(order: Order): readonly string[] | undefined | null;
  /** Whether it requires a job that did not complete and will not be retried. */
  isHeldForGood(order: Order): boolean;
  accepted(order: Order, jobId: string): void;
  retryAsked(order: Order): void;
  cancelAsked(jobId: string): void;
  tasksCancelled(order: Order): void;
  cancelConfirmed(order: Order): void;
  /** @param running number of tasks that the confirmation counts as running */
  holdConfirmed(jobId: string, running: number): void;
  releaseAsked(jobId: string): void;
  isCancelAsked(jobId: string): boolean;
  ended(order: Order): void;
  wrong(complaint: string): void;
  /** Retries the failed tasks of the job. */
  tryAgain(order: Order): void;
}

/** Deadline of half of the drain requests. */
const DRAIN_DEADLINE_MS: Millis = 2_000;

type AskedOfJob = 'submit' | 'cancel' | 'cancelTasks' | 'watch' | 'results' | 'hold' | 'release' | 'append';

type Asked =
  | { readonly kind: AskedOfJob; readonly order: Order }
  | { readonly kind: 'drain'; readonly worker: string; readonly on: boolean };

/**
 * A client that retries until it gets an answer, as the SDK does, and checks every answer. It sends to any scheduler,
 * not only to the owner.
 */
export class Client implements Machine {
  readonly orders: Order[] = [];
  readonly #env: Environment;
  readonly #world: ClientWorld;
  readonly #asked = new Map<number, Asked>();
  readonly #watches = new Map<Order, number>();
  /** By worker, the request that is repeated until it is answered. */
  readonly #drains = new Map<string, boolean>();
  #request = 1;

  constructor(env: Environment, world: ClientWorld) {
    this.#env = env;
    this.#world = world;
  }

  start(now: Millis): void {
    this.#env.setTimer('tick', 0, now + TICK_MS * this.#env.random());
  }

  wake(timer: string, _key: number, now: Millis): void {
    for (const order of this.orders) this.#goOn(order);
    for (const [worker, on] of this.#drains) this.#askDrain(worker, on);
    if (timer === 'tick') this.#env.setTimer('tick', 0, now + TICK_MS);
  }

  take(order: Order, now: Millis): void {
    this.orders.push(order);
    this.wake('now', 0, now);
  }

  drain(worker: string, on: boolean): void {
    this.#drains.set(worker, on);
    this.#askDrain(worker, on);
  }

  /** Releases a job that no order of this client may know. */
  release(jobId: string): void {
    const owner = this.#world.ownerOf(jobId);
    if (owner === undefined) return;
    this.#world.releaseAsked(jobId);
    const request = this.#request++;
    const to = this.#world.schedulerAt(owner);
    this.#env.send(to, { type: 'updateJob', request, id: jobId, held: false, priority: undefined });
  }

  /** Sent once, because a scheduler that is down is taken over after its lease anyway. */
  takeOver(scheduler: string): void {
    const request = this.#request++;
    this.#env.send(this.#world.central, { type: 'takeOverFrom', request, scheduler });
  }

  get isAsking(): boolean {
    return this.#drains.size > 0 || this.orders.some((order) => !isOver(order));
  }

  checkInvariants(): void {}

  receive(from: Address, message: Message, now: Millis): void {
    if (!isReply(message)) return;
    const asked = this.#asked.get(message.request);
    if (asked === undefined) return;
    if (asked.kind === 'drain') return this.#drained(asked);
    const { order } = asked;
    // Other schedulers do not know of the refusal.
    if (order.refusedBy === from && message.type === 'accepted')
      this.#world.wrong(`refused: ${order.key} is accepted as ${message.value.job} after its refusal`);
    if (isOver(order)) return;
    if (message.type === 'refused') {
      this.#refused(asked.kind, order, message);
      if (order.state === 'refused') order.refusedBy = from;
      return;
    }
    switch (message.type) {
      case 'accepted':
        return this.#accepted(order, message.value.job, now);
      case 'jobSummary':
        return asked.kind === 'cancel'
          ? this.#cancelled(order, message.value.state)
          : this.#updated(asked.kind, order, message.value.tasks.running);
      case 'tasksCancelled':
        if (!order.tasksCancelled && !isFinal(message.value.job.state)) this.#world.tasksCancelled(order);
        order.tasksCancelled = true;
        return;
      case 'appended':
        return this.#appended(order, message.value, now);
      case 'jobEnded':
        return this.#heard(order, message.value.job, now);
      case 'resultPage':
        return this.#results(order, message.value);
    }
  }

  // ---- next action

  #goOn(order: Order): void {
    if (isOver(order) || this.#world.now() < order.at) return;
    if (order.state === 'open') return this.#submit(order);
    const owner = this.#world.ownerOf(order.jobId!);
    if (owner === undefined && this.#world.isShared) return;
    if (owner === undefined) {
      // The jobs are lost with the disk, by definition.
      order.state = 'gone';
      return;
    }
    const to = this.#world.schedulerAt(owner);
    const id = order.jobId!;
    const cancelAt = order.acceptedAt + (order.cancelAfterMs ?? Number.POSITIVE_INFINITY);
    const isToEnd = this.#world.now() >= cancelAt || this.#world.isHeldForGood(order);
    if (isToEnd && !order.cancelConfirmed && order.end === undefined) {
      this.#world.cancelAsked(id);
      this.#env.send(to, { type: 'cancelJob', request: this.#ask({ kind: 'cancel', order }), id });
    }
    if (order.end === undefined && !order.cancelConfirmed) {
      this.#cancelTasks(to, order);
      this.#setHold(to, order);
      this.#append(to, order);
    }
    if (order.end === undefined) {
      if (this.#world.now() < order.watchAgainAt) return;
      order.watchAgainAt = this.#world.now() + WATCH_AGAIN_MS;
      this.#env.send(to, {
        type: 'watchJob',
        request: this.#watchOf(order),
        id,
        detail: false,
        soon: undefined,
      });
    } else {
      const request = this.#ask({ kind: 'results', order });
      this.#env.send(to, { type: 'readResults', request, id, from: 0, order: undefined });
    }
  }

  #submit(order: Order): void {
    const { key, job } = order;
    const ask = () => {
      order.request ??= this.#ask({ kind: 'submit', order });
      return order.request;
    };
    const old = order.retryOf ?? order.asNewOf;
    if (old !== undefined) {
      const owner = this.#world.ownerOf(old);
      if (owner === undefined) order.state = this.#world.isShared ? order.state : 'gone';
      else {
        this.#world.retryAsked(order);
        this.#env.send(this.#world.schedulerAt(owner), {
          type: 'retryJob',
          request: ask(),
          key,
          id: old,
          failedOnly: order.retry?.failedOnly === true ? true : undefined,
          tasks: order.chosen && [...order.chosen],
          asNew: order.asNewOf === undefined ? undefined : true,
        });
      }
      return;
    }
    const after = this.#world.predecessorsOf(order);
    if (after === null) order.state = 'refused';
    if (!after) return;
    const spec = after.length === 0 ? job : { ...job, [order.afterOk ? 'afterOk' : 'after']: after };
    const named = this.#world.schedulers.map((name) => ({ name }));
    const others = [
      rendezvous(key, named)!.name,
      order.via,
      this.#world.schedulers[order.tries % named.length]!,
    ];
    const to = order.tries === 0 ? order.via : others[order.tries % others.length]!;
    order.tries++;
    this.#env.send(this.#world.schedulerAt(to), { type: 'submit', request: ask(), key, spec });
  }

  #cancelTasks(to: Address, order: Order): void {
    const { cancelTasks: wanted, jobId } = order;
    if (wanted === undefined || order.tasksCancelled) return;
    if (this.#world.now() < order.acceptedAt + wanted.afterMs) return;
    this.#world.cancelAsked(jobId!);
    const request = this.#ask({ kind: 'cancelTasks', order });
    const { first, last } = wanted;
    this.#env.send(to, {
      type: 'cancelTasks',
      request,
      id: jobId!,
      tasks: [{ first, last }],
      stage: undefined,
    });
  }

  /** Holds and releases the job at the given times; repeats either until it is answered. */
  #setHold(to: Address, order: Order): void {
    const { hold, jobId } = order;
    if (hold === undefined || order.holdState === 'released') return;
    const holdAt = order.acceptedAt + hold.afterMs;
    const now = this.#world.now();
    const id = jobId!;
    const isHeld = order.holdState === 'held' || order.holdState === 'releasing';
    if (isHeld && now >= holdAt + hold.forMs) {
      order.holdState = 'releasing';
      this.#world.releaseAsked(id);
      const request = this.#ask({ kind: 'release', order });
      this.#env.send(to, { type: 'updateJob', request, id, held: false, priority: 'high' });
    } else if (!isHeld && now >= holdAt) {
      order.holdState = 'asked';
      const request = this.#ask({ kind: 'hold', order });
      this.#env.send(to, { type: 'updateJob', request, id, held: true, priority: undefined });
    }
  }

  #append(to: Address, order: Order): void {
    const { appends, appended, jobId } = order;
    if (appends === undefined || appended === appends.length) return;
    const first = sumOf(appends.slice(0, appended), (tasks) => tasks.length) + firstTasksOf(order);
    const each = appends[appended]!;
    this.#env.send(to, {
      type: 'appendTasks',
      request: this.#ask({ kind: 'append', order }),
      id: jobId!,
      first,
      common: {},
      each,
      digest: `${first + each.length} tasks`,
      close: appended === appends.length - 1,
      taken: 0,
    });
  }

  #watchOf(order: Order): number {
    let request = this.#watches.get(order);
    if (request === undefined) {
      request = this.#ask({ kind: 'watch', order });
      this.#watches.set(order, request);
    }
    return request;
  }

  #ask(asked: Asked): number {
    const request = this.#request++;
    this.#asked.set(request, asked);
    return request;
  }

  #askDrain(worker: string, on: boolean): void {
    const request = this.#ask({ kind: 'drain', worker, on });
    const deadlineMs = on && request % 2 === 0 ? DRAIN_DEADLINE_MS : undefined;
    this.#env.send(this.#world.central, { type: 'drainWorker', request, worker, on, deadlineMs });
  }

  // ---- received messages

  /** Stops repeating the request. */
  #drained({ worker, on }: Extract<Asked, { kind: 'drain' }>): void {
    if (this.#drains.get(worker) === on) this.#drains.delete(worker);
  }

  #accepted(order: Order, jobId: string, now: Millis): void {
    if (order.state !== 'open') {
      if (order.jobId !== jobId) this.#world.accepted(order, jobId);
      return;
    }
    order.state = 'accepted';
    order.jobId = jobId;
    order.acceptedAt = this.#world.now();
    this.#world.accepted(order, jobId);
    if (order.job.hold === true && order.asNewOf === undefined && order.hold !== undefined) {
      order.holdState = 'held';
      this.#world.holdConfirmed(jobId, 0);
    }
    if (order.cancelAfterMs !== undefined)
      this.#env.setTimer('cancel', this.orders.indexOf(order), now + order.cancelAfterMs);
  }

  #cancelled(order: Order, state: JobState): void {
    if (order.cancelConfirmed) return;
    // The job had ended before.
    if (state === 'completed' || state === 'failed') return;
    order.cancelConfirmed = true;
    this.#world.cancelConfirmed(order);
  }

  #updated(kind: Asked['kind'], order: Order, running: number): void {
    if (kind === 'release') order.holdState = 'released';
    else if (order.holdState === 'asked') {
      order.holdState = 'held';
      this.#world.holdConfirmed(order.jobId!, running);
    }
  }

  #appended(order: Order, { tasks, closed }: MessageOf<'appended'>['value'], now: Millis): void {
    const { appends = [] } = order;
    const has = (lists: number): number =>
      firstTasksOf(order) + sumOf(appends.slice(0, lists), (list) => list.length);
    // The last list also closes the job.
    while (order.appended < appends.length - 1 && tasks >= has(order.appended + 1)) order.appended++;
    if (closed) order.appended = appends.length;
    if (order.appended < appends.length) this.wake('now', 0, now);
  }

  #heard(order: Order, job: JobDetail, now: Millis): void {
    if (order.end !== undefined) return;
    if (!isFinal(job.state)) return this.#world.wrong(`no-end: ${order.jobId} has ended as ${job.state}`);
    order.end = job;
    this.wake('now', 0, now);
  }

  #results(order: Order, { values, next }: ResultPage): void {
    for (const { task, value } of values) order.values.set(task, value);
    if (next !== undefined) return this.#world.wrong(`results of ${order.jobId} do not fit into one page`);
    order.state = 'done';
    this.#world.ended(order);
    if (order.retries && order.end!.state !== 'completed' && !isRetry(order)) this.#world.tryAgain(order);
  }

  /** Ends the request, so that later answers to it are ignored, as the SDK does. The next one has another number. */
  #submitAgain(order: Order): void {
    if (order.request !== undefined) this.#asked.delete(order.request);
    order.request = undefined;
  }

  #refused(kind: Asked['kind'], order: Order, { code, message, retryMs }: MessageOf<'refused'>): void {
    // A scheduler accepts no new jobs for a journal that it has taken over.
    const isMoving = code === 'draining' && order.asNewOf !== undefined && this.#world.isShared;
    if ((RETRYABLE_CODES.has(code) || retryMs !== undefined) && !isMoving) {
      if (kind === 'submit' && code !== 'not-ready' && retryMs === undefined) this.#submitAgain(order);
      return;
    }
    if (kind === 'cancelTasks' && code === 'has-ended') {
      order.tasksCancelled = true;
      return;
    }
    // The job ended before the request arrived.
    if (code === 'has-ended' && (kind === 'hold' || kind === 'release')) {
      order.holdState = 'released';
      return;
    }
    // The job was cancelled, perhaps by another client of the same key.
    if (code === 'not-open' && kind === 'append' && this.#world.isCancelAsked(order.jobId!)) return;
    if (kind === 'submit' && order.state !== 'open') return;
    if (code === 'over-limit' && kind === 'append') return;
    if (kind === 'submit' && (isMoving || PERMANENT_CODES.has(code) || mayRefuseRetry(order, code))) {
      order.state = 'refused';
      return;
    }
    if (code === 'unknown-job' && this.#world.isShared) return;
    const isGone = this.#world.ownerOf(order.jobId ?? order.retryOf ?? order.asNewOf ?? '') === undefined;
    if (code === 'unknown-job' && isGone) {
      order.state = 'gone';
      return;
    }
    this.#world.wrong(`refused: ${code} to ${kind} of ${order.jobId ?? order.key}: ${message}`);
  }
}

function isRetry({ retryOf, asNewOf }: Order): boolean {
  return retryOf !== undefined || asNewOf !== undefined;
}

/** Whether there may be no task to retry, or a stage before the named tasks has not completed. */
function mayRefuseRetry(order: Order, code: string): boolean {
  if (!isRetry(order)) return false;
  const isNarrowed = order.chosen !== undefined || order.retry?.failedOnly === true;
  if (code === 'stage-not-completed') return order.chosen !== undefined;
  // All tasks of an open job may have completed before it was cancelled.
  return code === 'nothing-failed' && (isNarrowed || order.job.open !== undefined);
}

/** Tasks that an open job has at submission. */
function firstTasksOf({ job: { tasks } }: Order): number {
  return Array.isArray(tasks) ? tasks.length : 0;
}
