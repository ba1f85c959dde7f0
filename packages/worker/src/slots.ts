import {
  type Address,
  type AttemptNumber,
  addTo,
  amountOf,
  cpusOf,
  fits,
  GPU,
  GPU_PARTS,
  type Gpus,
  invariant,
  type JobNumber,
  type MessageOf,
  type Millis,
  NO_RESOURCES,
  type Resources,
  type StageIndex,
  sumOf,
  type TaskOfJob,
  taken,
} from '@goshawk/core';
import { type Entry, isPlaced, type TaskRef } from './entry.js';
import type { Lending, Loan, WorkerMemory } from './memory.js';
import { OutputBuffer } from './output-buffer.js';
import type { Series } from './series.js';

/** States of a slot: idle, asking an owner for a task, running a task, or with a paused task. `NEVER` marks an invalid transition. */
const IDLE = 0;
const ASKING = 1;
const RUNNING = 2;
const PAUSED = 3;
const NEVER = 4;
const NAMES = ['idle', 'asking', 'running', 'paused'];

/**
 * The transitions of a slot: the next state for each of idle, asking, running and paused. From `ask` to `release` the
 * slot reserves the demand of its entry; while its task is paused, all but the CPUs.
 */
// biome-ignore format: a table
const LIFE = {
  ask:       [ASKING, NEVER,   NEVER,   NEVER],
  repeatAsk: [NEVER,  ASKING,  NEVER,   NEVER],
  run:       [NEVER,  RUNNING, NEVER,   NEVER],
  started:   [NEVER,  NEVER,   RUNNING, PAUSED],
  markLong:  [NEVER,  NEVER,   RUNNING, PAUSED],
  pause:     [NEVER,  NEVER,   PAUSED,  NEVER],
  resume:    [NEVER,  NEVER,   NEVER,   RUNNING],
  release:   [NEVER,  IDLE,    IDLE,    NEVER],
};

/** CPUs are counted in whole millionths, so that sums of fractions are exact. */
const CPU_PARTS = 1_000_000;

/**
 * The slots of one worker, by index, and its free resources. Slots are rows of the shared table: one per CPU, and more
 * if tasks may share CPUs.
 */
export class Slots {
  readonly #memory: WorkerMemory;
  #row = -1;
  #first = 0;
  count = 0;

  /** @param row of the worker */
  constructor(memory: WorkerMemory, row?: number) {
    this.#memory = memory;
    if (row !== undefined) this.at(row);
  }

