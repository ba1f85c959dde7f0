import {
  type Address,
  LIVE_TIMINGS,
  type MessageOf,
  type Millis,
  NOBODY,
  type Resources,
  type Timings,
} from '@goshawk/core';
import { Ahead } from './ahead.js';
import { Chunks } from './chunks.js';
import type { WorkerConfig, WorkerCounters, WorkerEnvironment } from './contract.js';
import { Membership } from './membership.js';
import { WorkerMemory } from './memory.js';
import { WorkerQueue } from './queue.js';
import { Reports } from './reports.js';
import { Slots } from './slots.js';
import { StartHealth } from './start-health.js';

/** State of a worker that all of its flows share. */
export class WorkerState {
  // Fields that most steps read come first, to use few cache lines.
  readonly memory: WorkerMemory;
  /** Row of this worker in the tables of the memory. */
  readonly row: number;
  readonly env: WorkerEnvironment;
  isDraining = false;
  /** Created at the first failed task. */
  #health: StartHealth | undefined;
  /** Made when the end of a task was foreseen for the first time. */
  #ahead: Ahead | undefined;
  /** Created when several tasks arrive for one slot for the first time. */
  #chunks: Chunks | undefined;
  /** Questions, and ends of tasks, each of which has its number. */
  asks = 0;
  tasksEnded = 0;
  isSweepArmed = false;
  /** Before the welcome nothing is known of the network: questions and reports are looked after all the same. */
  timings: Timings = LIVE_TIMINGS;
  /** For how long a series of tiny tasks may last; 0: there are none. ms */
  seriesMs: Millis = 0;
  /** Owners whose jobs another one has. */
  superseded: Set<Address> = NOBODY_SUPERSEDED;
  readonly membership = new Membership();
  /** Ends of tasks, until their owners have confirmed them. */
  readonly reports = new Reports();

  readonly config: WorkerConfig;
  /** Shutdown was requested. */
  isStopping = false;
  hasSaidDrained = false;
  readonly counted: Pick<WorkerCounters, 'declined' | 'pauses'> = { declined: 0, pauses: 0 };

  /** @param memory of all workers in the process; default: its own */
  constructor(config: WorkerConfig, env: WorkerEnvironment, memory = new WorkerMemory()) {
    this.config = config;
    this.env = env;
    this.memory = memory;
    this.row = memory.admit(config.slots, config.capacity);
  }

  // Views of its rows: made where they are used, since thousands that are kept would not fit into a processor's cache.

  get queue(): WorkerQueue {
    return new WorkerQueue(this.memory, this.row);
  }

  get slots(): Slots {
    return new Slots(this.memory, this.row);
  }

  /** Keeps account of placed tasks, and has to hear of those that end before it has welcomed this worker. */
  get central(): Address {
    const { central, isCutOff } = this.membership;
    return central === NOBODY || isCutOff ? this.config.central : central;
  }

  /** Undefined while nothing was ever wrong. */
  get knownHealth(): StartHealth | undefined {
    return this.#health;
  }

  get health(): StartHealth {
    this.#health ??= new StartHealth(this.env, this.membership, this.counted);
    return this.#health;
  }

  /** Undefined while the end of no task was foreseen. */
  get knownAhead(): Ahead | undefined {
    return this.#ahead;
  }

  get ahead(): Ahead {
    this.#ahead ??= new Ahead();
    return this.#ahead;
  }

  /** Undefined while no slot was given several tasks. */
  get knownChunks(): Chunks | undefined {
    return this.#chunks;
  }

  get chunks(): Chunks {
    this.#chunks ??= new Chunks();
    return this.#chunks;
  }

  /** It neither drains nor is quarantined. */
  get takesWork(): boolean {
    return !this.isDraining && !(this.#health?.isQuarantined ?? false);
  }

  /** A slot is free, nothing waits, and the worker takes work. */
  get wantsWork(): boolean {
    return this.queue.isEmpty && this.slots.idleCount > 0 && this.takesWork;
  }

  /** A task that was given to the worker, and need not wait for what waits here, can run here now. */
  canRun(demand: Resources): boolean {
    return this.slots.idleCount > 0 && this.slots.fits(demand) && this.takesWork;
  }

  /** The task arrived for a slot that will be free in a moment, and can run there. */
  mayKeep({ demand, apartMs, gang }: Pick<MessageOf<'run'>, 'demand' | 'apartMs' | 'gang'>): boolean {
    const isAlike = apartMs === undefined && gang === undefined;
    const isOpen = this.#ahead !== undefined && this.#ahead.open > 0 && isAlike;
    return isOpen && this.slots.idleCount === 0 && this.slots.fits(demand) && this.takesWork;
  }

  /** Nothing waits, runs, or is to be confirmed. */
  get isIdle(): boolean {
    return this.slots.busyCount === 0 && this.queue.isEmpty && this.reports.size === 0;
  }

  /** Something waits for an answer: the worker looks at it after a while. */
  armSweep(now: Millis): void {
    if (this.isSweepArmed || this.timings.retryMs === 0) return;
    this.isSweepArmed = true;
    this.env.setTimer('sweep', 0, now + this.timings.retryMs);
  }
}

/** Shared by parties without superseded incarnations. */
export const NOBODY_SUPERSEDED = new Set<Address>();
