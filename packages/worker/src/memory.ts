import {
  type AttemptNumber,
  amountOf,
  GPU,
  GPU_PARTS,
  Gpus,
  LANES,
  LIMITS,
  LinkedLists,
  type MessageOf,
  type Millis,
  NO_RESOURCES,
  type Resources,
  type TaskOfJob,
  table,
} from '@goshawk/core';
import type { Entry } from './entry.js';
import { OutputBudget, type OutputBuffer } from './output-buffer.js';
import type { Series } from './series.js';
import { SharedProbes } from './shared-probes.js';

/** A gang member that has a slot and waits for the others. */
export interface WaitingMember {
  readonly message: MessageOf<'run'>;
  /** Its port; undefined while a free one is being found. */
  port: number | undefined;
  /** Time of the last ready message to the owner. */
  notifiedAt: Millis;
}

/** The loan of a task. */
export interface Lending {
  /** Time for which it was paused before `pausedAt`. */
  pausedMs: Millis;
  pausedAt: Millis;
  /** CPUs that it lends, and whether it also lends its place; undefined: none. */
  lent:
    | {
        readonly cpu: number;
        readonly place: boolean;
        readonly to: TaskOfJob;
        /** The borrower is its child: it continues beside it, although its CPUs count as lent. */
        readonly shares: boolean;
      }
    | undefined;
}

/** A loan of CPUs to the task of a slot. */
export interface Loan {
  /** Slots of the lenders that are still paused. */
  lenders: readonly number[];
  /** The lenders, as people refer to them. */
  readonly from: readonly TaskOfJob[];
  /** The only lender is the parent of the task, and not paused. */
  readonly shares: boolean;
}

/**
 * Frequently changing state of workers: tables with a row per worker and per slot, and lists of queued entries. The
 * workers of a process can share one, which keeps it compact in memory.
 */
export class WorkerMemory {
  readonly workers = table({
    /** Number of CPUs: the maximum number of running tasks unless tasks share CPUs. */
    cpus: 'u32',
    /** Slots in which tasks run at the same time, besides those of paused tasks. */
    places: 'u32',
    /** CPUs that are at least partly free. */
    idle: 'u32',
    busy: 'u32',
    /** CPUs in use, at most one per task, in millionths. */
    load: 'f64',
    /** 1: tasks that need less than one CPU share CPUs. */
    shares: 'u8',
    /** Slots that serve long work. */
    long: 'u32',
    /** Slots with tasks that lend their CPUs, paused or beside their children. */
    paused: 'u32',
    /** 1: some task has paused, so that its spare slots are in use. */
    usesSpare: 'u8',
    /** Long entries in the normal lane. */
    longEntries: 'u32',
    /** Express entries served in a row while a normal entry waited. */
    expressRun: 'u8',
    /** Waiting time in ms after which smaller tasks no longer overtake an entry. */
    patienceMs: 'f64',
  });
  /** Capacity of each worker besides slots, and the free part. */
  readonly capacities: Resources[] = [];
  readonly free: Record<string, number>[] = [];
  /** GPUs by worker, for workers with GPUs. A GPU's holder is a row of `slots`. */
  readonly gpus = new Map<number, Gpus<number>>();

  readonly slots = table({
    state: 'u8',
    long: 'u8',
    /** 1 if the owner of the task is gone. The task was killed, and no confirmation is expected. */
    orphaned: 'u8',
    /** Time in ms when the task was asked to end, until the end of its grace period at most; 0: it was not. */
    killedAt: 'f64',
    /** The question of an asking slot, and how often it was sent. */
    ask: 'f64',
    tries: 'u32',
    /** Time in ms when the slot last asked, or when its task started. */
    changedAt: 'f64',
    /** Time in ms when the slot received its task, or the first task of its series. */
    since: 'f64',
    owner: 'i32',
    // Each restart of a scheduler skips job numbers, so they may exceed 32 bits.
    job: 'f64',
    task: 'u32',
    attempt: 'u32',
    /** The match of the task; 0: central was not involved. */
    match: 'f64',
  });
  /** The first slot of each worker; the last element is the end. */
  readonly firstSlots = [0];
  /** The entry that each slot asks for or runs. */
  readonly entries: (Entry | undefined)[] = [];
  /** Id of the job of each slot's task, as people see it. */
  readonly jobIds: string[] = [];
  /** Rarely used state, by row of the slot: time limits, attempt numbers that tasks see, task output, and series of asking slots. */
  readonly timeouts = new Map<number, Millis>();
  readonly executions = new Map<number, AttemptNumber>();
  readonly outputs = new Map<number, OutputBuffer>();
  /** Limit of all outputs, also of ended tasks. */
  readonly keptOutput = new OutputBudget(LIMITS.keptOutputBytesMax);
  readonly series = new Map<number, Series>();
  /** Loans of running tasks, present and past, by row of the slot; most have none. */
  readonly lending = new Map<number, Lending>();
  /** Loans of borrowing slots, by row. */
  readonly loans = new Map<number, Loan>();
  /** Gang members that wait for the others, by slot. */
  readonly members = new Map<number, WaitingMember>();

  /** Waiting entries: a list per worker and lane. */
  readonly waiting = new LinkedLists<Entry>();
  /** Keys of placed tasks, by worker. Only workers with long queues have them, to avoid a scan for each arrival. */
  readonly placedNames = new Map<number, Set<string>>();
  readonly probes = new SharedProbes();
  /** Statistics of steals by all workers. */
  readonly steals = { attempts: 0, successes: 0, probesMoved: 0 };

  /** Returns whether a worker's queue is empty: a fast path, because most victims have nothing to steal. */
  isQueueEmpty(row: number): boolean {
    const first = LANES.length * row;
    return this.waiting.isEmpty(first) && this.waiting.isEmpty(first + 1);
  }

  /**
   * @param places maximum number of tasks that share the CPUs of these slots
   * @param spare more slots, for the borrowers of paused tasks
   * @returns the row of the new worker
   */
  admit(slots: number, capacity: Resources, places = slots, spare = 0): number {
    const { workers } = this;
    const row = workers.add();
    const count = Math.max(slots, places);
    this.slots.add(count + spare);
    this.firstSlots.push(this.slots.size);
    workers.cpus[row] = slots;
    workers.places[row] = count;
    workers.idle[row] = slots;
    workers.patienceMs[row] = Number.POSITIVE_INFINITY;
    for (let slot = 0; slot < count + spare; slot++) this.entries.push(undefined);
    this.capacities.push(capacity);
    const gpus = Gpus.of<number>(Math.round(amountOf(capacity, GPU) * GPU_PARTS), GPU_PARTS);
    if (gpus !== undefined) this.gpus.set(row, gpus);
    this.free.push(capacity === NO_RESOURCES ? NO_RESOURCES : { ...capacity });
    this.waiting.add(LANES.length);
    return row;
  }
}
