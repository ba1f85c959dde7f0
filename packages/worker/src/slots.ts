import {
  type Address,
  addTo,
  fits,
  invariant,
  type MessageOf,
  type Millis,
  NO_RESOURCES,
  type Resources,
} from '@goshawk/core';
import { type Entry, isPlaced } from './entry.js';
import { OutputBuffer } from './output-buffer.js';
import {
  HAS_DEMAND,
  IS_ORPHANED,
  IS_PLACED,
  RUNS_LONG,
  type Series,
  SlotColumns,
  SlotKind,
  Told,
} from './slot-columns.js';

/** A slot that serves a probe or a placed task holds still until the owner has answered: one round trip. */
export interface Asking {
  readonly kind: 'asking';
  readonly ask: number;
  readonly entry: Entry;
  readonly sentAt: Millis;
  readonly tries: number;
  /** The series that the slot is in; undefined when it serves what has waited here. */
  readonly series: Series | undefined;
}

export interface Running {
  readonly kind: 'running';
  /** Another incarnation of it may take over. */
  readonly owner: Address;
  readonly job: number;
  readonly stage: number;
  readonly task: number;
  readonly attempt: number;
  /** Of the match that it came of; 0: central has no part in it. */
  readonly match: number;
  readonly long: boolean;
  readonly demand: Resources;
  /** When the slot was given to this task, or to the first of its series. */
  readonly since: Millis;
  /** Central placed it and wants to hear of its start and end. */
  readonly placedByCentral: boolean;
  readonly estimateMs: number;
  readonly timeoutMs: number | undefined;
  readonly startedAt: Millis;
  /** Its owner is gone: it was told to end, and nobody will confirm that. */
  readonly orphaned: boolean;
  /** Created with the first byte that the task prints. */
  readonly output: OutputBuffer | undefined;
}

/** What a slot does, as it was when it was looked at. */
export type Slot = { readonly kind: 'idle' } | Asking | Running;

const IDLE: Slot = { kind: 'idle' };

/**
 * The places where a worker runs tasks, and what is free beside them. Like its queue, one object is those of all workers of a
 * process in turn.
 */
export class Slots {
  readonly #columns: SlotColumns;
  /** Whose they are at present: the worker in the columns. */
  number = 0;
  /** Its places there. */
  #first = 0;
  #end = 0;

  /** @param columns of all slots in the process */
  constructor(columns: SlotColumns = new SlotColumns()) {
    this.#columns = columns;
  }

  /** Those of a new worker, which these are from now on. */
  add(count: number, capacity: Resources): this {
    return this.of(this.#columns.add(count, capacity));
  }

  /** Those of that worker, until others are asked for. */
  of(number: number): this {
    this.number = number;
    this.#first = this.#columns.firstOf(number);
    this.#end = this.#columns.firstOf(number + 1);
    return this;
  }

  /** Matches that what runs came of. */
  get matches(): number[] {
    const matches: number[] = [];
    const columns = this.#columns;
    for (let place = this.#first; place < this.#end; place++) {
      if (columns.kinds[place] !== SlotKind.running) continue;
      const match = columns.get(place, Told.match);
      if (match > 0) matches.push(match);
    }
    return matches;
  }

  get count(): number {
    return this.#end - this.#first;
  }

  get idleCount(): number {
    return this.#columns.idle[this.number]!;
  }

  get busyCount(): number {
    return this.count - this.idleCount;
  }

  /** Slots that serve long work. */
  get longCount(): number {
    return this.#columns.long[this.number]!;
  }

  /** Slots that serve short work, asking or running. */
  #shortCount(): number {
    return this.busyCount - this.longCount;
  }

  /** What is free beside the slots. */
  get spare(): Resources {
    return this.#capacity() === NO_RESOURCES ? NO_RESOURCES : { ...this.#free() };
  }

