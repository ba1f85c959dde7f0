import { Central, type CentralEnvironment } from '@goshawk/central';
import {
  type Address,
  type Attribute,
  type ClusterOutline,
  type ClusterSettings,
  COMPLETED,
  type Environment,
  type Forecast,
  invariant,
  type JobSpec,
  KILL_OUTCOMES,
  type KillReason,
  LIVE_TIMINGS,
  type Machine,
  type Message,
  type MessageType,
  type Millis,
  NO_RESOURCES,
  Random,
  type Resources,
  type UserGrants,
} from '@goshawk/core';
import {
  answerOf,
  PlanningTimes,
  type Program,
  type SolveProgram,
  WorkConservation,
} from '@goshawk/policies';
import { type EstimatorStates, type Job, Scheduler } from '@goshawk/scheduler';
import { type TaskOrder, Worker, type WorkerEnvironment, WorkerMemory } from '@goshawk/worker';
import { DealtSleeps } from './dealt-sleeps.js';
import { DelayLane } from './delay-lane.js';
import { EventHeap } from './event-heap.js';
import { MessageCounts } from './message-counts.js';
import { type Delays, delaysOf, type NetworkModel } from './network/index.js';
import { CentralParty, PartyEnvironment, SchedulerParty, WorkerParty } from './parties.js';
import { Service } from './service.js';
import { type Trouble, TroubleSource } from './trouble.js';
import { NO_RUN, VirtualSlots } from './virtual-slots.js';

const EventKind = { timer: 1, taskEnd: 2, call: 3, message: 4, served: 5 } as const;

export interface VirtualClusterOptions {
  readonly workers: number;
  readonly schedulers: number;
  readonly settings: ClusterSettings;
  /** Weights and limits of users. Default: equal weights. */
  readonly users?: UserGrants | undefined;
  readonly estimatorStates?: EstimatorStates | undefined;
  readonly seed: number | string;
  readonly slots?: number;
  /** Maximum number of tasks at a worker that share its CPUs. Default: as many as slots. */
  readonly places?: number | undefined;
  readonly capacity?: Resources;
  /** Slots, places and capacity of a worker by its number, at most `slots` and `places`. Default: all are alike. */
  readonly sizeOf?: ((worker: number) => WorkerSize) | undefined;
  /** Attributes of a worker by its number. Default: none. */
  readonly attributesOf?: ((worker: number) => readonly Attribute[]) | undefined;
  /** Network model; default: 0.5 ms per message (Hawk §4.1). */
  readonly network?: NetworkModel;
  /** Time that central takes for each message; later messages wait. Default: 0 ms. */
  readonly centralServiceMs?: Millis;
  /** Slow and failing workers. Central loses a failed worker when its lease would end. Default: none. */
  readonly trouble?: Trouble | undefined;
  /** Time at which the phases of a measured network begin. Default: 0. */
  readonly networkBeginsAt?: Millis;
  /** Solves problems of a central policy synchronously; without it, the policy plans without a solver. */
  readonly solve?: SolveProgram | undefined;
  /** Forecasts the ends of jobs; its duration counts only for the pause before the next forecast. Default: no forecasts. */
  readonly foresee?: ((outline: ClusterOutline) => Forecast) | undefined;
  /** Whether schedulers count the usage of users, which takes time and memory per job. Default: true. */
  readonly countsUsage?: boolean;
  /** Measures planning time, in ms, without any effect on the simulation. Default: a stopped clock. */
  readonly wallClock?: (() => Millis) | undefined;
  /**
   * Checks the invariants of the machine after each step, and that no room stays free while a task that fits waits.
   * Slow; for tests.
   */
  readonly checked?: boolean;
  /** Replaces the network: receives every message, and passes it to the cluster's `post` for delivery. */
  readonly carry?: (from: Address, to: Address, message: Message, cluster: VirtualCluster) => void;
  /** Wraps the environment of each machine, to observe everything that it does. */
  readonly observe?: <E extends Environment>(environment: E, self: Address, now: () => Millis) => E;
  readonly onJobEnd?: (job: Job, now: Millis) => void;
}

