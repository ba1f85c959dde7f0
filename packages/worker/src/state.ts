import {
  type Address,
  LIVE_TIMINGS,
  type MessageOf,
  type Millis,
  NO_RESOURCES,
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

/**
 * Views of the rows of one worker at a time. All workers with the same memory share them: views of thousands of workers
 * would not fit a CPU cache, and new ones would be most of the garbage of a step.
 */
interface Views {
  readonly slots: Slots;
  readonly queue: WorkerQueue;
}

const VIEWS = new WeakMap<WorkerMemory, Views>();

function viewsOf(memory: WorkerMemory): Views {
  const known = VIEWS.get(memory);
  if (known !== undefined) return known;
  const views = { slots: new Slots(memory), queue: new WorkerQueue(memory) };
  VIEWS.set(memory, views);
  return views;
}

/** State of a worker, shared by all of its flows. */
export class WorkerState {
  // Frequently read fields come first, to use few cache lines.
  readonly memory: WorkerMemory;
  /** Row of this worker in the tables of the memory. */
  readonly row: number;
  readonly #views: Views;
  readonly env: WorkerEnvironment;
  isDraining = false;
  /** When running tasks are killed; undefined unless the worker drains with a deadline. */
  drainDeadline: Millis | undefined;
  /** Created at the first failed task. */
  #health: StartHealth | undefined;
  /** Created when the end of a task is predicted for the first time. */
  #ahead: Ahead | undefined;
  /** Created when several tasks arrive for one slot for the first time. */
  #chunks: Chunks | undefined;
  /** Number of questions so far, which also numbers the latest one. */
  asks = 0;
  tasksEnded = 0;
  isSweepArmed = false;
  /** Before the welcome the network is assumed to be lossy. */
  timings: Timings = LIVE_TIMINGS;
  /** Maximum duration in ms of a series of tiny tasks; 0: no series. */
  seriesMs: Millis = 0;
  /** Owners whose jobs another owner has taken over. */
  superseded: Set<Address> = NONE_SUPERSEDED;
  readonly membership = new Membership();
  /** Reports of ended tasks, until their owners confirm them. */
  readonly reports = new Reports();

  readonly config: WorkerConfig;
  /** Whether shutdown was requested. */
  isStopping = false;
  hasReportedDrained = false;
  readonly counted: Pick<WorkerCounters, 'declined' | 'pauses' | 'lentCpuMs'> = {
    declined: 0,
    pauses: 0,
    lentCpuMs: 0,
  };

  /** @param memory of all workers in the process; default: a separate one */
  constructor(config: WorkerConfig, env: WorkerEnvironment, memory = new WorkerMemory()) {
    this.config = config;
    this.env = env;
    this.memory = memory;
    this.#views = viewsOf(memory);
    this.row = memory.admit(config.slots, config.capacity, config.places, config.lends ?? config.slots);
  }

  // Views of the worker's rows, valid until the next step of another worker.

  get queue(): WorkerQueue {
    return this.#views.queue.at(this.row);
  }

  get slots(): Slots {
    return this.#views.slots.at(this.row);
  }

  /** The central to tell about placed tasks, even before it has welcomed this worker. */
  get central(): Address {
    const { central, isCutOff } = this.membership;
    return central === NOBODY || isCutOff ? this.config.central : central;
  }

  /** undefined until there is a problem. */
  get existingHealth(): StartHealth | undefined {
    return this.#health;
  }

  get health(): StartHealth {
    this.#health ??= new StartHealth(this.env, this.membership, this.counted);
    return this.#health;
  }

  /** undefined until the end of a task is predicted. */
  get existingAhead(): Ahead | undefined {
    return this.#ahead;
  }

  get ahead(): Ahead {
    this.#ahead ??= new Ahead();
    return this.#ahead;
  }

  /** undefined until a slot receives several tasks. */
  get existingChunks(): Chunks | undefined {
    return this.#chunks;
  }

  get chunks(): Chunks {
    this.#chunks ??= new Chunks();
    return this.#chunks;
  }

  /** Whether the worker accepts tasks: it neither drains nor is in quarantine. */
  get takesWork(): boolean {
    return !this.isDraining && !(this.#health?.isQuarantined ?? false);
  }

  /** Whether the worker should look for work: it accepts tasks, has a free place, and its queue is empty. */
  get needsWork(): boolean {
    return this.queue.isEmpty && this.slots.openCount > 0 && this.takesWork;
  }

  /** Returns whether a task with this demand can run now, without queueing. */
  canRun(demand: Resources): boolean {
    return this.slots.openCount > 0 && this.slots.fits(demand) && this.takesWork;
  }

  /** Returns whether the worker may keep the task until an announced slot is free, and the task will fit there. */
  mayKeep({ demand, apartMs, gang }: Pick<MessageOf<'run'>, 'demand' | 'apartMs' | 'gang'>): boolean {
    const isAlike = apartMs === undefined && gang === undefined;
    const isOpen = this.#ahead !== undefined && this.#ahead.open > 0 && isAlike;
    if (!isOpen || this.slots.idleCount > 0 || !this.takesWork) return false;
    return this.slots.fits(demand) || (demand === NO_RESOURCES && this.#cpusAhead > 0);
  }

  /** Free resources, including the CPUs of announced slots, which will soon be free. */
  get spare(): Resources {
    const { spare } = this.slots;
    const ahead = spare.cpu === undefined ? 0 : this.#cpusAhead;
    return ahead === 0 ? spare : { ...spare, cpu: spare.cpu! + ahead };
  }

  get #cpusAhead(): number {
    return this.#ahead === undefined || this.#ahead.open <= 0 ? 0 : this.#ahead.cpusIn(this.slots);
  }

  /** Whether there are no queued entries, running tasks or unconfirmed reports. */
  get isIdle(): boolean {
    return this.slots.busyCount === 0 && this.queue.isEmpty && this.reports.size === 0;
  }

  /** Sets the timer that retries requests without an answer. */
  armSweep(now: Millis): void {
    if (this.isSweepArmed || this.timings.retryMs === 0) return;
    this.isSweepArmed = true;
    this.env.setTimer('sweep', 0, now + this.timings.retryMs);
  }
}

/** Shared by workers that know no superseded incarnations. */
export const NONE_SUPERSEDED = new Set<Address>();
