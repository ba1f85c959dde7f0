import { Central } from '@goshawk/central';
import {
  type Address,
  type ClusterSettings,
  type Environment,
  type JobSpec,
  type Machine,
  type Message,
  type MessageType,
  type Millis,
  NO_RESOURCES,
  type Outcome,
  Random,
  type Resources,
} from '@goshawk/core';
import { type Job, Scheduler, type SchedulerEnvironment } from '@goshawk/scheduler';
import { type KillReason, type TaskOrder, Worker, type WorkerEnvironment } from '@goshawk/worker';
import { DelayLane } from './delay-lane.js';
import { EventHeap } from './event-heap.js';

const EventKind = { timer: 1, taskStart: 2, taskEnd: 3, call: 4 } as const;

export interface VirtualClusterOptions {
  readonly workers: number;
  readonly schedulers: number;
  readonly settings: ClusterSettings;
  readonly seed: number | string;
  readonly slots?: number;
  readonly capacity?: Resources;
  /** One way. ms */
  readonly networkDelayMs?: number;
  /** Checks the invariants of whoever has just made a step. Slow; for tests. */
  readonly checked?: boolean;
  /** Called for each message that is sent, before it travels. */
  readonly onSend?: (from: Address, to: Address, message: Message, now: Millis) => void;
  readonly onJobEnd?: (job: Job, now: Millis) => void;
  readonly onTaskStart?: (worker: Address, slot: number, now: Millis) => void;
}

interface Party {
  readonly name: string;
  readonly machine: Machine;
  alive: boolean;
}

/**
 * A whole cluster in virtual time: the machines that run live, driven from one agenda. Messages take a
 * constant time, work at the machines takes none, and a task is a `sleep` that ends when it says.
 */
export class VirtualCluster {
  readonly central: Central;
  readonly schedulers: readonly Scheduler[];
  readonly workers: readonly Worker[];
  readonly centralAddress: Address;
  readonly schedulerAddresses: readonly Address[];
  readonly workerAddresses: readonly Address[];
  readonly messages: Partial<Record<MessageType, number>> = {};
  events = 0;

  readonly #options: VirtualClusterOptions;
  readonly #delayMs: number;
  /** Everything but messages. */
  readonly #heap = new EventHeap();
  readonly #mail = new DelayLane();
  /** Orders all events of one time, whichever of the two they are in. */
  #sequence = 0;
  readonly #parties: Party[] = [];
  readonly #outside = new Map<Address, (from: Address, message: Message, now: Millis) => void>();
  #now: Millis = 0;

