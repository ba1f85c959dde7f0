import { Central, type CentralEnvironment } from '@goshawk/central';
import {
  type Address,
  LIMITS,
  type Machine,
  type Message,
  type MessageOf,
  type Millis,
  NO_RESOURCES,
  type ParentRun,
  parseUsers,
  type Role,
  type UserGrants,
} from '@goshawk/core';
import { SharedDisk, type SharedRow } from '@goshawk/journal/testing';
import { Scheduler, type SchedulerConfig } from '@goshawk/scheduler';
import { Worker } from '@goshawk/worker';
import { Draw } from '../drawing/draw.js';
import type { Calendar } from '../stepped/calendar.js';
import type { Checker } from './checker.js';
import { ChaosDisk, type ChaosJournal, type Found, type Store } from './disk.js';
import { Network, type Packet } from './network.js';
import type { Plan, ProcessPlan, WorkerPlan } from './plan.js';
import { Process } from './process.js';
import { SharedChaosJournal, StoreConnection } from './store.js';
import { type Execution, type TaskInput, Tasks } from './tasks.js';
import type { Transcript } from './transcript.js';
import { anyPartyOf, endpointOf } from './wire.js';

/** An endpoint: its current incarnation, if any, and the state that outlives incarnations. */
interface Place {
  readonly plan: ProcessPlan;
  readonly role: Role;
  readonly build: (process: Process) => Machine;
  /** Error of its wall clock. */
  wallErrorMs: Millis;
  incarnations: number;
  process: Process | undefined;
  /** The journal store; schedulers only. */
  store: Store | undefined;
  /**
   * The faulty layer in front of its store, which can be slow, full or broken: its disk, or its connection to the
   * shared journals.
   */
  medium: ChaosDisk | StoreConnection;
  /** The scheduler that has taken over this one's jobs; undefined for schedulers of the plan. */
  adopter: string | undefined;
  tasks: Tasks | undefined;
  /** SIGTERM: the process exits when it is drained, and restarts after this time. */
  backAfterMs: Millis | undefined;
  /** Whether the process never restarts. */
  isRemoved: boolean;
}

/** A process that has not exited within this time is killed, as by a supervisor. */
const GRACE_MS = 30_000;
/** A supervisor restarts a scheduler that has exited. */
const FENCED_MS = 500;
/** Number of journal records read at a time, small so that many events happen between reads. */
const PIECE = 3;

export interface Counts {
  messages: number;
  faults: number;
  /** Number of pauses of tasks that lent CPUs. */
  loans: number;
  /** Number of tasks that ran on the CPUs of their parents. */
  children: number;
  readonly byKind: Record<string, number>;
}

/** The processes of a cluster on one calendar, their network, clocks and disks. */
export class Cluster {
  readonly plan: Plan;
  readonly network: Network;
  readonly counts: Counts = { messages: 0, faults: 0, loans: 0, children: 0, byKind: {} };
  /** Submits the job of a task. @returns whether that job is over */
  submitChild: ((input: TaskInput, parent: ParentRun, attempt: number) => () => boolean) | undefined;
  readonly #calendar: Calendar;
  readonly #checker: Checker;
  readonly #transcript: Transcript | undefined;
  readonly #places = new Map<string, Place>();
  /** The disk of shared journals, if schedulers share them. */
  readonly #shared: SharedDisk | undefined;
  /** Whether disks have completed writes; the driver must then resume their callbacks. */
  hasSettled = false;
  #runs = 0;
  #busy = { ms: 0, at: 0, share: 0 };

