import { type Attributes, formatAttributes, invariant, type Millis, sumOf } from '@goshawk/core';
import type {
  CentralPolicy,
  ClusterChange,
  ClusterView,
  Draft,
  JobView,
  PolicyExplanation,
  PolicyModule,
  RunEnd,
  RunView,
  StageView,
  ValuesOf,
  WorkerView,
} from '@goshawk/policies';
import { fitsNow } from '@goshawk/policies';
import { WHOLE_SERVER } from './configurations.js';
import {
  blockedBy,
  explainDeclined,
  explainNoRoom,
  explainRequired,
  noConfiguration,
  tooLarge,
} from './explaining.js';
import { Families } from './families.js';
import { FifoFirstFit } from './fifo-first-fit.js';
import type { Group } from './group.js';
import type { Packer } from './packer.js';
import { makePacker, type PackingName } from './packers.js';
import { J_MAX, jFor } from './partition.js';
import { VectorFit } from './vector-fit.js';
import { VirtualQueues } from './virtual-queues.js';
import { VirtualQueuesBestFit } from './virtual-queues-best-fit.js';

const OPTIONS = {
  J: {
    default: 0,
    min: 0,
    max: 8,
    help: 'half the number of virtual queue types (J); 0: as many as the smallest task needs, at most 8',
  },
  stall: {
    default: false,
    help: 'while tasks wait, a poorly utilized worker starts no tasks until it is empty',
  },
  decisionIntervalMs: {
    default: 0,
    min: 0,
    max: 60_000,
    help: 'tasks are placed only at multiples of this time; 0: immediately',
  },
} as const;

type PackingOptions = ValuesOf<typeof OPTIONS>;

/** Tasks of a stage that arrived together. */
interface Batch extends Group {
  readonly entry: Entry;
  size: number;
  family: number;
}

/** State of a stage with tasks that wait or may return. */
interface Entry {
  readonly stage: StageView;
  readonly batches: Batch[];
  /** Sequence numbers of tasks that were declined or lost, until their owner reports that they wait. */
  readonly returning: number[];
  family: number;
  /** Size of a task in units; undefined: larger than every permitted worker. */
  size: number | undefined;
  /** Requirements at the last measurement. */
  requires: Attributes | undefined;
  /**
   * Whether a worker declined the stage, or its job spreads. The packer, which knows only room, then does not have its
   * batches.
   */
  isDeclined: boolean;
}

interface Running {
  readonly entry: Entry;
  readonly sequence: number;
  readonly size: number;
}

/** A packing policy for central. It converts changes to arrivals and departures, and placements to starts. */
export class PackingPolicy implements CentralPolicy {
  readonly #name: PackingName;
  readonly #options: PackingOptions;
  readonly #hasTypes: boolean;
  readonly #workers: (WorkerView | undefined)[] = [];
  readonly #entries = new Map<JobView, Map<StageView, Entry>>();
  readonly #runs = new Map<RunView, Running>();
  readonly #declined = new Set<Entry>();
  /** Known requirements, by text. */
  #required = new Map<string, Attributes>();
  /** Number of open workers, by capacity and attributes. */
  readonly #openOf = new Map<string, number>();
  #families = new Families([], true);
  #packer: Packer;
  #j = 2;
  #nextSequence = 0;
  #isStale = false;
  #decisionAt: Millis | undefined;

  constructor(name: PackingName, options: PackingOptions) {
    this.#name = name;
    this.#options = options;
    this.#hasTypes = name === 'vqs' || name === 'vqs-bf';
    this.#packer = this.#makePacker();
  }

  update(changes: readonly ClusterChange[]): void {
    for (const each of changes) this.#apply(each);
  }