/** The size of one worker. */
interface WorkerSize {
  readonly slots: number;
  readonly places: number | undefined;
  readonly capacity: Resources;
}

/** A machine that runs tasks. */
export type TaskMachine = Machine & Pick<Worker, 'taskStarted' | 'taskEnded'>;

/**
 * A whole cluster in virtual time: the machines that run live, driven from one event queue. Messages take the time
 * given by the network model, processing takes none, and each task is a `sleep`, which ends on time or with a
 * measured delay.
 */
export class VirtualCluster {
  readonly central: Central;
  readonly schedulers: readonly Scheduler[];
  /** Read-only; use `atWorker` to act on one. */
  readonly workers: readonly Worker[];
  readonly centralAddress: Address;
  readonly schedulerAddresses: readonly Address[];
  readonly workerAddresses: readonly Address[];
  readonly planningTimes: PlanningTimes;
  events = 0;

  readonly #options: VirtualClusterOptions;
  /** Constant delay, unless delays are drawn. */
  readonly #delayMs: number;
  readonly #delays: Delays | undefined;
  /** Service of central's process; undefined if handling takes no time. */
  readonly #service: Service | undefined;
  /** All events except messages with a constant delay. */
  readonly #heap = new EventHeap();
  readonly #mail = new DelayLane();
  readonly #sent = new MessageCounts();
  /** Orders events at the same time, across both queues. */
  #sequence = 0;
  /** Columns of the parties, by address. */
  readonly #machines: Machine[] = [];
  readonly #environments: PartyEnvironment[] = [];
  readonly #names: string[] = [];
  /** First slot of each party; its slots end at the first one of the next party. */
  readonly #firstPlaces: number[] = [];
  readonly #slots = new VirtualSlots();
  readonly #workerMemory = new WorkerMemory();
  /** State shared by all workers, with consecutive addresses; added workers have separate state. */
  #ofWorkers: WorkerParty | undefined;
  readonly #firstWorker: number;
  readonly #workersEnd: number;
  readonly #slotsEach: number;
  /** Number of tasks that may be paused at each worker. */
  readonly #lendsEach: number;
  /** Runs that began in this step, as (worker, slot, run); their workers are notified at its end. */
  readonly #begun: number[] = [];
  /** Machines with input in this instant. */
  #unsettled: Address[] = [];
  /** Number of entries of `#begun` in use; the array keeps its length, because resizing it for each task is slow. */
  #begunCount = 0;
  readonly #conservation: WorkConservation;
  readonly #trouble: TroubleSource | undefined;
  /** Addresses of the workers by number; undefined while one is away. */
  readonly #present: (Address | undefined)[] = [];
  /** Numbers of workers that are back after a failure, with another address. */
  readonly #numbers = new Map<Address, number>();
  readonly #random: Random;
  readonly #carry: VirtualClusterOptions['carry'];
  /**
   * Uninitialized at first, so that the engine stores the time as one shared object per instant; a field with only
   * numbers would allocate one for each step.
   */
  #now: Millis;