  constructor(plan: Plan, calendar: Calendar, checker: Checker, transcript: Transcript | undefined) {
    this.plan = plan;
    this.#calendar = calendar;
    this.#checker = checker;
    this.#transcript = transcript;
    this.network = new Network(calendar, plan.network, plan.seed, {
      arrived: (packet) => this.#arrived(packet),
      hit: (what, packet) => {
        this.count(what);
        this.#transcript?.hit(what, packet);
      },
    });
    this.#addPlace(plan.central, 'central', (process) => this.#central(process));
    if (plan.shared)
      this.#shared = new SharedDisk((row, epoch, record) => {
        this.#checker.fenced(row.tag, epoch, row.epoch);
        this.#checker.written(row.tag, record);
      });
    for (const scheduler of plan.schedulers) {
      const place = this.#addPlace(scheduler, 'scheduler', (process) =>
        plan.shared ? this.#sharedScheduler(process, this.#ownRow(process.name)) : this.#scheduler(process),
      );
      if (plan.shared) continue;
      place.store = place.medium = new ChaosDisk(
        scheduler.name,
        calendar,
        new Draw(`${plan.seed}/disk ${scheduler.name}`),
        plan.network.syncMs,
        {
          settled: () => {
            this.hasSettled = true;
          },
          written: (tag, record) => this.#checker.written(tag, record),
        },
      );
    }
    for (const worker of plan.workers)
      this.#addPlace(worker, 'worker', (process) => this.#worker(process, worker));
  }

  // ---- processes

  /** A client or operator outside the cluster. */
  addClient(name: string, build: (process: Process) => Machine): Process {
    const place = this.#addPlace({ name, at: 0, drift: 0, wallErrorMs: 0 }, 'client', build, false);
    return this.#begin(place);
  }

  alive(role: Role): Process[] {
    return [...this.#places.values()].flatMap(({ role: of, process }) =>
      of === role && process?.isAlive ? process : [],
    );
  }

  at(name: string): Process | undefined {
    return this.#places.get(name)?.process;
  }

  /** Returns the store of a scheduler. */
  storeOf(name: string): Store {
    return this.#places.get(name)!.store!;
  }

  /** Returns the scheduler that has the jobs of a tag; undefined if they are lost. */
  ownerOf(tag: string): string | undefined {
    return [...this.#places.values()].findLast(({ store }) => store?.tag === tag && !store.isFenced)?.plan
      .name;
  }

  /** Another scheduler has taken over the jobs of this one. */
  isFenced(name: string): boolean {
    return this.#places.get(name)?.store?.isFenced === true;
  }

  mediumOf(name: string): ChaosDisk | StoreConnection {
    return this.#places.get(name)!.medium;
  }

  has(name: string): boolean {
    return this.#places.has(name);
  }

  tasksOf(name: string): Tasks | undefined {
    return this.#places.get(name)?.tasks;
  }

  isTerminating(name: string): boolean {
    const place = this.#places.get(name);
    return place?.backAfterMs !== undefined || place?.isRemoved === true;
  }

  // ---- faults of processes

  /** SIGKILL or a machine failure, and a restart after a while. */
  crash(name: string, downMs: Millis): boolean {
    const place = this.#places.get(name)!;
    const { process } = place;
    if (process === undefined) return false;
    this.#transcript?.say(`${process.id} is gone`);
    process.kill();
    this.#checker.died(process.id);
    place.process = undefined;
    place.backAfterMs = undefined;
    this.network.senderDied(process.id);
    place.tasks?.forget();
    place.store?.crash();
    for (const { plan, adopter, isRemoved } of [...this.#places.values()]) {
      if (adopter !== name || isRemoved) continue;
      this.#places.get(plan.name)!.isRemoved = true;
      this.crash(plan.name, 0);
    }
    if (place.role === 'central') {
      this.#checker.centralLost();
      // If the whole machine is gone, no peer sees the connection close.
      if (!new Draw(`${this.plan.seed}/end of ${process.id}`).chance(0.3)) this.#disconnect(process);
    }
    this.#calendar.put(this.#calendar.now + downMs, () => this.#start(place));
    return true;
  }

  /** Breaks all connections to central, which notifies every process connected to it. */
  disconnectCentral(): void {
    const central = this.at(this.plan.central.name);
    if (central !== undefined) this.#disconnect(central);
  }

  #disconnect(central: Process): void {
    const { party } = central.wire;
    for (const process of [...this.alive('scheduler'), ...this.alive('worker')]) {
      process.take((now) => process.machine.disconnected?.(process.wire.addressNamed(party), now));
    }
  }

  /** Removes the worker permanently, if others remain. */
  remove(name: string): boolean {
    const place = this.#places.get(name)!;
    const others = this.plan.workers.filter((worker) => !this.#places.get(worker.name)!.isRemoved);
    if (place.isRemoved || others.length < 2) return false;
    place.isRemoved = true;
    this.crash(name, 0);
    return true;
  }

  /** @returns false if the cluster has no such process */
  loseDisk(name: string): boolean {
    const { store } = this.#places.get(name)!;
    if (!(store instanceof ChaosDisk)) return false;
    this.#checker.diskLost(store.tag);
    store.wipe();
    return true;
  }

  terminate(name: string, downMs: Millis): boolean {
    const place = this.#places.get(name)!;
    const { process } = place;
    if (process === undefined || place.backAfterMs !== undefined) return false;
    place.backAfterMs = downMs;
    process.take((now) => (process.machine as unknown as Worker).drain(now));
    this.#calendar.put(this.#calendar.now + GRACE_MS, () => {
      if (this.at(name) === process) this.crash(name, downMs);
    });
    return true;
  }

  wallJump(name: string, byMs: Millis): void {
    this.#places.get(name)!.wallErrorMs += byMs;
  }

  loadCentral(share: number): void {
    this.#busy = { ms: this.#busyMs(), at: this.#calendar.now, share };
  }

  /** The operator changes the file of `--users`; a central that starts later reads it. */
  grant(text: string): void {
    this.#transcript?.say(`** --users ${text}`);
    this.#grants = parseUsers(text, 'users.json');
    const grants = this.#grants;
    for (const process of this.alive('central'))
      process.take(() => (process.machine as unknown as Central).grant(grants));
  }

  #grants: UserGrants | undefined;

  count(kind: string): void {
    this.counts.faults++;
    this.counts.byKind[kind] = (this.counts.byKind[kind] ?? 0) + 1;
  }

  /** Creates a scheduler outside the cluster from the content of a disk. */
  rebuilt(name: string): Machine {
    const place = this.#places.get(name)!;
    const { store } = place;
    const { inheritance, ...config } =
      store instanceof ChaosDisk
        ? this.#config(place.process!, store.tag, store.found)
        : this.#sharedConfig(place.process!, (store as SharedChaosJournal).row);
    const process = place.process!;
    const environment = { ...process.environment(), setTimer() {}, clearTimer() {} };
    const scheduler = new Scheduler(
      {
        ...config,
        inheritance: inheritance && { ...inheritance, chunkSize: Number.POSITIVE_INFINITY },
      },
      { ...environment, record: () => 0, jobEnded() {}, drained() {} },
    );
    process.overhear(() => scheduler.start(process.now));
    return scheduler as unknown as Machine;
  }

  // ---- machines

  #addPlace(plan: ProcessPlan, role: Role, build: (process: Process) => Machine, isStarted = true): Place {
    const place: Place = {
      plan,
      role,
      build,
      wallErrorMs: plan.wallErrorMs,
      incarnations: 0,
      process: undefined,
      store: undefined,
      medium: new StoreConnection(this.plan.network.syncMs),
      adopter: undefined,
      tasks: undefined,
      backAfterMs: undefined,
      isRemoved: false,
    };
    this.#places.set(plan.name, place);
    if (isStarted) this.#calendar.put(plan.at, () => this.#start(place));
    return place;
  }

  #start(place: Place): void {
    if (!place.isRemoved) this.#begin(place);
  }

  #begin(place: Place): Process {
    const incarnation = ++place.incarnations;
    const { plan, role } = place;
    const draw = new Draw(`${this.plan.seed}/process ${plan.name} ${incarnation}`);
    const process = new Process(plan, role, incarnation, this.#calendar, draw, {
      sent: (from, to, message) => this.#sent(from, to, message),
      stepped: (of) => this.#checker.stepped(of.id),
      failed: (of, error) => this.#failed(of, error),
    });
    place.process = process;
    this.#transcript?.say(`${process.id} starts`);
    process.start(place.build(process));
    return process;
  }

  #central(process: Process): Machine {
    const environment: CentralEnvironment = { ...process.environment(), busyMs: () => this.#busyMs() };
    const config = {
      name: 'central',
      self: process.wire.self,
      settings: this.plan.settings,
      users: this.#grants,
      overloadedArrivals: 0,
    };
    return new Central(config, environment) as unknown as Machine;
  }

  #scheduler(process: Process): Machine {
    const disk = this.#places.get(process.name)!.store as ChaosDisk;
    const config = this.#config(process, disk.tag, disk.found);
    const journal: ChaosJournal = disk.open(process.wire.party, (action) => process.take(() => action()), {
      recorded: (count) => scheduler.recorded(count, process.now),
      stateChanged: (state) => {
        scheduler.journalChanged(state, process.now);
        if (state.kind !== 'failed') return;
        this.count('diskFails');
        this.#calendar.put(this.#calendar.now, () => this.crash(process.name, this.#downMs));
      },
    });
    const scheduler = new Scheduler(config, {
      ...process.environment(),
      record: (record) => journal.append(record),
      readRecord: (job, place) => journal.readRecord(job, place),
      readJobRecords: (job) => journal.readJobRecords(job),
      jobEnded() {},
      drained() {},
    });
    return scheduler as unknown as Machine;
  }

  // ---- schedulers that share a journal

  /** Returns the scheduler's earlier row, even if another scheduler has taken it over, otherwise a new one. */
  #ownRow(name: string): SharedRow {
    const shared = this.#shared!;
    const mayReclaim = this.at(this.plan.central.name) !== undefined;
    const [before] = [...shared.of(name, false), ...(mayReclaim ? shared.takenFrom(name) : [])];
    if (before !== undefined) return shared.claim(before.tag, before.epoch, name, false)!;
    return shared.make(`${name}x${++this.#tags}`, name);
  }

  #tags = 0;

  #sharedScheduler(process: Process, row: SharedRow): Machine {
    const place = this.#places.get(process.name)!;
    const shared = this.#shared!;
    const { party } = process.wire;
    const config = this.#sharedConfig(process, row);
    shared.begin(row, party);
    this.#checker.claimed(row.tag, row.epoch);
    const end = (): void => {
      place.isRemoved ||= place.adopter !== undefined;
      this.#calendar.put(this.#calendar.now, () => {
        if (this.at(process.name) === process) this.crash(process.name, FENCED_MS);
      });
    };
    const journal = new SharedChaosJournal(
      shared,
      row,
      place.medium as StoreConnection,
      {
        calendar: this.#calendar,
        draw: new Draw(`${this.plan.seed}/commits ${process.id}`),
        turn: (action) => process.take(() => action()),
        settled: () => {
          this.hasSettled = true;
        },
      },
      {
        recorded: (count) => scheduler.recorded(count, process.now),
        keyTaken: (job, by) => scheduler.keyTaken(job, by),
        stateChanged: (state) => {
          scheduler.journalChanged(state, process.now);
          if (state.kind !== 'failed') return;
          this.count('fenced');
          end();
        },
      },
    );
    place.store = journal;
    const scheduler = new Scheduler(config, {
      ...process.environment(),
      record: (record) => journal.append(record),
      takeOver: (_name, tag, epoch) =>
        this.#after(process, () => this.#adopt(place, shared.claim(tag, epoch, process.name, true))),
      superseded: end,
      jobEnded() {},
      drained: end,
    });
    if (place.adopter === undefined)
      for (const { tag, epoch } of shared.of(process.name, true))
        this.#after(process, () => this.#adopt(place, shared.claim(tag, epoch, process.name, true)));
    return scheduler as unknown as Machine;
  }

  /** Resumes when PostgreSQL has answered, if the process still exists. */
  #after(process: Process, act: () => void): void {
    const { syncMs } = this.#places.get(process.name)!.medium;
    this.#calendar.put(this.#calendar.now + syncMs, () => {
      if (this.at(process.name) === process) act();
    });
  }

  /** Adopts the jobs of another journal; in the model as a separate process. */
  #adopt({ plan }: Place, row: SharedRow | undefined): void {
    if (row === undefined) return;
    this.count('takeover');
    const name = `${row.tag}e${row.epoch}`;
    const adopted = { ...plan, name, at: this.#calendar.now };
    const place = this.#addPlace(
      adopted,
      'scheduler',
      (process) => this.#sharedScheduler(process, row),
      false,
    );
    place.adopter = plan.name;
    this.#begin(place);
  }

  #sharedConfig(process: Process, row: SharedRow): SchedulerConfig {
    const shared = this.#shared!;
    const { tag, epoch, identity } = row;
    const found = {
      formers: identity.formers,
      lastJob: shared.lastJob(row),
      entries: shared.entries(row),
    };
    const adopted = this.#places.get(process.name)!.adopter !== undefined;
    return { ...this.#config(process, tag, found), epoch, adopted };
  }

  #ports = 0;
  /** Downtime of a scheduler whose disk has failed. */
  #downMs: Millis = 0;

  failDisk(name: string, isWritten: boolean, downMs: Millis): void {
    this.#downMs = downMs;
    (this.storeOf(name) as ChaosDisk).failure = { isWritten };
  }

  #config(process: Process, tag: string, { formers, lastJob, entries }: Found): SchedulerConfig {
    const { name, wire } = process;
    const previousIncarnations = formers.map((former) => wire.addressNamed(former));
    return {
      name,
      tag,
      inheritance:
        formers.length === 0
          ? undefined
          : { entries, now: process.now, lastJob, previousIncarnations, chunkSize: PIECE },
      self: wire.self,
      endpoint: endpointOf(name, 'scheduler'),
      central: wire.addressNamed(anyPartyOf('central', 'central')),
      enlistRetryMs: 500,
      wallOffsetMs: process.wallOffsetMs(this.#places.get(name)!.wallErrorMs),
      // The most recently ended jobs are kept regardless of this limit.
      endedJobsMax: 3,
      // Only about five ended jobs fit in memory; the rest are on disk only.
      memoryBytes: 1 << 19,
      logBytesMax: 1 << 20,
    };
  }

  #worker(process: Process, { name, slots, memory, gpus = 0, zone }: WorkerPlan): Machine {
    const place = this.#places.get(name)!;
    const { wire } = process;
    let pausedAt = Number.NEGATIVE_INFINITY;
    const tasks = new Tasks(this.#calendar, this.plan.seed, {
      taskStarted: (slot) => process.take((now) => worker.taskStarted(slot, now)),
      taskOutput: (slot, stream, bytes) => process.take((now) => worker.taskOutput(slot, stream, bytes, now)),
      taskEnded: (slot, outcome, runMs) => process.take((now) => worker.taskEnded(slot, outcome, runMs, now)),
    });
    place.tasks = tasks;
    const config = {
      name,
      self: wire.self,
      slots,
      lends: 2 * slots + LIMITS.nestedMax - 2,
      capacity:
        memory + gpus === 0
          ? NO_RESOURCES
          : { ...(memory > 0 ? { cpu: slots, memory } : {}), ...(gpus > 0 ? { gpu: gpus } : {}) },
      ...(zone === undefined ? {} : { attributes: [{ name: 'zone', value: zone }] }),
      central: wire.addressNamed(anyPartyOf('central', 'central')),
      registerRetryMs: 500,
    };
    const worker = new Worker(config, {
      ...process.environment(),
      execute: (slot, order, _gpus, _demand, match) => {
        const { jobId, task, attempt, execution: started = attempt } = order;
        const value = `${jobId}/${task}/${attempt} by ${process.id}, run ${++this.#runs}`;
        const startedAt = this.#calendar.now;
        const of = { worker: process.id, jobId, task, attempt, started, value, gang: order.gang?.port };
        const { input } = order.payload as { input: TaskInput };
        const { key, at: meant } = input;
        const { require, user } = this.plan.orders.find((each) => each.key === key)?.job ?? {};
        const execution: Execution = { ...of, meant, user, startedAt, kind: 'running' };
        this.#transcript?.say(`${process.id} executes ${jobId}/${task}/${attempt} in slot ${slot}`);
        this.#checker.executed(execution);
        if (order.gang !== undefined && order.gang.hosts?.length !== order.gang.ranks)
          this.#checker.wrong(`gang: ${jobId}/${task} starts, and not all of its gang are ready`);
        const required = require?.zone;
        if (required !== undefined && !required.includes(zone ?? ''))
          this.#checker.wrong(`required: ${jobId} requires zone ${required}, and runs at ${name}`);
        // Beside tasks that share CPUs after a loan, a child may start, because its parent waits, and a task for which
        // another one pauses.
        const isChild = (order as Partial<MessageOf<'run'>>).borrows?.parent !== undefined;
        if (isChild) this.counts.children++;
        else if (tasks.runningCount >= slots && pausedAt !== this.#calendar.now)
          this.#checker.wrong(`slots: ${name} runs more than ${slots} tasks`);
        const isOver =
          input.nests === undefined
            ? undefined
            : this.submitChild?.(input, { job: jobId, task, worker: name, match: match ?? 0 }, attempt);
        tasks.start(slot, order, execution, isOver);
      },
      // Each attempt of a gang gets a different port, which distinguishes its members from those of other attempts.
      findPort: (slot) => worker.portFound(slot, ++this.#ports % 65_536, process.now),
      kill: (slot, reason) => tasks.kill(slot, reason),
      pause: (slot) => {
        this.counts.loans++;
        pausedAt = this.#calendar.now;
        tasks.pause(slot);
      },
      resume: (slot) => tasks.resume(slot),
      drained: () => this.#drained(process, worker),
    });
    return worker as unknown as Machine;
  }

  #drained(process: Process, worker: Worker): void {
    const { backAfterMs } = this.#places.get(process.name)!;
    if (backAfterMs === undefined) return;
    worker.leave();
    this.#calendar.put(this.#calendar.now, () => {
      if (this.at(process.name) === process) this.crash(process.name, backAfterMs);
    });
  }

  #busyMs(): Millis {
    const { ms, at, share } = this.#busy;
    return ms + share * (this.#calendar.now - at);
  }

  // ---- messages

  #sent(from: Process, to: Address, message: Message): void {
    if (!this.isFenced(from.name)) this.#checker.sent(from.id, message);
    this.#transcript?.sent(from, to, message);
    const { bytes, to: party } = from.wire.write(to, message);
    const place = this.#placeAt(party.endpoint);
    if (place === undefined) return;
    const { plan, role } = place;
    this.network.send({ from, to: { name: plan.name, role }, type: message.type, bytes });
  }

  #arrived({ from, to, bytes }: Packet): void {
    const process = this.at(to.name);
    if (process === undefined) return;
    process.take((now) => {
      const sender = from as Process;
      const read = process.wire.read(sender.wire.party, bytes, now);
      if (read === undefined) return;
      this.counts.messages++;
      this.#checker.heard(process.id, sender);
      this.#transcript?.received(process, read.from, read.message);
      process.machine.receive(read.from, read.message, now);
    });
  }

  readonly #byEndpoint = new Map<string, Place>();

  #placeAt(endpoint: string): Place | undefined {
    let place = this.#byEndpoint.get(endpoint);
    if (place === undefined) {
      place = [...this.#places.values()].find(({ plan, role }) => endpointOf(plan.name, role) === endpoint);
      if (place !== undefined) this.#byEndpoint.set(endpoint, place);
    }
    return place;
  }

  #failed(process: Process, error: unknown): void {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#checker.wrong(`contradiction: ${process.id}: ${message}`);
  }
}