  plan(_cluster: ClusterView, draft: Draft, now: Millis): void {
    if (!this.#isTime(draft, now)) return;
    if (this.#isStale) this.#rebuild();
    this.#startDeclined(draft);
    this.#packer.run((group, server) => this.#start(draft, group as Batch, server));
  }

  explain(stage: StageView, { resources }: ClusterView): PolicyExplanation | undefined {
    const entry = this.#entries.get(stage.job)?.get(stage);
    if (entry === undefined || entry.batches.length === 0) return undefined;
    const all = this.#workers.filter((worker) => worker?.open === true) as WorkerView[];
    const open = all.filter((worker) => stage.needs.permits(worker));
    if (open.length < all.length && open.length === 0) return explainRequired(stage.needs.requires!);
    const facts = { resources, open };
    if (entry.size === undefined) return tooLarge(stage.demand, facts);
    if (entry.isDeclined) return explainDeclined(stage, facts);
    if (this.#packer instanceof FifoFirstFit) {
      const head = this.#packer.head() as Batch | undefined;
      if (head !== undefined && head.entry !== entry) return blockedBy(head.entry.stage, facts);
    }
    if (this.#packer instanceof VirtualQueues) {
      const { configurations } = this.#packer;
      const queue = configurations.queueOf(entry.size, entry.family);
      const configured = open.filter(({ id }) => {
        const configuration = configurations.of(id);
        return (
          configuration?.filler === queue || (configuration?.large === 1 && configuration.largeType === queue)
        );
      });
      return noConfiguration(
        queue % (2 * this.#j),
        this.#j,
        configurations.lengths[queue]!,
        configured.length,
      );
    }
    return explainNoRoom(stage.demand, facts);
  }

  checkInvariants(): void {
    for (const worker of this.#workers) {
      if (worker === undefined) continue;
      const tasks = this.#packer.tasksAt(worker.id);
      const known = worker.runs.filter((run) => this.#runs.has(run)).length;
      invariant(tasks === known, () => `worker ${worker.id} has ${known} runs, its room counts ${tasks}`);
    }
    let waiting = 0;
    for (const { batches, size, isDeclined } of this.#all()) {
      if (size !== undefined && !isDeclined) for (const { count } of batches) waiting += count;
    }
    const { tasks } = this.#packer;
    if (!this.#isStale) invariant(waiting === tasks, () => `${waiting} tasks wait, ${tasks} are queued`);
  }

  // ---- changes

  #apply(change: ClusterChange): void {
    switch (change.kind) {
      case 'opened':
        this.#count(change.worker, 1);
        if (this.#families.classOf(change.worker) === undefined) this.#isStale = true;
        this.#workers[change.worker.id] = change.worker;
        return this.#packer.open(change.worker.id);
      case 'closed':
        this.#count(change.worker, -1);
        return this.#packer.close(change.worker.id);
      case 'freed':
        if (change.worker.open) this.#packer.free(change.worker.id);
        return;
      case 'shrank':
        return this.#packer.shrank(change.worker.id);
      case 'began':
        return this.#packer.shrank(change.run.worker.id);
      case 'left':
        this.#workers[change.worker.id] = undefined;
        return;
      case 'found':
        return this.#found(change.run);
      case 'ended':
        return this.#ended(change.run, change.how);
      case 'waiting':
        return this.#waits(change.stage);
      case 'gone':
        for (const entry of this.#entries.get(change.job)?.values() ?? [])
          this.#withdraw(entry, Number.POSITIVE_INFINITY);
        for (const entry of this.#entries.get(change.job)?.values() ?? []) this.#declined.delete(entry);
        this.#entries.delete(change.job);
        return;
      case 'arrived':
      case 'changed':
      case 'solved':
        return;
    }
  }

  /**
   * Counts the open workers of each class. The packer is rebuilt when a class loses its last worker, because
   * tasks would wait for that class forever.
   */
  #count({ capacity, attributes }: WorkerView, change: 1 | -1): void {
    const key = `${capacity} ${formatAttributes(attributes)}`;
    const count = (this.#openOf.get(key) ?? 0) + change;
    if (count > 0) this.#openOf.set(key, count);
    else this.#openOf.delete(key);
    if (count === 0) this.#isStale = true;
  }

  #found(run: RunView): void {
    const { stage, worker } = run;
    this.#workers[worker.id] = worker;
    const entry = this.#entryFor(stage);
    const size = this.#sizeAt(worker, entry) ?? 1;
    this.#runs.set(run, { entry, sequence: this.#nextSequence++, size });
    this.#packer.found(worker.id, size);
  }

  #ended(run: RunView, how: RunEnd): void {
    const running = this.#runs.get(run);
    if (running === undefined) return;
    this.#runs.delete(run);
    this.#packer.depart(run.worker.id, running.size);
    if (how !== 'done') running.entry.returning.push(running.sequence);
    if (how === 'declined') this.#takeFromPacker(running.entry);
  }

  #waits(stage: StageView): void {
    const entry = this.#entryFor(stage);
    const { batches, returning } = entry;
    if (!isPackable(stage)) this.#takeFromPacker(entry);
    let more = stage.waiting - sumOf(batches, ({ count }) => count);
    if (more < 0) this.#withdraw(entry, -more);
    for (; more > 0 && returning.length > 0; more--) {
      const sequence = returning.shift()!;
      const batch = batches.find((each) => each.sequence === sequence);
      if (batch === undefined) batches.unshift(this.#arrive(entry, sequence, 1));
      else if (this.#isQueued(entry)) this.#packer.grow(batch, 1);
      else batch.count++;
    }
    if (more > 0) batches.push(this.#arrive(entry, this.#nextSequence++, more));
  }

  /** Withdraws this many tasks, youngest first. */
  #withdraw(entry: Entry, tasks: number): void {
    const { batches } = entry;
    for (let left = tasks; left > 0 && batches.length > 0; ) {
      const batch = batches.at(-1)!;
      const count = Math.min(left, batch.count);
      left -= count;
      if (this.#isQueued(entry)) this.#packer.withdraw(batch, count);
      else batch.count -= count;
      if (batch.count === 0) batches.pop();
    }
  }

  /** Whether the packer has the batches of the stage. */
  #isQueued({ size, isDeclined }: Entry): boolean {
    return !this.#isStale && size !== undefined && !isDeclined;
  }

  #arrive(entry: Entry, sequence: number, count: number): Batch {
    const batch = { entry, sequence, count, family: 0, size: 1, needs: entry.stage.needs };
    this.#queue(batch);
    return batch;
  }

  #queue(batch: Batch): void {
    const { entry } = batch;
    if (entry.size === undefined || this.#isStale || entry.isDeclined) return;
    batch.family = entry.family;
    batch.size = entry.size;
    this.#isStale = this.#hasTypes && this.#jFor(entry.size) > this.#j;
    if (!this.#isStale) this.#packer.arrive(batch);
  }

  #entryFor(stage: StageView): Entry {
    let ofJob = this.#entries.get(stage.job);
    if (ofJob === undefined) {
      ofJob = new Map();
      this.#entries.set(stage.job, ofJob);
    }
    let entry = ofJob.get(stage);
    if (entry === undefined) {
      entry = {
        ...{ stage, batches: [], returning: [], family: 0, size: undefined, requires: undefined },
        isDeclined: false,
      };
      this.#measure(entry);
      ofJob.set(stage, entry);
    }
    // The requirements of a stage that is first seen as a run become known later.
    if (entry.requires !== stage.needs.requires) this.#require(entry);
    return entry;
  }

  #require(entry: Entry): void {
    const { requires } = entry.stage.needs;
    entry.requires = requires;
    if (requires === undefined) return;
    const text = formatAttributes(requires);
    if (!this.#required.has(text)) this.#isStale = true;
    this.#required.set(text, requires);
    this.#measure(entry);
  }

  // ---- planning

  #isTime(draft: Draft, now: Millis): boolean {
    const interval = this.#options.decisionIntervalMs;
    if (interval === 0) return true;
    this.#decisionAt ??= Math.ceil(now / interval) * interval;
    if (now < this.#decisionAt) {
      draft.again(this.#decisionAt);
      return false;
    }
    this.#decisionAt = undefined;
    return true;
  }

  /** Removes the batches of the stage from the packer. */
  #takeFromPacker(entry: Entry): void {
    if (entry.isDeclined) return;
    if (this.#isQueued(entry))
      for (const [place, batch] of entry.batches.entries()) {
        const { count } = batch;
        this.#packer.withdraw(batch, count);
        entry.batches[place] = { ...batch, count };
      }
    entry.isDeclined = true;
    this.#declined.add(entry);
  }

  /**
   * Starts tasks that the packer cannot, because some workers declined them or their job spreads them, at the first
   * workers with room.
   */
  #startDeclined(draft: Draft): void {
    for (const entry of this.#declined) {
      const { stage, batches } = entry;
      if (isPackable(stage)) {
        this.#declined.delete(entry);
        entry.isDeclined = false;
        for (const batch of batches) this.#queue(batch);
        continue;
      }
      for (let [batch] = batches; batch !== undefined; [batch] = batches) {
        const worker = this.#workers.find((each) => each?.open === true && fitsNow(stage, each));
        const run = worker && draft.start(stage, worker);
        if (worker === undefined || run === undefined) break;
        const size = this.#sizeAt(worker, entry) ?? 1;
        this.#runs.set(run, { entry, sequence: batch.sequence, size });
        this.#packer.found(worker.id, size);
        batch.count--;
        if (batch.count === 0) batches.shift();
      }
    }
  }

  #start(draft: Draft, batch: Batch, server: number): void {
    const { entry, sequence, size } = batch;
    if (batch.count === 1) entry.batches.splice(entry.batches.indexOf(batch), 1);
    const run = draft.start(entry.stage, this.#workers[server]!);
    invariant(run !== undefined, () => `stage ${entry.stage.id} does not fit worker ${server}`);
    this.#runs.set(run, { entry, sequence, size });
  }

  // ---- the packer

  /** Replaces the packer after classes, requirements or J have changed. The new one gets the same state. */
  #rebuild(): void {
    const workers = this.#workers.filter((worker) => worker !== undefined);
    const families = this.#families;
    const required = [...this.#all()].flatMap(({ requires }) => (requires === undefined ? [] : [requires]));
    this.#required = new Map(required.map((requires) => [formatAttributes(requires), requires]));
    this.#families = new Families(
      workers.filter(({ open }) => open),
      this.#name !== 'vqs',
      [...this.#required.values()],
    );
    for (const entry of this.#all()) this.#measure(entry);
    const before = this.#packer;
    this.#j = Math.max(
      this.#j,
      2 + this.#families.shift,
      ...[...this.#all()].map(({ size }) => (size === undefined ? 0 : this.#jFor(size))),
    );
    this.#packer = this.#makePacker();
    this.#isStale = false;
    for (const worker of workers) {
      for (const run of worker.runs) this.#recount(run);
      if (worker.open) this.#packer.open(worker.id);
      this.#keepConfiguration(before, worker, families);
    }
    // Clears the departures that `open` has recorded. No task waits yet.
    this.#packer.run(() => {});
    for (const server of before.freedServers) if (this.#workers[server]?.open) this.#packer.free(server);
    const batches = [...this.#all()].flatMap((entry) => entry.batches);
    for (const batch of batches.sort((one, other) => one.sequence - other.sequence)) {
      if (batch.entry.size !== undefined) this.#chooseFamily(batch.entry);
      this.#queue(batch);
    }
  }

  #recount(run: RunView): void {
    const running = this.#runs.get(run);
    if (running === undefined) return;
    const size = this.#sizeAt(run.worker, running.entry) ?? running.size;
    this.#runs.set(run, { ...running, size });
    this.#packer.found(run.worker.id, size);
  }

  /** Size in units of the worker's family; undefined: larger than every permitted worker. */
  #sizeAt(worker: WorkerView, { stage, size }: Entry): number | undefined {
    const family = this.#families.classOf(worker)?.family;
    if (size === undefined || family === undefined) return size;
    return this.#families.sizeIn(family, stage.needs) ?? size;
  }

  /**
   * Copies the configuration of an occupied server to the new packer if types still mean the same sizes.
   * Otherwise the server chooses a new configuration. If J has grown, the last type keeps only its largest
   * sizes.
   */
  #keepConfiguration(before: Packer, { id, capacity }: WorkerView, families: Families): void {
    if (!(before instanceof VirtualQueues || before instanceof VirtualQueuesBestFit)) return;
    if (this.#packer.tasksAt(id) === 0) return;
    const sizeOf = (of: Families): number | undefined => of.sizeIn(0, { demand: capacity });
    const isSame =
      this.#families.count === 1 && families.count === 1 && sizeOf(this.#families) === sizeOf(families);
    const configuration = isSame ? before.configurations.of(id) : undefined;
    if (configuration === undefined) before.free(id);
    else (this.#packer as VirtualQueues | VirtualQueuesBestFit).configure(id, configuration);
  }

  #makePacker(): Packer {
    const families = this.#families;
    const serverAt = (server: number): WorkerView => this.#workers[server]!;
    return makePacker(
      this.#name,
      { j: this.#j, stall: this.#options.stall },
      {
        fit: (rule) => new VectorFit(rule, serverAt, families.largest),
        capacityOf: (server) => {
          const worker = this.#workers[server];
          return (worker && families.sizeIn(0, { demand: worker.capacity })) ?? 0;
        },
        classOf: (server) => families.classOf(serverAt(server)) ?? WHOLE_SERVER,
        holds: (server, group) => fitsNow((group as Batch).entry.stage, serverAt(server)),
      },
    );
  }

  /** Sets the size of the stage's tasks; undefined if no worker can run them. */
  #measure(entry: Entry): void {
    entry.size = undefined;
    if (!this.#families.holds(entry.stage.needs)) return;
    this.#chooseFamily(entry);
  }

  /** Chooses the family with the fewest waiting tasks among those whose largest server can run the task. */
  #chooseFamily(entry: Entry): void {
    let fewest = Number.POSITIVE_INFINITY;
    for (let family = 0; family < this.#families.count; family++) {
      const size = this.#families.sizeIn(family, entry.stage.needs);
      const waiting = this.#waitingOf(family);
      if (size === undefined || waiting >= fewest) continue;
      fewest = waiting;
      entry.family = family;
      entry.size = size;
    }
  }

  #waitingOf(family: number): number {
    if (!(this.#packer instanceof VirtualQueues)) return 0;
    const width = 2 * this.#j;
    const lengths = this.#packer.configurations.lengths.slice(family * width, (family + 1) * width);
    return sumOf(lengths);
  }

  /** The J that a task of this size needs, even on the smallest servers. */
  #jFor(size: number): number {
    const { J } = this.#options;
    return Math.min(J_MAX, J === 0 ? jFor(size) : J) + this.#families.shift;
  }

  *#all(): Iterable<Entry> {
    for (const ofJob of this.#entries.values()) yield* ofJob.values();
  }
}

function packing(name: PackingName, title: string): PolicyModule<PackingOptions> {
  return {
    title,
    declares: false,
    packs: true,
    options: OPTIONS,
    make: (options) => new PackingPolicy(name, options),
  };
}

/** Policies of Psychas and Ghaderi (INFOCOM 2019), described in `docs/PACKING.md`. */
export const PACKING_MODULES: Readonly<Record<PackingName, PolicyModule<PackingOptions>>> = {
  'fifo-ff': packing('fifo-ff', 'first come, first served: the oldest task at the first worker with room'),
  bfjs: packing(
    'bfjs',
    'best fit: each task, largest first, goes to the worker on which the least room remains',
  ),
  vqs: packing('vqs', 'virtual queues by size: an empty worker selects the sizes that it accepts'),
  'vqs-bf': packing('vqs-bf', 'virtual queues by size, with best fit for the remaining room'),
};

/** Whether only room decides where its tasks may start. */
function isPackable({ declinedBy, needs }: StageView): boolean {
  return needs.spread === undefined && (declinedBy === undefined || declinedBy.size === 0);
}