  constructor(options: VirtualClusterOptions) {
    this.#options = options;
    this.#delayMs = options.networkDelayMs ?? 0.5;
    const { settings } = options;
    const random = Random.seeded(options.seed);

    this.centralAddress = this.#nextAddress();
    const centralEnv = new PartyEnvironment(this, this.centralAddress, random.fork('central'));
    this.central = new Central({ name: 'central', self: this.centralAddress, settings }, centralEnv);
    this.#parties.push({ name: 'central', machine: this.central, alive: true });

    const schedulers: Scheduler[] = [];
    const schedulerAddresses: Address[] = [];
    for (let i = 0; i < options.schedulers; i++) {
      const self = this.#nextAddress();
      const env = new SchedulerParty(this, self, random.fork(`scheduler-${i}`));
      const scheduler = new Scheduler(
        {
          name: `s${i}`,
          self,
          tag: `s${i}`,
          endpoint: '',
          central: this.centralAddress,
          enlistRetryMs: settings.timings.heartbeatMs,
          wallOffsetMs: 0,
          endedJobsMax: 1,
          logBytesMax: 1 << 20,
        },
        env,
      );
      schedulers.push(scheduler);
      schedulerAddresses.push(self);
      this.#parties.push({ name: `s${i}`, machine: scheduler, alive: true });
    }
    this.schedulers = schedulers;
    this.schedulerAddresses = schedulerAddresses;

    const workers: Worker[] = [];
    const workerAddresses: Address[] = [];
    for (let i = 0; i < options.workers; i++) {
      const self = this.#nextAddress();
      const env = new WorkerParty(this, self, random.fork(`worker-${i}`), options.slots ?? 1);
      const worker = new Worker(
        {
          name: `w${i}`,
          self,
          slots: options.slots ?? 1,
          capacity: options.capacity ?? NO_RESOURCES,
          central: this.centralAddress,
          registerRetryMs: settings.timings.heartbeatMs,
        },
        env,
      );
      env.worker = worker;
      workers.push(worker);
      workerAddresses.push(self);
      this.#parties.push({ name: `w${i}`, machine: worker, alive: true });
    }
    this.workers = workers;
    this.workerAddresses = workerAddresses;
    for (const party of this.#parties) party.machine.start(0);
  }

  get now(): Millis {
    return this.#now;
  }

  get pendingEvents(): number {
    return this.#heap.size + this.#mail.size;
  }

  /** Calls back at a time, between two steps of the machines. */
  at(time: Millis, call: (now: Millis) => void): void {
    this.#heap.push(time, this.#sequence++, EventKind.call, 0, 0, 0, call);
  }

  /** A job that arrives at one of the schedulers. */
  submitAt(time: Millis, scheduler: number, spec: JobSpec): void {
    this.at(time, (now) => {
      this.schedulers[scheduler]!.submit(spec, undefined, now);
    });
  }

  /** An address outside the machines, such as a client's; what is sent to it is handed to `receive`. */
  addOutsider(receive: (from: Address, message: Message, now: Millis) => void): Address {
    const address = this.#parties.length as Address;
    this.#parties.push({ name: `outside-${address}`, machine: NO_MACHINE, alive: true });
    this.#outside.set(address, receive);
    return address;
  }

  /** The party stops where it stands, as by SIGKILL: what it ran is gone, and nothing reaches it any more. */
  kill(address: Address): void {
    this.#parties[address]!.alive = false;
  }

  /** Runs until nothing is left to do, or until the time is reached. */
  run(until: Millis = Number.POSITIVE_INFINITY): void {
    while (this.pendingEvents > 0 && Math.min(this.#heap.nextTime(), this.#mail.time) <= until) this.step();
    if (until !== Number.POSITIVE_INFINITY) this.#now = Math.max(this.#now, until);
  }

  /** Makes the next event happen. There must be one. */
  step(): void {
    const heap = this.#heap;
    const mail = this.#mail;
    const ahead = mail.time - heap.nextTime();
    this.events++;
    if (ahead < 0 || (ahead === 0 && mail.sequence < heap.nextSequence()) || heap.size === 0) this.#deliver();
    else this.#happen();
  }

  #deliver(): void {
    const mail = this.#mail;
    this.#now = mail.time;
    const target = mail.target as Address;
    const from = mail.sender as Address;
    const message = mail.shift() as Message;
    const party = this.#parties[target]!;
    if (!party.alive) return;
    if (party.machine === NO_MACHINE) this.#outside.get(target)!(from, message, this.#now);
    else party.machine.receive(from, message, this.#now);
    if (this.#options.checked) party.machine.checkInvariants();
  }

  #happen(): void {
    const heap = this.#heap;
    this.#now = heap.nextTime();
    const row = heap.pop();
    const kind = heap.kinds[row]!;
    const target = heap.targets[row]!;
    const first = heap.firsts[row]!;
    const second = heap.seconds[row]!;
    const ref = heap.refs[row];
    const sequence = heap.sequenceOf(row);
    heap.release(row);
    if (kind === EventKind.call) return (ref as (now: Millis) => void)(this.#now);
    const party = this.#parties[target]!;
    if (!party.alive) return;
    if (kind === EventKind.timer) {
      (ref as PartyEnvironment).fire(party.machine, sequence, this.#now);
    } else {
      const env = ref as WorkerParty;
      if (kind === EventKind.taskStart) env.taskStarts(first, second, this.#now);
      else env.taskEnds(first, second, this.#now);
    }
    if (this.#options.checked) party.machine.checkInvariants();
  }

  // ---- what the environments of the parties do

  /** @internal */
  send(from: Address, to: Address, message: Message): void {
    this.messages[message.type] = (this.messages[message.type] ?? 0) + 1;
    this.#options.onSend?.(from, to, message, this.#now);
    this.#mail.push(this.#now + this.#delayMs, this.#sequence++, to, from, message);
  }

  /** @internal */
  pushTimer(self: Address, at: Millis, env: PartyEnvironment): number {
    const sequence = this.#sequence++;
    this.#heap.push(Math.max(at, this.#now), sequence, EventKind.timer, self, 0, 0, env);
    return sequence;
  }

  /** @internal */
  pushTask(
    kind: 'start' | 'end',
    self: Address,
    at: Millis,
    slot: number,
    run: number,
    env: WorkerParty,
  ): void {
    this.#heap.push(
      at,
      this.#sequence++,
      kind === 'start' ? EventKind.taskStart : EventKind.taskEnd,
      self,
      slot,
      run,
      env,
    );
  }

  /** @internal */
  jobEnded(job: Job): void {
    this.#options.onJobEnd?.(job, this.#now);
  }

  /** @internal */
  taskStarted(worker: Address, slot: number): void {
    this.#options.onTaskStart?.(worker, slot, this.#now);
  }

  nameOf(address: Address): string {
    return this.#parties[address]?.name ?? `nobody (${address})`;
  }

  #nextAddress(): Address {
    return this.#parties.length as Address;
  }
}

class PartyEnvironment implements Environment {
  protected readonly cluster: VirtualCluster;
  protected readonly self: Address;
  readonly #random: Random;
  /** (timer, key) → the event that will wake it, and back. */
  readonly #timers = new Map<string, number>();
  readonly #armed = new Map<number, { timer: string; key: number }>();

  constructor(cluster: VirtualCluster, self: Address, random: Random) {
    this.cluster = cluster;
    this.self = self;
    this.#random = random;
  }

  random(): number {
    return this.#random.next();
  }

  send(to: Address, message: Message): void {
    this.cluster.send(this.self, to, message);
  }

  setTimer(timer: string, key: number, at: Millis): void {
    this.clearTimer(timer, key);
    const event = this.cluster.pushTimer(this.self, at, this);
    this.#timers.set(`${timer}/${key}`, event);
    this.#armed.set(event, { timer, key });
  }

  clearTimer(timer: string, key: number): void {
    const event = this.#timers.get(`${timer}/${key}`);
    if (event === undefined) return;
    this.#timers.delete(`${timer}/${key}`);
    this.#armed.delete(event);
  }

  nameOf(address: Address): string {
    return this.cluster.nameOf(address);
  }

  /** @internal */
  fire(machine: Machine, event: number, now: Millis): void {
    const armed = this.#armed.get(event);
    if (armed === undefined) return;
    this.#armed.delete(event);
    this.#timers.delete(`${armed.timer}/${armed.key}`);
    machine.wake(armed.timer, armed.key, now);
  }
}

class SchedulerParty extends PartyEnvironment implements SchedulerEnvironment {
  jobEnded(job: Job): void {
    this.cluster.jobEnded(job);
  }

  drained(): void {}
}

class WorkerParty extends PartyEnvironment implements WorkerEnvironment {
  worker!: Worker;
  /** Numbers the runs of each slot, so that the end of a killed one is not taken for that of the next. */
  readonly #runs: Float64Array;
  readonly #startedAt: Float64Array;
  readonly #killed: (KillReason | undefined)[];

  constructor(cluster: VirtualCluster, self: Address, random: Random, slots: number) {
    super(cluster, self, random);
    this.#runs = new Float64Array(slots);
    this.#startedAt = new Float64Array(slots);
    this.#killed = new Array<KillReason | undefined>(slots).fill(undefined);
  }

  execute(slot: number, order: TaskOrder): void {
    const now = this.cluster.now;
    const run = ++this.#runs[slot]!;
    this.#startedAt[slot] = now;
    this.#killed[slot] = undefined;
    this.cluster.taskStarted(this.self, slot);
    if (order.timeoutMs !== undefined) this.cluster.pushTask('start', this.self, now, slot, run, this);
    this.cluster.pushTask('end', this.self, now + sleepOf(order.payload), slot, run, this);
  }

  kill(slot: number, reason: KillReason): void {
    this.#killed[slot] = reason;
    this.cluster.pushTask('end', this.self, this.cluster.now, slot, ++this.#runs[slot]!, this);
  }

  drained(): void {}

  /** @internal */
  taskStarts(slot: number, run: number, now: Millis): void {
    if (this.#runs[slot] === run) this.worker.taskStarted(slot, now);
  }

  /** @internal */
  taskEnds(slot: number, run: number, now: Millis): void {
    if (this.#runs[slot] !== run) return;
    const reason = this.#killed[slot];
    const outcome =
      reason === undefined ? COMPLETED : { ...COMPLETED, kind: reason === 'shutdown' ? 'lost' : reason };
    this.worker.taskEnded(slot, outcome as Outcome, now - this.#startedAt[slot]!, now);
  }
}

function sleepOf(payload: unknown): number {
  const { sleep } = payload as { sleep?: unknown };
  if (typeof sleep !== 'number') throw new Error('only tasks that sleep can be simulated');
  return sleep;
}

const COMPLETED: Outcome = {
  kind: 'completed',
  value: undefined,
  errorCode: '',
  errorMessage: '',
  exitCode: undefined,
  signal: undefined,
};

const NO_MACHINE: Machine = {
  start() {},
  receive() {},
  wake() {},
  checkInvariants() {},
};
