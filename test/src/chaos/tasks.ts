import { KILL_OUTCOMES, type KillReason, type Millis, type Outcome, type OutcomeKind } from '@goshawk/core';
import type { TaskOrder } from '@goshawk/worker';
import { Draw } from '../drawing/draw.js';
import type { Calendar, Event } from '../stepped/calendar.js';
import { outcomeOf } from '../stepped/outcome.js';

/** The input of a chaos task's `module` payload. */
export interface TaskInput {
  /** Key of the order that the task belongs to. */
  readonly key: string;
  readonly ms: Millis;
  /** The probability that one run fails. */
  readonly fails: number;
  /** Number of lines of output. */
  readonly prints: number;
  /** Index of the task in its job, as its client counts; absent in older plans. */
  readonly at?: number | undefined;
  /** The task submits a job whose tasks submit jobs in turn, as often as this, and waits for it before it works; absent: none. */
  readonly nests?: number | undefined;
}

interface TaskEntries {
  taskStarted(slot: number): void;
  taskOutput(slot: number, stream: 'stdout' | 'stderr', bytes: Uint8Array): void;
  taskEnded(slot: number, outcome: Outcome, runMs: Millis): void;
}

/** One run of a task, as seen by the worker's operating system. */
export interface Execution {
  readonly worker: string;
  readonly jobId: string;
  readonly task: number;
  readonly attempt: number;
  /** Number of starts of the task, as counted by its owner. */
  readonly started: number;
  readonly value: string;
  /** Index that the client gave to the task in its payload. */
  readonly meant?: number | undefined;
  /** The attempt of the gang that this member belongs to. */
  readonly gang?: number | undefined;
  readonly user?: string | undefined;
  /** Time of the start by the true clock. */
  readonly startedAt: Millis;
  endedAt?: Millis;
  isPreempted?: boolean;
  kind: OutcomeKind | 'running' | 'gone';
}

interface Run {
  readonly execution: Execution;
  readonly startedAt: Millis;
  end: Event;
  outcome: Outcome;
  isKilled: boolean;
  /** When it was paused; undefined: it runs. */
  pausedAt: Millis | undefined;
  pausedMs: Millis;
  /** It waits for a job that it has submitted. */
  isWaiting: boolean;
}

/** How often a task looks whether the job that it has submitted is over. */
const LOOK_MS = 40;

const KILL_MS = 5;

/** The tasks of one worker. They continue while its process is suspended, and end when it dies. */
export class Tasks {
  readonly #calendar: Calendar;
  readonly #seed: string;
  readonly #entries: TaskEntries;
  readonly #runs = new Map<number, Run>();

  constructor(calendar: Calendar, seed: string, entries: TaskEntries) {
    this.#calendar = calendar;
    this.#seed = seed;
    this.#entries = entries;
  }

  get count(): number {
    return this.#runs.size;
  }

  /** Number of tasks that use CPUs; those that wait for their own jobs do not. A killed task is about to end. */
  get runningCount(): number {
    return [...this.#runs.values()].filter(({ pausedAt, isWaiting }) => pausedAt === undefined && !isWaiting)
      .length;
  }

  /** Tasks that are paused, and so must have a borrower. */
  get pausedCount(): number {
    return [...this.#runs.values()].filter(({ pausedAt }) => pausedAt !== undefined).length;
  }

  /** The runs in progress. */
  get executions(): Execution[] {
    return [...this.#runs.values()].map(({ execution }) => execution);
  }

  /** @param isChildOver whether the job that the task has submitted is over; undefined: it submits none */
  start(slot: number, order: TaskOrder, execution: Execution, isChildOver?: () => boolean): void {
    const { ms, fails, prints } = (order.payload as { input: TaskInput }).input;
    const draw = new Draw(`${this.#seed}/${order.jobId}/${order.task}/${order.attempt}`);
    const outcome: Outcome = draw.chance(fails)
      ? outcomeOf('failed')
      : { ...outcomeOf('completed'), value: execution.value };
    const now = this.#calendar.now;
    const run: Run = {
      execution,
      startedAt: now,
      outcome,
      isKilled: false,
      pausedAt: undefined,
      pausedMs: 0,
      isWaiting: isChildOver !== undefined,
      end: this.#endAt(slot, now + ms),
    };
    this.#runs.set(slot, run);
    if (isChildOver !== undefined) {
      run.end.isOff = true;
      this.#await(slot, run, ms, isChildOver);
    }
    this.#calendar.put(now, () => {
      if (this.#runs.get(slot) === run) this.#entries.taskStarted(slot);
    });
    for (let line = 1; line <= prints; line++) {
      this.#calendar.put(now + (ms * line) / (prints + 1), () => {
        if (this.#runs.get(slot) !== run) return;
        this.#entries.taskOutput(
          slot,
          'stdout',
          new TextEncoder().encode(`${execution.value} line ${line}\n`),
        );
      });
    }
  }

  /** The task works for `ms` once its job is over. */
  #await(slot: number, run: Run, ms: Millis, isOver: () => boolean): void {
    this.#calendar.put(this.#calendar.now + LOOK_MS, () => {
      if (this.#runs.get(slot) !== run || run.isKilled) return;
      // A paused process does not look.
      if (run.pausedAt !== undefined || !isOver()) return this.#await(slot, run, ms, isOver);
      run.isWaiting = false;
      run.end = this.#endAt(slot, this.#calendar.now + ms);
    });
  }

  pause(slot: number): void {
    const run = this.#runs.get(slot);
    if (run === undefined || run.pausedAt !== undefined) return;
    run.pausedAt = this.#calendar.now;
    // A task that is being killed ends in any case.
    if (!run.isKilled) run.end.isOff = true;
  }

  resume(slot: number): void {
    const run = this.#runs.get(slot);
    if (run?.pausedAt === undefined) return;
    const { at } = run.end;
    const pausedMs = this.#endPause(run);
    if (!run.isKilled && !run.isWaiting) run.end = this.#endAt(slot, at + pausedMs);
  }

  #endPause(run: Run): Millis {
    if (run.pausedAt === undefined) return 0;
    const pausedMs = this.#calendar.now - run.pausedAt;
    run.pausedMs += pausedMs;
    run.pausedAt = undefined;
    return pausedMs;
  }

  /** The first reason counts. A task that ends before the kill reaches it has ended normally. */
  kill(slot: number, reason: KillReason): void {
    const run = this.#runs.get(slot);
    if (run === undefined || run.isKilled) return;
    const endsAt = this.#calendar.now + KILL_MS;
    if (!run.end.isOff && run.end.at < endsAt) return;
    this.#endPause(run);
    run.isKilled = true;
    run.end.isOff = true;
    run.outcome = KILL_OUTCOMES[reason];
    run.end = this.#endAt(slot, endsAt);
  }

  /** The process has died; its tasks die with it. */
  forget(): void {
    for (const { end, execution } of this.#runs.values()) {
      end.isOff = true;
      execution.kind = 'gone';
    }
    this.#runs.clear();
  }

  #endAt(slot: number, at: Millis): Event {
    return this.#calendar.put(at, () => {
      const { outcome, startedAt, execution, pausedMs } = this.#runs.get(slot)!;
      this.#runs.delete(slot);
      execution.kind = outcome.kind;
      execution.endedAt = this.#calendar.now;
      execution.isPreempted = outcome === KILL_OUTCOMES.preempted;
      this.#entries.taskEnded(slot, outcome, this.#calendar.now - startedAt - pausedMs);
    });
  }
}