  /**
   * Whether what waits here waits behind long work: something long is served and nothing short. With one
   * slot that is "executes a long task" (Hawk §3.6); with several, a slot that runs short work will soon
   * be free.
   *
   * @param startedBefore a task that has run since then is long, whatever its job is taken for
   */
  executesLong(startedBefore: Millis): boolean {
    if (this.longCount > 0 && this.#shortCount() === 0) return true;
    if (startedBefore === Number.NEGATIVE_INFINITY || this.idleCount === this.count) return false;
    const columns = this.#columns;
    for (let place = this.#first; place < this.#end; place++) {
      const kind = columns.kinds[place];
      if (kind === SlotKind.idle || this.#isLong(place)) continue;
      if (kind === SlotKind.asking || columns.get(place, Told.changedAt) > startedBefore) return false;
    }
    return true;
  }

  at(index: number): Slot {
    const place = this.#first + index;
    const kind = this.#columns.kinds[place];
    if (kind === SlotKind.idle) return IDLE;
    return kind === SlotKind.asking ? this.#askingAt(place) : this.#runningAt(place);
  }

  isRunning(index: number): boolean {
    return this.#columns.kinds[this.#first + index] === SlotKind.running;
  }

  /** What runs there; undefined where nothing does. */
  runningAt(index: number): Running | undefined {
    const place = this.#first + index;
    return this.#columns.kinds[place] === SlotKind.running ? this.#runningAt(place) : undefined;
  }

  // What is told of the task that runs there, one by one: to tell all of it takes an object, which each end would need.

  ownerOf(index: number): Address {
    return this.#columns.get(this.#first + index, Told.owner) as Address;
  }

  jobOf(index: number): number {
    return this.#columns.get(this.#first + index, Told.job);
  }

  taskOf(index: number): number {
    return this.#columns.get(this.#first + index, Told.task);
  }

  attemptOf(index: number): number {
    return this.#columns.get(this.#first + index, Told.attempt);
  }

  isLong(index: number): boolean {
    return this.#isLong(this.#first + index);
  }

  isOrphaned(index: number): boolean {
    return this.#isOrphaned(this.#first + index);
  }

  /** Central has placed it there. */
  isPlaced(index: number): boolean {
    return (this.#columns.marks[this.#first + index]! & IS_PLACED) !== 0;
  }

  /** Its time limit. ms */
  timeoutOf(index: number): Millis | undefined {
    return this.#timeoutOf(this.#first + index);
  }

  /** What it has printed, if anything. */
  printedBy(index: number): OutputBuffer | undefined {
    return this.#printedAt(this.#first + index);
  }

  /** What the slot serves: it asks for it, or what runs there came of it. */
  entryAt(index: number): Entry | undefined {
    return this.#columns.entries[this.#first + index];
  }

  fits(demand: Resources): boolean {
    return demand === NO_RESOURCES || fits(demand, this.#free());
  }

  /** Starts to serve an entry in the first idle slot, whose index it returns; what it needs is taken from now on. */
  ask(entry: Entry, ask: number, now: Millis, series?: Series): number {
    const columns = this.#columns;
    let place = this.#first;
    while (place < this.#end && columns.kinds[place] !== SlotKind.idle) place++;
    invariant(place < this.#end, 'asked without an idle slot');
    columns.kinds[place] = SlotKind.asking;
    columns.marks[place] = marksOf(entry);
    columns.set(place, Told.ask, ask);
    columns.tries[place] = 1;
    columns.set(place, Told.changedAt, now);
    columns.entries[place] = entry;
    if (series !== undefined) columns.series.set(place, series);
    columns.idle[this.number]!--;
    if (entry.demand !== NO_RESOURCES) addTo(this.#free(), entry.demand, -1);
    if (entry.long) columns.long[this.number]!++;
    return place - this.#first;
  }

  /** The question of the slot is asked once more. */
  askAgain(index: number, now: Millis): void {
    this.#columns.tries[this.#first + index]!++;
    this.#columns.set(this.#first + index, Told.changedAt, now);
  }

  get runningCount(): number {
    const { kinds } = this.#columns;
    let count = 0;
    for (let place = this.#first; place < this.#end; place++) if (kinds[place] === SlotKind.running) count++;
    return count;
  }

  get isAsking(): boolean {
    const { kinds } = this.#columns;
    for (let place = this.#first; place < this.#end; place++) {
      if (kinds[place] === SlotKind.asking) return true;
    }
    return false;
  }

  indexOfAsk(ask: number): number {
    const columns = this.#columns;
    for (let place = this.#first; place < this.#end; place++) {
      if (columns.kinds[place] === SlotKind.asking && columns.get(place, Told.ask) === ask)
        return place - this.#first;
    }
    return -1;
  }

  /** The slot that asks for any task of the stage, since it was probed for; −1: none does. */
  indexOfProbe(owner: Address, job: number, stage: number): number {
    const { kinds, entries, series } = this.#columns;
    for (let place = this.#first; place < this.#end; place++) {
      if (kinds[place] !== SlotKind.asking || series.has(place)) continue;
      const entry = entries[place]!;
      const isProbe = entry.placed === undefined;
      if (isProbe && entry.owner === owner && entry.job === job && entry.stage === stage)
        return place - this.#first;
    }
    return -1;
  }

  /** The task runs in a slot, or central has placed it here and a slot asks for it. */
  serves(owner: Address, job: number, task: number, attempt: number): boolean {
    if (this.indexOfTask(owner, job, task, attempt) >= 0) return true;
    const { kinds, entries } = this.#columns;
    for (let place = this.#first; place < this.#end; place++) {
      if (kinds[place] === SlotKind.asking && isPlaced(entries[place]!, owner, job, task, attempt))
        return true;
    }
    return false;
  }

  indexOfTask(owner: Address, job: number, task: number, attempt: number): number {
    const columns = this.#columns;
    for (let place = this.#first; place < this.#end; place++) {
      if (
        columns.kinds[place] === SlotKind.running &&
        columns.get(place, Told.task) === task &&
        columns.get(place, Told.job) === job &&
        columns.get(place, Told.attempt) === attempt &&
        columns.get(place, Told.owner) === owner
      ) {
        return place - this.#first;
      }
    }
    return -1;
  }

  /** The slot asked, and was given a task by its owner. */
  run(index: number, owner: Address, message: MessageOf<'bind' | 'run'>, now: Millis): void {
    const columns = this.#columns;
    const place = this.#first + index;
    invariant(
      columns.kinds[place] === SlotKind.asking,
      () => `slot ${index} was given a task while it was ${this.at(index).kind}`,
    );
    if (message.long !== this.#isLong(place)) {
      columns.long[this.number]! += message.long ? 1 : -1;
      columns.marks[place]! ^= RUNS_LONG;
    }
    columns.kinds[place] = SlotKind.running;
    columns.set(place, Told.owner, owner);
    columns.set(place, Told.job, message.job);
    columns.set(place, Told.task, message.task);
    columns.set(place, Told.attempt, message.attempt);
    columns.set(place, Told.match, 'match' in message ? message.match : 0);
    if (message.timeoutMs !== undefined) columns.timeouts.set(place, message.timeoutMs);
    columns.set(place, Told.changedAt, now);
    columns.set(place, Told.since, now);
    if (columns.series.size > 0) {
      columns.set(place, Told.since, columns.series.get(place)?.since ?? now);
      columns.series.delete(place);
    }
  }

  /** What runs there has really started. @returns its time limit, counted from here, where it has one. ms */
  started(index: number, now: Millis): Millis | undefined {
    const place = this.#first + index;
    this.#columns.set(place, Told.changedAt, now);
    return this.#timeoutOf(place);
  }

  /** What runs there has reached its time limit. */
  isOverdue(index: number, now: Millis): boolean {
    const place = this.#first + index;
    const timeoutMs = this.#timeoutOf(place);
    if (timeoutMs === undefined || !this.isRunning(index)) return false;
    return now >= this.#columns.get(place, Told.changedAt) + timeoutMs;
  }

  /** What runs there is long, other than was believed. @returns whether that is news */
  setLong(index: number): boolean {
    const place = this.#first + index;
    if (this.#columns.kinds[place] !== SlotKind.running || this.#isLong(place)) return false;
    this.#columns.long[this.number]!++;
    this.#columns.marks[place]! |= RUNS_LONG;
    return true;
  }

  /** What runs there belongs to another incarnation of its owner. */
  readdress(index: number, owner: Address): void {
    this.#columns.set(this.#first + index, Told.owner, owner);
  }

  /** The owner of what runs there is gone. */
  orphan(index: number): void {
    this.#columns.marks[this.#first + index]! |= IS_ORPHANED;
  }

  /** For what the task that runs there prints. */
  outputOf(index: number): OutputBuffer {
    const { outputs } = this.#columns;
    const place = this.#first + index;
    let output = outputs.get(place);
    if (output === undefined) {
      output = new OutputBuffer();
      outputs.set(place, output);
    }
    return output;
  }

  release(index: number): void {
    const columns = this.#columns;
    const place = this.#first + index;
    invariant(columns.kinds[place] !== SlotKind.idle, () => `slot ${index} was released twice`);
    if (columns.marks[place]! & HAS_DEMAND) addTo(this.#free(), columns.entries[place]!.demand, 1);
    if (this.#isLong(place)) columns.long[this.number]!--;
    columns.marks[place] = 0;
    columns.kinds[place] = SlotKind.idle;
    columns.entries[place] = undefined;
    if (columns.timeouts.size > 0) columns.timeouts.delete(place);
    if (columns.outputs.size > 0) columns.outputs.delete(place);
    if (columns.series.size > 0) columns.series.delete(place);
    columns.idle[this.number]!++;
  }

  *running(): Iterable<[index: number, running: Running]> {
    const { kinds } = this.#columns;
    for (let place = this.#first; place < this.#end; place++) {
      if (kinds[place] === SlotKind.running) yield [place - this.#first, this.#runningAt(place)];
    }
  }

  *asking(): Iterable<[index: number, asking: Asking]> {
    const { kinds } = this.#columns;
    for (let place = this.#first; place < this.#end; place++) {
      if (kinds[place] === SlotKind.asking) yield [place - this.#first, this.#askingAt(place)];
    }
  }

  checkInvariants(): void {
    const slots = Array.from({ length: this.count }, (_, index) => this.at(index));
    const idle = slots.filter((slot) => slot.kind === 'idle').length;
    invariant(idle === this.idleCount, () => `${idle} slots are idle, counted ${this.idleCount}`);
    const used: Record<string, number> = {};
    let long = 0;
    for (const slot of slots) {
      if (slot.kind === 'idle') continue;
      addTo(used, slot.kind === 'asking' ? slot.entry.demand : slot.demand, 1);
      if (slot.kind === 'asking' ? slot.entry.long : slot.long) long++;
    }
    invariant(long === this.longCount, () => `${long} slots serve long work, counted ${this.longCount}`);
    for (const [name, capacity] of Object.entries(this.#capacity())) {
      const free = this.#free()[name]!;
      const inUse = used[name] ?? 0;
      invariant(
        Math.abs(free + inUse - capacity) <= 1e-6 * Math.max(1, capacity) && inUse <= capacity * (1 + 1e-9),
        () => `${name}: ${free} free + ${inUse} used is not ${capacity}`,
      );
    }
  }

  #capacity(): Resources {
    return this.#columns.capacities[this.number]!;
  }

  #free(): Record<string, number> {
    return this.#columns.free[this.number]!;
  }

  #isLong(place: number): boolean {
    return (this.#columns.marks[place]! & RUNS_LONG) !== 0;
  }

  #isOrphaned(place: number): boolean {
    return (this.#columns.marks[place]! & IS_ORPHANED) !== 0;
  }

  #printedAt(place: number): OutputBuffer | undefined {
    const { outputs } = this.#columns;
    return outputs.size === 0 ? undefined : outputs.get(place);
  }

  #timeoutOf(place: number): Millis | undefined {
    const { timeouts } = this.#columns;
    return timeouts.size === 0 ? undefined : timeouts.get(place);
  }

  #askingAt(place: number): Asking {
    const columns = this.#columns;
    const { series } = columns;
    return {
      kind: 'asking',
      ask: columns.get(place, Told.ask),
      entry: columns.entries[place]!,
      sentAt: columns.get(place, Told.changedAt),
      tries: columns.tries[place]!,
      series: series.size === 0 ? undefined : series.get(place),
    };
  }

  #runningAt(place: number): Running {
    const columns = this.#columns;
    const { stage, demand, placed, estimateMs } = columns.entries[place]!;
    return {
      kind: 'running',
      owner: columns.get(place, Told.owner) as Address,
      job: columns.get(place, Told.job),
      stage,
      task: columns.get(place, Told.task),
      attempt: columns.get(place, Told.attempt),
      match: columns.get(place, Told.match),
      long: this.#isLong(place),
      demand,
      since: columns.get(place, Told.since),
      placedByCentral: placed !== undefined,
      estimateMs,
      timeoutMs: this.#timeoutOf(place),
      startedAt: columns.get(place, Told.changedAt),
      orphaned: this.#isOrphaned(place),
      output: this.#printedAt(place),
    };
  }
}

function marksOf({ long, placed, demand }: Entry): number {
  const whose = (long ? RUNS_LONG : 0) | (placed === undefined ? 0 : IS_PLACED);
  return demand === NO_RESOURCES ? whose : whose | HAS_DEMAND;
}