  /** Moves this view to the slots of a worker. @param row of the worker */
  at(row: number): this {
    if (row === this.#row) return this;
    const { firstSlots, workers } = this.#memory;
    this.#row = row;
    this.#first = firstSlots[row]!;
    this.count = workers.places[row]!;
    return this;
  }

  // ---- transitions of a slot

  /** Starts to serve an entry in the first idle slot. @returns its index */
  ask(entry: Entry, ask: number, now: Millis, series?: Series): number {
    const { slots, entries } = this.#memory;
    const end = this.#end;
    let row = this.#first;
    while (row < end && slots.state[row] !== IDLE) row++;
    invariant(row < end, 'asked without an idle slot');
    this.#step(LIFE.ask, row);
    slots.ask[row] = ask;
    slots.tries[row] = 1;
    slots.changedAt[row] = now;
    entries[row] = entry;
    slots.match[row] = series?.match ?? 0;
    if (series !== undefined) this.#memory.series.set(row, series);
    this.#occupy(row, entry.demand);
    if (entry.long) this.#setLong(row, true);
    return row - this.#first;
  }

  /** Records a retry of the slot's question. */
  repeatAsk(index: number, now: Millis): void {
    const row = this.rowOf(index);
    this.#step(LIFE.repeatAsk, row);
    this.#memory.slots.tries[row]!++;
    this.#memory.slots.changedAt[row] = now;
  }

  /** Runs the task with which the owner answered the slot's question. */
  run(index: number, owner: Address, message: MessageOf<'run'>, now: Millis): void {
    const { slots, timeouts, executions, series } = this.#memory;
    const row = this.rowOf(index);
    this.#step(LIFE.run, row);
    this.#setLong(row, message.long);
    slots.owner[row] = owner;
    this.#memory.jobIds[row] = message.jobId;
    slots.job[row] = message.job;
    slots.task[row] = message.task;
    slots.attempt[row] = message.attempt;
    // Later tasks of a series have no match, so the slot keeps the match of the first.
    if (message.match > 0) slots.match[row] = message.match;
    if (message.timeoutMs !== undefined) timeouts.set(row, message.timeoutMs);
    if (message.execution !== undefined) executions.set(row, message.execution);
    slots.changedAt[row] = now;
    slots.since[row] = now;
    if (series.size > 0) {
      slots.since[row] = series.get(row)?.since ?? now;
      series.delete(row);
    }
  }

  /** Records the start of the task. @returns its time limit in ms from now; undefined if it has none */
  started(index: number, now: Millis): Millis | undefined {
    const row = this.rowOf(index);
    this.#step(LIFE.started, row);
    this.#memory.slots.changedAt[row] = now;
    const lending = this.lendingOf(index);
    // It was paused before it had started.
    if (lending !== undefined) Object.assign(lending, { pausedMs: 0, pausedAt: now });
    return this.timeoutOf(index);
  }

  /** Reclassifies the task as long. @returns whether its class has changed */
  markLong(index: number): boolean {
    const row = this.rowOf(index);
    this.#step(LIFE.markLong, row);
    return this.#setLong(row, true);
  }

  release(index: number): void {
    const { slots, entries, timeouts, executions, outputs, series } = this.#memory;
    const row = this.rowOf(index);
    this.#step(LIFE.release, row);
    const { demand } = entries[row]!;
    this.#vacate(row, demand);
    this.#setLong(row, false);
    slots.orphaned[row] = 0;
    slots.killedAt[row] = 0;
    entries[row] = undefined;
    if (timeouts.size > 0) timeouts.delete(row);
    if (executions.size > 0) executions.delete(row);
    if (outputs.size > 0) this.takeOutput(index)?.free();
    if (series.size > 0) series.delete(row);
    if (this.#memory.lending.size > 0) this.#memory.lending.delete(row);
    if (this.#memory.loans.size > 0) this.#memory.loans.delete(row);
  }

  // ---- loans

  /** Number of tasks that lend their CPUs; those of children are not stopped. */
  get pausedCount(): number {
    return this.#memory.workers.paused[this.#row]!;
  }

  /** Whether there is a slot for a borrower: one that is idle, or a spare one. */
  get hasSlotForBorrower(): boolean {
    const { firstSlots, slots } = this.#memory;
    return slots.state.subarray(this.#first, firstSlots[this.#row + 1]!).includes(IDLE);
  }

  /** Number of tasks that are stopped, because others use their CPUs. */
  get stoppedCount(): number {
    let count = 0;
    if (this.pausedCount > 0) for (const index of this.running()) if (this.isStopped(index)) count++;
    return count;
  }

  /** Whether the task in the slot lends its CPUs. */
  isPaused(index: number): boolean {
    return this.#memory.slots.state[this.rowOf(index)] === PAUSED;
  }

  /** Whether the task in the slot is stopped, because another uses its CPUs. */
  isStopped(index: number): boolean {
    return this.isPaused(index) && !this.lendingOf(index)!.lent!.shares;
  }

  /** Whether a task with this demand fits on the CPUs of the tasks in these slots, also while the worker owes some. */
  fitsBeside(lenders: readonly number[], demand: Resources): boolean {
    const free = { ...this.#memory.free[this.#row]! };
    const lent = sumOf(lenders, (index) => cpusOf(this.entryAt(index)!.demand));
    if (free.cpu !== undefined) free.cpu = Math.max(0, free.cpu) + Math.min(cpusOf(demand), lent);
    return fits(demand, free);
  }

  /** Whether the task in the slot uses CPUs of others. */
  isBorrowing(index: number): boolean {
    return this.#memory.loans.has(this.rowOf(index));
  }

  /**
   * Pauses tasks, which lend their CPUs for a demand: the first lender its place, and all together at most these CPUs.
   *
   * @param to the borrower
   * @param shares whether the lender continues, because the borrower is its child
   */
  pause(lenders: readonly number[], demand: Resources, to: TaskOfJob, shares: boolean, now: Millis): void {
    const { lending, entries, workers } = this.#memory;
    workers.usesSpare[this.#row] = 1;
    let missing = cpusOf(demand);
    lenders.forEach((index, at) => {
      const row = this.rowOf(index);
      this.#step(LIFE.pause, row);
      const cpu = Math.min(missing, cpusOf(entries[row]!.demand));
      missing -= cpu;
      const known = lending.get(row);
      const lent = { cpu, place: at === 0, to, shares };
      lending.set(row, { pausedMs: known?.pausedMs ?? 0, pausedAt: now, lent });
      workers.paused[this.#row]!++;
      if (this.#memory.slots.long[row] === 1) workers.long[this.#row]!--;
      this.#shift(cpu, at === 0, -1);
    });
  }

  /**
   * The task in the slot uses its CPUs again, even if its borrower still uses them.
   *
   * @returns the CPU time (ms) that it has lent
   */
  resume(index: number, now: Millis): Millis {
    const row = this.rowOf(index);
    this.#step(LIFE.resume, row);
    const lending = this.#memory.lending.get(row)!;
    const { cpu, place, shares } = lending.lent!;
    const pausedMs = shares ? 0 : Math.max(0, now - lending.pausedAt);
    lending.pausedMs += pausedMs;
    lending.lent = undefined;
    const { workers, slots } = this.#memory;
    workers.paused[this.#row]!--;
    if (slots.long[row] === 1) workers.long[this.#row]!++;
    this.#shift(cpu, place, 1);
    return cpu * pausedMs;
  }

  /** Records that the task in the slot borrows from these slots. */
  borrow(index: number, lenders: readonly number[], shares: boolean): void {
    const from = lenders.map((lender) => this.nameAt(lender));
    this.#memory.loans.set(this.rowOf(index), { lenders, from, shares });
  }

  loanOf(index: number): Loan | undefined {
    const { loans } = this.#memory;
    return loans.size === 0 ? undefined : loans.get(this.rowOf(index));
  }

  /** Matches of the paused tasks. */
  get pausedMatches(): number[] {
    const matches: number[] = [];
    for (const index of this.running())
      if (this.isPaused(index)) matches.push(this.#memory.slots.match[this.rowOf(index)]!);
    return matches;
  }

  /** The slot whose task uses the CPUs of the paused task; −1: none. */
  borrowerOf(index: number): number {
    const { loans } = this.#memory;
    return this.#find(RUNNING, (row) => loans.get(row)?.lenders.includes(index) === true);
  }

  /** The loan of the task in the slot; undefined: none. */
  lendingOf(index: number): Lending | undefined {
    const { lending } = this.#memory;
    return lending.size === 0 ? undefined : lending.get(this.rowOf(index));
  }

  /** For how long the task in the slot was paused until now. */
  pausedMs(index: number, now: Millis): Millis {
    const lending = this.lendingOf(index);
    if (lending === undefined) return 0;
    const isStopped = lending.lent !== undefined && !lending.lent.shares;
    return lending.pausedMs + (isStopped ? Math.max(0, now - lending.pausedAt) : 0);
  }

  /** How long the task in the slot has run since its start, without pauses. */
  elapsedMs(index: number, now: Millis): Millis {
    return now - this.#memory.slots.changedAt[this.rowOf(index)]! - this.pausedMs(index, now);
  }

  /** The task in the slot, as people refer to it. */
  nameAt(index: number): TaskOfJob {
    const row = this.rowOf(index);
    return { job: this.#memory.jobIds[row]!, task: this.#memory.slots.task[row]! };
  }

  /** The match of the task in the slot, or of the first one of its series; 0: central does not know it. */
  matchAt(index: number): number {
    return this.#memory.slots.match[this.rowOf(index)]!;
  }

  /** The slot with the task of this match; −1: none. */
  indexOfMatch(match: number): number {
    const { slots } = this.#memory;
    return this.#find(RUNNING, (row) => slots.match[row] === match);
  }

  /** Adds CPUs and a place to those in use, or removes them. */
  #shift(cpu: number, place: boolean, sign: 1 | -1): void {
    const free = this.#memory.free[this.#row]!;
    if (free.cpu !== undefined) addTo(free, { cpu }, sign === 1 ? -1 : 1);
    const { workers } = this.#memory;
    if (place) workers.busy[this.#row]! += sign;
    workers.load[this.#row]! += sign * Math.round(Math.min(1, cpu) * CPU_PARTS);
    this.#recount();
  }

  /** Sets whether tasks that need less than one CPU share CPUs. The policy decides. */
  share(isOn: boolean): void {
    const { cpus, shares } = this.#memory.workers;
    shares[this.#row] = isOn && this.count > cpus[this.#row]! ? 1 : 0;
    this.#recount();
  }

  /** Number of whole CPUs. */
  get cpus(): number {
    return this.#memory.workers.cpus[this.#row]!;
  }

  get isSharing(): boolean {
    return this.#memory.workers.shares[this.#row] === 1;
  }

  #occupy(row: number, demand: Resources): void {
    const free = this.#memory.free[this.#row]!;
    const needed = taken(demand, free);
    addTo(free, needed, -1);
    this.#count(needed, 1);
    const gpus = this.#gpus;
    const amount = gpus === undefined ? 0 : Math.round(amountOf(demand, GPU) * GPU_PARTS);
    if (gpus === undefined || amount === 0) return;
    invariant(gpus.take(row, amount), () => `no GPUs for ${demand[GPU]}: ${gpus.room / GPU_PARTS} are left`);
    free[GPU] = gpus.room / GPU_PARTS;
  }

  #vacate(row: number, demand: Resources): void {
    const free = this.#memory.free[this.#row]!;
    const needed = taken(demand, free);
    addTo(free, needed, 1);
    this.#count(needed, -1);
    const gpus = this.#gpus;
    if (gpus?.release(row) === true) free[GPU] = gpus.room / GPU_PARTS;
  }

  #count(demand: Resources, sign: 1 | -1): void {
    const { workers } = this.#memory;
    workers.busy[this.#row]! += sign;
    workers.load[this.#row]! += sign * Math.round(Math.min(1, demand.cpu ?? 0) * CPU_PARTS);
    this.#recount();
  }

  #recount(): void {
    const { idle, cpus, load } = this.#memory.workers;
    const row = this.#row;
    const open = this.openCount;
    const cpuCount = Math.max(cpus[row]!, this.#memory.capacities[row]!.cpu ?? 0);
    const free = Math.max(0, Math.ceil(cpuCount - load[row]! / CPU_PARTS));
    idle[row] = this.isSharing ? Math.min(open, free) : open;
  }

  #step(step: readonly number[], row: number): void {
    const { state } = this.#memory.slots;
    const before = state[row]!;
    const after = step[before]!;
    invariant(after !== NEVER, () => `slot ${row - this.#first} was ${NAMES[before]}: ${nameOf(step)}`);
    state[row] = after;
  }

  /** @returns whether the class has changed */
  #setLong(row: number, long: boolean): boolean {
    const { slots, workers } = this.#memory;
    if ((slots.long[row] === 1) === long) return false;
    slots.long[row] = long ? 1 : 0;
    // A paused task counts again once it continues.
    if (slots.state[row] !== PAUSED) workers.long[this.#row]! += long ? 1 : -1;
    return true;
  }

  // ---- state of one slot

  /** Row of a slot in `WorkerMemory.slots`, which is also its key in other maps. */
  rowOf(index: number): number {
    return this.#first + index;
  }

  /** Whether the slot has a task, paused or not. */
  isRunning(index: number): boolean {
    return this.#memory.slots.state[this.rowOf(index)]! >= RUNNING;
  }

  /** Returns the task in the slot, as its owner identifies it. */
  taskAt(index: number): TaskRef & { readonly owner: Address } {
    const { owner, job, task, attempt } = this.#memory.slots;
    const row = this.rowOf(index);
    return { owner: owner[row] as Address, job: job[row]!, task: task[row]!, attempt: attempt[row]! };
  }

  /** Returns the entry that the slot asks for or runs. */
  entryAt(index: number): Entry | undefined {
    return this.#memory.entries[this.rowOf(index)];
  }

  /** The attempt number that the task sees; undefined: its attempt. */
  executionAt(index: number): AttemptNumber | undefined {
    const { executions } = this.#memory;
    return executions.size === 0 ? undefined : executions.get(this.rowOf(index));
  }

  /** Returns the time limit of the task in ms. */
  timeoutOf(index: number): Millis | undefined {
    const { timeouts } = this.#memory;
    return timeouts.size === 0 ? undefined : timeouts.get(this.rowOf(index));
  }

  /** Indices of the GPUs assigned to the task; undefined: the worker has no GPUs. */
  gpusOf(index: number): readonly number[] | undefined {
    return this.#gpus?.heldBy(this.rowOf(index));
  }

  /** Returns whether the task has reached its time limit. */
  isOverdue(index: number, now: Millis): boolean {
    const timeoutMs = this.timeoutOf(index);
    if (timeoutMs === undefined || !this.isRunning(index) || this.isStopped(index)) return false;
    return this.elapsedMs(index, now) >= timeoutMs;
  }

  /** Returns the buffer for the task's output, if it has printed anything. */
  printedBy(index: number): OutputBuffer | undefined {
    const { outputs } = this.#memory;
    return outputs.size === 0 ? undefined : outputs.get(this.rowOf(index));
  }

  /** Returns the buffer for the task's output, and creates it if needed. */
  outputOf(index: number): OutputBuffer {
    const { outputs, keptOutput } = this.#memory;
    const row = this.rowOf(index);
    const output = outputs.get(row) ?? new OutputBuffer(keptOutput);
    outputs.set(row, output);
    return output;
  }

  /** Returns the buffer for the task's output, if any, which then no longer belongs to the slot. */
  takeOutput(index: number): OutputBuffer | undefined {
    const { outputs } = this.#memory;
    const row = this.rowOf(index);
    const output = outputs.get(row);
    outputs.delete(row);
    return output;
  }

  // ---- state of all slots

  /** Number of CPUs that are at least partly free; without sharing, the number of free slots. */
  get idleCount(): number {
    return this.#memory.workers.idle[this.#row]!;
  }

  /** Number of additional tasks that the worker may accept, if their demands fit. */
  get openCount(): number {
    return Math.max(0, this.#most - this.busyCount);
  }

  /** Whether tasks share CPUs because a loan has ended before its borrower. */
  get owesCpus(): boolean {
    const { loans, free } = this.#memory;
    return loans.size > 0 && (this.busyCount > this.#most || (free[this.#row]!.cpu ?? 0) < 0);
  }

  /** Number of tasks that may use CPUs at the same time. */
  get #most(): number {
    const { cpus, shares } = this.#memory.workers;
    return shares[this.#row] === 1 ? this.count : cpus[this.#row]!;
  }

  get busyCount(): number {
    return this.#memory.workers.busy[this.#row]!;
  }

  /** Number of slots that serve long work. */
  get longCount(): number {
    return this.#memory.workers.long[this.#row]!;
  }

  /** Free resources besides slots; for GPUs, the most that one task can get (`Gpus.room`). */
  get spare(): Resources {
    if (this.#memory.capacities[this.#row]! === NO_RESOURCES) return NO_RESOURCES;
    const free = { ...this.#memory.free[this.#row]! };
    // A worker that owes CPUs has less than none free.
    if (free.cpu !== undefined && free.cpu < 0) free.cpu = 0;
    return free;
  }

  /** Free amounts of partly used GPUs, because `spare` shows only one amount. */
  get gpuParts(): readonly number[] | undefined {
    const parts = this.#gpus?.parts;
    return parts === undefined || parts.length === 0 ? undefined : parts.map((part) => part / GPU_PARTS);
  }

  /** GPUs that tasks hold, by match; undefined if none do. */
  get gpuShares(): NonNullable<MessageOf<'pull'>['gpus']> | undefined {
    const gpus = this.#gpus;
    if (gpus === undefined) return undefined;
    const shares = [...gpus.held].flatMap(([row, held]) =>
      held.map(({ index, amount }) => ({
        match: this.#memory.slots.match[row]!,
        gpu: index,
        amount: amount / GPU_PARTS,
      })),
    );
    return shares.length === 0 ? undefined : shares;
  }

  fits(demand: Resources): boolean {
    return fits(demand, this.#memory.free[this.#row]!);
  }

  /** Returns the indices of the slots that have a task, paused or not. Reflects changes during the iteration. */
  running(): Iterable<number> {
    return this.#indexes(RUNNING);
  }

  /** Returns the indices of the asking slots. */
  asking(): Iterable<number> {
    return this.#indexes(ASKING);
  }

  /**
   * Returns the matches of the slots that run a task or ask for the next one of a series.
   *
   * @param isExcluded slots to exclude; default: none
   */
  matchesExcept(isExcluded: (index: number) => boolean = () => false): number[] {
    const { match, state } = this.#memory.slots;
    const matches: number[] = [];
    for (let index = 0; index < this.#end - this.#first; index++) {
      const row = this.rowOf(index);
      const each = state[row] === IDLE ? 0 : match[row]!;
      if (each > 0 && !isExcluded(index)) matches.push(each);
    }
    return matches;
  }

  /** Returns the indices of the slots whose task neither central matched nor it placed here. */
  *unmatched(): Iterable<number> {
    if (this.busyCount === 0 && this.pausedCount === 0) return;
    for (const index of this.running()) {
      const row = this.rowOf(index);
      if (this.#memory.slots.match[row] === 0 && this.#memory.entries[row]!.placed === undefined) yield index;
    }
  }

  /** Sets the match of the task. */
  setMatch(index: number, match: number): void {
    this.#memory.slots.match[this.rowOf(index)] = match;
  }

  get runningCount(): number {
    const { state } = this.#memory.slots;
    let count = 0;
    for (let row = this.#first, end = this.#end; row < end; row++) if (state[row]! >= RUNNING) count++;
    return count;
  }

  get isAsking(): boolean {
    return this.#find(ASKING, () => true) >= 0;
  }

  indexOfAsk(ask: number): number {
    const { slots } = this.#memory;
    return this.#find(ASKING, (row) => slots.ask[row] === ask);
  }

  /** Returns the question that the task in the slot answered; 0 if there was none. */
  askOf(index: number): number {
    return this.#memory.slots.ask[this.rowOf(index)]!;
  }

  /** Returns the slot that runs the task that answered this question; −1 if there is none. */
  indexOfAnswered(owner: Address, ask: number): number {
    const { slots } = this.#memory;
    return this.#find(RUNNING, (row) => slots.ask[row] === ask && slots.owner[row] === owner);
  }

  /** Returns the slot that asks for a task of the stage because of a probe; −1 if there is none. */
  indexOfProbe(owner: Address, job: JobNumber, stage: StageIndex): number {
    const { entries, series } = this.#memory;
    return this.#find(ASKING, (row) => {
      const entry = entries[row]!;
      const isProbe = entry.placed === undefined && !series.has(row);
      return isProbe && entry.owner === owner && entry.job === job && entry.stage === stage;
    });
  }

  indexOfTask(owner: Address, { job, task, attempt }: TaskRef): number {
    const { slots } = this.#memory;
    return this.#find(
      RUNNING,
      (row) =>
        slots.task[row] === task &&
        slots.job[row] === job &&
        slots.attempt[row] === attempt &&
        slots.owner[row] === owner,
    );
  }

  /** Returns whether a slot runs the task, or asks for it because central placed it here. */
  serves(owner: Address, task: TaskRef): boolean {
    if (this.indexOfTask(owner, task) >= 0) return true;
    const { entries } = this.#memory;
    return this.#find(ASKING, (row) => isPlaced(entries[row]!, owner, task)) >= 0;
  }

  /**
   * Returns whether queued tasks wait behind long work: at least one slot is busy, and all busy slots serve long
   * tasks. For one slot, this is "executes a long task" (Hawk §3.6). With several, a slot with a short task will soon
   * be free.
   * @param startedBefore a task that started before this time counts as long, regardless of its class
   */
  executesLong(startedBefore: Millis): boolean {
    if (this.longCount > 0 && this.longCount === this.busyCount) return true;
    if (startedBefore === Number.NEGATIVE_INFINITY || this.busyCount === 0) return false;
    const { slots } = this.#memory;
    const isShort = (row: number): boolean => slots.long[row] === 0;
    if (this.#find(ASKING, isShort) >= 0) return false;
    return this.#find(RUNNING, (row) => isShort(row) && slots.changedAt[row]! > startedBefore) < 0;
  }

  checkInvariants(): void {
    const { slots, entries } = this.#memory;
    const used: Record<string, number> = {};
    let long = 0;
    const occupied = [...this.asking(), ...this.running()];
    let busy = 0;
    let paused = 0;
    let owed = 0;
    for (const index of occupied) {
      const row = this.rowOf(index);
      const { lent } = this.#memory.lending.get(row) ?? {};
      invariant(
        (lent !== undefined) === this.isPaused(index),
        () => `slot ${index} lends, or not, but is ${NAMES[slots.state[row]!]}`,
      );
      const demand = taken(entries[row]!.demand, this.#memory.capacities[this.#row]!);
      addTo(used, demand, 1);
      if (lent?.place !== true) busy++;
      if (lent === undefined) long += slots.long[row]!;
      else {
        paused++;
        if (demand.cpu !== undefined) addTo(used, { cpu: lent.cpu }, -1);
        invariant(this.borrowerOf(index) >= 0, () => `slot ${index} is paused for no other`);
      }
      // A borrower whose lenders continue uses more CPUs than there are.
      if (this.loanOf(index)?.lenders.length === 0) owed += demand.cpu ?? 0;
    }
    invariant(busy === this.busyCount, () => `${busy} slots are busy, counted ${this.busyCount}`);
    invariant(paused === this.pausedCount, () => `${paused} slots are paused, counted ${this.pausedCount}`);
    invariant(long === this.longCount, () => `${long} slots serve long work, counted ${this.longCount}`);
    for (const [name, capacity] of Object.entries(this.#memory.capacities[this.#row]!)) {
      // `Gpus` accounts for GPUs: the free amount is what one more task can get.
      if (name === GPU && this.#gpus !== undefined) continue;
      const free = this.#memory.free[this.#row]![name]!;
      const inUse = used[name] ?? 0;
      invariant(
        Math.abs(free + inUse - capacity) <= 1e-6 * Math.max(1, capacity) &&
          inUse <= (capacity + (name === 'cpu' ? owed : 0)) * (1 + 1e-9),
        () => `${name}: ${free} free + ${inUse} used is not ${capacity}`,
      );
    }
  }

  get #gpus(): Gpus<number> | undefined {
    const { gpus } = this.#memory;
    return gpus.size === 0 ? undefined : gpus.get(this.#row);
  }

  /** @returns the index of the first slot in the state whose row matches; −1: none */
  #find(state: number, matches: (row: number) => boolean): number {
    const { slots } = this.#memory;
    const first = this.#first;
    for (let row = first, end = this.#end; row < end; row++)
      if (isIn(slots.state[row]!, state) && matches(row)) return row - first;
    return -1;
  }

  *#indexes(state: number): Iterable<number> {
    for (let index = 0; index < this.#end - this.#first; index++)
      if (isIn(this.#memory.slots.state[this.rowOf(index)]!, state)) yield index;
  }

  /** The end of its rows. Spare ones are in use once a task has paused. */
  get #end(): number {
    return this.#memory.workers.usesSpare[this.#row] === 0
      ? this.#first + this.count
      : this.#memory.firstSlots[this.#row + 1]!;
  }
}

/** Whether the state of a slot counts as this one: a paused task counts as running. */
function isIn(state: number, wanted: number): boolean {
  return state === wanted || (wanted === RUNNING && state === PAUSED);
}

function nameOf(step: readonly number[]): string {
  return Object.entries(LIFE).find(([, each]) => each === step)![0];
}