  constructor(options: VirtualClusterOptions) {
    this.#options = options;
    this.planningTimes = new PlanningTimes(options.wallClock ?? (() => 0));
    this.#now = 0;
    this.#carry = options.carry;
    const random = Random.seeded(options.seed);
    this.#random = random;
    const network = options.network ?? DEFAULT_NETWORK;
    this.#delayMs = network.kind === 'constant' ? network.delayMs : Number.NaN;
    this.#conservation = new WorkConservation(IDLE_ROUND_TRIPS * 2 * (this.#delayMs || DRAWN_DELAY_MS));
    const firstWorker = 1 + options.schedulers;
    this.#firstWorker = firstWorker;
    this.#workersEnd = firstWorker + options.workers;
    this.#lendsEach = options.settings.policy.preset.packs ? (options.slots ?? 1) : 0;
    this.#slotsEach = Math.max(options.places ?? 1, options.slots ?? 1) + this.#lendsEach;
    const outline = { firstWorker, workers: options.workers, beginsAt: options.networkBeginsAt ?? 0 };
    this.#delays = delaysOf(network, outline, random.fork('network'));

    this.centralAddress = this.#nextAddress();
    const serviceMs = options.centralServiceMs ?? 0;
    this.#service = serviceMs > 0 ? new Service(serviceMs) : undefined;
    this.central = this.#newCentral(random.fork('central'));

    const ofSchedulers = random.fork('schedulers');
    this.schedulers = Array.from({ length: options.schedulers }, (_, i) =>
      this.#newScheduler(i, ofSchedulers),
    );
    this.schedulerAddresses = this.schedulers.map((_, i) => (1 + i) as Address);

    const ofWorkers = random.fork('workers');
    this.workers = Array.from({ length: options.workers }, (_, i) => this.#newWorker(i, ofWorkers));
    this.workerAddresses = this.workers.map((_, i) => (firstWorker + i) as Address);
    const { trouble } = options;
    if (trouble !== undefined) {
      this.#trouble = new TroubleSource(trouble, options.workers, random.fork('trouble'));
      this.#present.push(...this.workerAddresses);
      this.#planFailure(this.#trouble);
    }

    for (const [address, machine] of this.#machines.entries()) {
      this.#actAs(address as Address);
      machine.start(0);
    }
  }

  get now(): Millis {
    return this.#now;
  }

  /** Returns the number of messages sent so far, by type. */
  get messages(): Partial<Record<MessageType, number>> {
    return this.#sent.read();
  }

  /** Returns the steals of its workers, except added workers. */
  get steals(): Readonly<WorkerMemory['steals']> {
    return this.#workerMemory.steals;
  }

  /** Returns random delays; undefined if all messages take equally long. */
  get delays(): Delays | undefined {
    return this.#delays;
  }

  get pendingEvents(): number {
    return this.#heap.size + this.#mail.size;
  }

  /** Returns the time of the next event; Infinity if no events are left. */
  get nextEventAt(): Millis {
    return Math.min(this.#heap.nextTime, this.#mail.nextTime);
  }

  /** Calls back at a time, between two steps of the machines. */
  at(time: Millis, call: (now: Millis) => void): void {
    this.#heap.push(Math.max(time, this.#now), this.#sequence++, EventKind.call, 0, 0, 0, call);
  }

  /** Runs an action on a worker between steps, on that worker's behalf. */
  atWorker(index: number, act: (worker: Worker) => void): void {
    this.#actAs(this.workerAddresses[index]!);
    act(this.workers[index]!);
  }

  /** Submits a job to one of the schedulers. */
  submitAt(time: Millis, scheduler: number, spec: JobSpec): void {
    this.at(time, (now) => {
      this.schedulers[scheduler]!.submit(spec, undefined, now);
    });
  }

  /** Adds a machine of the caller and starts it. It gets messages, timers and random numbers like any other machine. */
  add(name: string, build: (self: Address, environment: Environment) => Machine): Address {
    const self = this.#nextAddress();
    const environment = new PartyEnvironment(this, self, this.#random.fork(name));
    const machine = build(self, this.#observed(environment, self));
    this.#admit(name, machine, environment);
    this.#actAs(self);
    machine.start(this.#now);
    return self;
  }

  /** Adds a machine of the caller that runs tasks. */
  addWorker(
    name: string,
    slots: number,
    build: (self: Address, environment: WorkerEnvironment) => TaskMachine,
  ): Address {
    const self = this.#nextAddress();
    const environment = new WorkerParty(this, self, this.#random.fork(name));
    const machine = build(self, this.#observed(environment, self));
    // Borrowers of paused tasks have separate slots.
    this.#admit(name, machine, environment, 2 * slots);
    this.#actAs(self);
    machine.start(this.#now);
    this.#notifyBegun();
    return self;
  }

  /** Adds an address without a machine, such as a client's; messages to it are passed to `receive`. */
  addOutsider(receive: (from: Address, message: Message, now: Millis) => void): Address {
    return this.add(`outside-${this.#nextAddress()}`, () => ({ ...NO_MACHINE, receive }));
  }

  /** Kills the party, as by SIGKILL: its tasks are gone, and it receives nothing more. */
  kill(address: Address): void {
    this.#machines[address] = NO_MACHINE;
    const end = this.#firstPlaces[address + 1] ?? this.#slots.size;
    for (let place = this.#firstPlaces[address]!; place < end; place++) this.#slots.remove(place);
  }

  #planFailure(trouble: TroubleSource): void {
    const failure = trouble.nextFailure();
    if (failure === undefined) return;
    this.at(this.#now + failure.inMs, (now) => {
      const { worker, downMs } = failure;
      const address = this.#present[worker];
      if (address !== undefined) {
        this.kill(address);
        this.#present[worker] = undefined;
        // Stands for the end of its lease, without simulating every heartbeat.
        this.at(now + LIVE_TIMINGS.leaseMs, () => this.post(address, this.centralAddress, { type: 'leave' }));
        this.at(now + downMs, () => this.#return(worker));
      }
      this.#planFailure(trouble);
    });
  }

  /** Starts a worker that failed, under its name. */
  #return(worker: number): void {
    const self = this.#nextAddress();
    const environment = new WorkerParty(this, self, this.#random.fork(self));
    const machine = this.#workerOf(worker, self, environment);
    this.#present[worker] = self;
    this.#numbers.set(self, worker);
    machine.start(this.#now);
  }

  /** Notifies all parties that the connection to this one broke, as after `kill`; its machine continues. */
  disconnectAt(time: Millis, from: Address): void {
    this.at(time, (now) => {
      for (const [address, machine] of this.#machines.entries()) {
        if (address === from) continue;
        this.#actAs(address as Address);
        machine.disconnected?.(from, now);
        this.#markUnsettled(address);
        if (this.#options.checked) machine.checkInvariants();
      }
    });
  }

  /** Runs until no events are left, or until the time is reached. */
  run(until: Millis = Number.POSITIVE_INFINITY): void {
    while (!this.advance(until, Number.POSITIVE_INFINITY));
    if (until !== Number.POSITIVE_INFINITY) this.#now = Math.max(this.#now, until);
  }

  /**
   * Runs events up to a time, but no more than a maximum number.
   *
   * @returns whether no events up to that time are left
   */
  advance(until: Millis, eventsMax: number): boolean {
    const heap = this.#heap;
    const mail = this.#mail;
    for (let left = eventsMax; left > 0; left--) {
      if (mail.size + heap.size === 0 || (mail.nextTime > until && heap.nextTime > until)) return true;
      this.step();
    }
    return false;
  }

  /** Runs the next event. There must be one. */
  step(): void {
    this.events++;
    const { nextTime } = this.#mail;
    const isMail =
      nextTime < this.#heap.nextTime || (nextTime === this.#heap.nextTime && this.#isMailFirst());
    if (isMail) this.#deliver();
    else this.#runEvent();
    if (this.#begunCount > 0) this.#notifyBegun();
    if (this.#unsettled.length > 0 && this.nextEventAt > this.#now) this.settle();
  }

  /** Lets machines with input in this instant do deferred work; called automatically at the end of the instant. */
  settle(): void {
    const unsettled = this.#unsettled;
    this.#unsettled = [];
    for (const address of unsettled) {
      this.#actAs(address);
      this.#settle(this.#machines[address]!);
      if (this.#options.checked) this.#machines[address]!.checkInvariants();
    }
    if (this.#options.checked && unsettled.includes(this.centralAddress)) this.#checkIdleRoom();
  }

  /** Checks that no room stays free while a task that fits waits. */
  #checkIdleRoom(): void {
    if (this.#machines[this.centralAddress] !== this.central) return;
    const violation = this.#conservation.check(this.central.startable(this.#now), this.#now);
    invariant(violation === undefined, violation ?? '');
  }

  #settle(machine: Machine): void {
    if (machine === this.central && this.#options.solve !== undefined)
      this.planningTimes.measure(() => machine.settle?.(this.#now));
    else machine.settle?.(this.#now);
  }

  #markUnsettled(address: number): void {
    if (this.#machines[address]?.settle === undefined) return;
    if (!this.#unsettled.includes(address as Address)) this.#unsettled.push(address as Address);
  }

  /** Whether the next message was inserted before the next other event, for events at equal times. */
  #isMailFirst(): boolean {
    if (this.#mail.size === 0) return false;
    return this.#heap.size === 0 || this.#mail.sequence < this.#heap.nextSequence();
  }

  #deliver(): void {
    const mail = this.#mail;
    if (this.#now !== mail.nextTime) this.#now = mail.nextTime;
    const { target } = mail;
    const from = mail.sender as Address;
    if (this.#isServed(target)) return this.#serve(from, mail.shift() as Message);
    this.#actAs(target as Address);
    const machine = this.#machines[target] ?? NO_MACHINE;
    machine.receive(from, mail.shift() as Message, this.#now);
    if (machine.settle !== undefined) this.#markUnsettled(target);
    if (this.#options.checked) machine.checkInvariants();
  }

  #runEvent(): void {
    const heap = this.#heap;
    if (this.#now !== heap.nextTime) this.#now = heap.nextTime;
    const row = heap.pop();
    const kind = heap.kinds[row]!;
    const target = heap.targets[row]! as Address;
    const first = heap.firsts[row]!;
    const second = heap.seconds[row]!;
    const ref = heap.refs[row];
    const sequence = heap.sequenceOf(row);
    heap.release(row);
    if (kind === EventKind.call) return (ref as (now: Millis) => void)(this.#now);
    if (kind === EventKind.message && this.#isServed(target))
      return this.#serve(first as Address, ref as Message);
    this.#actAs(target);
    if (kind === EventKind.message || kind === EventKind.served) {
      (this.#machines[target] ?? NO_MACHINE).receive(first as Address, ref as Message, this.#now);
    } else if (kind === EventKind.taskEnd) this.#taskEnds(target, first | 0, second | 0);
    else if (this.#environments[target]!.takeTimer(ref as string, first, sequence)) {
      this.#machines[target]!.wake(ref as string, first, this.#now);
    }
    if (this.#machines[target]?.settle !== undefined) this.#markUnsettled(target);
    if (this.#options.checked) this.#machines[target]?.checkInvariants();
  }

  /** Whether messages to this process are queued. */
  #isServed(target: number): boolean {
    return this.#service !== undefined && target === this.centralAddress;
  }

  /** Queues a message at a process that handles one message at a time. */
  #serve(from: Address, message: Message): void {
    const at = this.#service!.handledAt(this.#now);
    this.#heap.push(at, this.#sequence++, EventKind.served, this.centralAddress, from, 0, message);
  }

  #notifyBegun(): void {
    const begun = this.#begun;
    for (let i = 0; i < this.#begunCount; i += 3) {
      const worker = begun[i] as Address;
      const slot = begun[i + 1]!;
      if (!this.#slots.isCurrent(this.#place(worker, slot), begun[i + 2]!)) continue;
      this.#actAs(worker);
      this.#workerAt(worker).taskStarted(slot, this.#now);
      if (this.#options.checked) this.#workerAt(worker).checkInvariants();
    }
    this.#begunCount = 0;
  }

  /** @param slot,run integers: fractions would be allocated, which slows all code that reads them */
  #taskEnds(worker: Address, slot: number, run: number): void {
    const place = this.#place(worker, slot);
    if (!this.#slots.isCurrent(place, run)) return;
    const reason = this.#slots.takeKilled(place);
    const outcome = reason === undefined ? COMPLETED : KILL_OUTCOMES[reason];
    this.#workerAt(worker).taskEnded(slot, outcome, this.#slots.end(place, this.#now), this.#now);
  }

  // ---- effects of the parties

  /** @internal */
  send(from: Address, to: Address, message: Message): void {
    this.#sent.add(message.type);
    const carry = this.#carry;
    if (carry === undefined) this.post(from, to, message);
    else carry(from, to, message, this);
  }

  /** Sends a message. */
  post(from: Address, to: Address, message: Message): void {
    if (this.#delays !== undefined) return this.#postDrawn(this.#delays, from, to, message);
    this.#mail.push(this.#now + this.#delayMs, this.#sequence++, to, from, message);
  }

  #postDrawn(delays: Delays, from: Address, to: Address, message: Message): void {
    const at = delays.arrivalAt(from, to, message.type, this.#now);
    this.#heap.push(at, this.#sequence++, EventKind.message, to, from, 0, message);
  }

  /** @internal @returns the event that will wake the machine */
  pushTimer(self: Address, at: Millis, timer: string, key: number): number {
    const sequence = this.#sequence++;
    const dueAt = Math.max(at, this.#now);
    const lateMs = this.#delays?.timerLateMs(self, dueAt) ?? 0;
    this.#heap.push(dueAt + lateMs, sequence, EventKind.timer, self, key, 0, timer);
    return sequence;
  }

  /** @internal */
  execute(worker: Address, slot: number, order: TaskOrder): void {
    const now = this.#now;
    const sleepMs = sleepOf(order);
    const until = now + (this.#trouble?.runMs(this.#numberOf(worker), sleepMs) ?? sleepMs);
    const endsAt = until + (this.#delays?.sleepLateMs(until) ?? 0);
    const run = this.#slots.begin(this.#place(worker, slot), now, endsAt);
    const begun = this.#begun;
    begun[this.#begunCount++] = worker;
    begun[this.#begunCount++] = slot;
    begun[this.#begunCount++] = run;
    this.#pushEnd(worker, endsAt, slot, run);
  }

  /** @internal */
  killTask(worker: Address, slot: number, reason: KillReason): void {
    const run = this.#slots.kill(this.#place(worker, slot), reason, this.#now);
    if (run !== NO_RUN) this.#pushEnd(worker, this.#now, slot, run);
  }

  /** @internal */
  pauseTask(worker: Address, slot: number): void {
    this.#slots.pause(this.#place(worker, slot), this.#now);
  }

  /** @internal */
  resumeTask(worker: Address, slot: number): void {
    const resumed = this.#slots.resume(this.#place(worker, slot), this.#now);
    if (resumed !== undefined) this.#pushEnd(worker, resumed.at, slot, resumed.run);
  }

  /** @internal */
  jobEnded(job: Job): void {
    this.#options.onJobEnd?.(job, this.#now);
  }

  nameOf(address: Address): string {
    return this.#names[address] ?? `nobody (${address})`;
  }

  #pushEnd(worker: Address, at: Millis, slot: number, run: number): void {
    this.#heap.push(at, this.#sequence++, EventKind.taskEnd, worker, slot, run, undefined);
  }

  // ---- the parties

  #newCentral(random: Random): Central {
    const self = this.centralAddress;
    const environment = new CentralParty(
      this,
      self,
      random,
      this.#busyMs(),
      this.#solving(),
      this.#foreseeing(),
    );
    const central = new Central(
      { name: 'central', self, settings: this.#options.settings, users: this.#options.users },
      this.#observed(environment, self),
    );
    this.#admit('central', central, environment);
    return central;
  }

  /** Returns the solver. It takes no virtual time: its answer is a separate step in the same instant. */
  #solving(): CentralEnvironment['solve'] {
    const { solve } = this.#options;
    if (solve === undefined) return undefined;
    return (id, { version, model }) => {
      this.planningTimes.problemSent();
      this.at(this.#now, (now) => {
        if (this.#machines[this.centralAddress] !== this.central) return;
        const answer = answerOf(solve, version, model as Program);
        this.planningTimes.answerArrived();
        this.central.solved(id, answer, now);
        this.#markUnsettled(this.centralAddress);
      });
    };
  }

  #foreseeing(): CentralEnvironment['foresee'] {
    const { foresee } = this.#options;
    if (foresee === undefined) return undefined;
    return (outline) => {
      const forecast = foresee(outline);
      this.at(this.#now, (now) => {
        if (this.#machines[this.centralAddress] === this.central) this.central.foreseen(forecast, now);
      });
    };
  }

  #busyMs(): (() => Millis) | undefined {
    const service = this.#service;
    return service && (() => service.busyMs(this.#now));
  }

  #newScheduler(index: number, random: Random): Scheduler {
    const self = this.#nextAddress();
    const name = `s${index}`;
    const environment = new SchedulerParty(this, self, random);
    const scheduler = new Scheduler(
      {
        name,
        self,
        tag: name,
        endpoint: '',
        central: this.centralAddress,
        enlistRetryMs: this.#options.settings.timings.heartbeatMs,
        wallOffsetMs: 0,
        endedJobsMax: 1,
        endedJobsKeepMs: 0,
        estimatorStates: this.#options.estimatorStates,
        logBytesMax: 1 << 20,
        countsUsage: this.#options.countsUsage,
      },
      this.#observed(environment, self),
    );
    this.#admit(name, scheduler, environment);
    return scheduler;
  }

  #newWorker(index: number, random: Random): Worker {
    const self = this.#nextAddress();
    this.#ofWorkers ??= new WorkerParty(this, self, random);
    return this.#workerOf(index, self, this.#ofWorkers);
  }

  #workerOf(index: number, self: Address, environment: WorkerParty): Worker {
    const name = `w${index}`;
    const { slots = 1, places, capacity = NO_RESOURCES, sizeOf } = this.#options;
    const worker = new Worker(
      {
        name,
        self,
        ...(sizeOf?.(index) ?? { slots, places, capacity }),
        lends: this.#lendsEach,
        attributes: this.#options.attributesOf?.(index),
        central: this.centralAddress,
        registerRetryMs: this.#options.settings.timings.heartbeatMs,
      },
      this.#observed(environment, self),
      this.#workerMemory,
    );
    this.#admit(name, worker, environment, this.#slotsEach);
    return worker;
  }

  #admit(name: string, machine: Machine, environment: PartyEnvironment, slots = 0): void {
    this.#machines.push(machine);
    this.#environments.push(environment);
    this.#names.push(name);
    this.#firstPlaces.push(this.#slots.add(slots));
  }

  /** Assigns the effects of a step to this machine. */
  #actAs(address: Address): void {
    // All other machines have a separate environment.
    if (address >= this.#firstWorker && address < this.#workersEnd) this.#ofWorkers!.self = address;
  }

  #observed<E extends Environment>(environment: E, self: Address): E {
    return this.#options.observe?.(environment, self, () => this.#now) ?? environment;
  }

  #nextAddress(): Address {
    return this.#machines.length as Address;
  }

  #workerAt(address: Address): TaskMachine {
    return this.#machines[address] as TaskMachine;
  }

  #numberOf(worker: Address): number {
    return this.#numbers.get(worker) ?? worker - this.#firstWorker;
  }

  #place(worker: Address, slot: number): number {
    // Workers of the cluster have consecutive addresses, except added workers.
    if (worker < this.#workersEnd) return (worker - this.#firstWorker) * this.#slotsEach + slot;
    return this.#firstPlaces[worker]! + slot;
  }
}

function sleepOf({ payload, task }: TaskOrder): number {
  if (payload instanceof DealtSleeps) return payload.of(task);
  const { sleep } = payload as { sleep?: unknown };
  if (typeof sleep !== 'number') throw new Error('only tasks that sleep can be simulated');
  return sleep;
}

/** Maximum time, in round trips, for which room may stay free while a task that fits waits. */
const IDLE_ROUND_TRIPS = 3;
/** Random delays rarely exceed this. */
const DRAWN_DELAY_MS = 10;

const DEFAULT_NETWORK: NetworkModel = { kind: 'constant', delayMs: 0.5 };

/** Replaces killed machines, and ignores all inputs. */
const NO_MACHINE: Machine = {
  start() {},
  receive() {},
  wake() {},
  checkInvariants() {},
};
