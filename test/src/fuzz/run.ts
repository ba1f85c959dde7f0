import {
  type Address,
  drawIndex,
  type JobInput,
  type JobSpec,
  type Message,
  type MessageType,
  type Millis,
  mayRun,
  parseJobSpec,
  Random,
} from '@goshawk/core';
import { type Job, TaskState } from '@goshawk/scheduler';
import type { TaskOrder } from '@goshawk/worker';
import { type Course, outcomeOf } from '../stepped/executor.js';
import type { Envelope } from '../stepped/network.js';
import { nextIncarnation, type Party, plainName, SteppedCluster } from '../stepped/stepped-cluster.js';
import { SteppedDisk } from '../stepped/stepped-disk.js';
import { type Fault, type Incident, type Scenario, ZONES } from './scenario.js';

/** Longer than any lease. ms */
const CUT_OFF_MS = 8_000;
/** At once, before anybody can have noticed, and longer than any lease. ms */
const SCHEDULER_AWAY_MS = [0, 500, 8_000];
/** A disk that has something to write does so between two deliveries with this probability. */
const COMMIT_PROBABILITY = 0.3;
const CENTRAL_AWAY_MS = [0, 1_000, 20_000];
/** After the last incident everything must have come to an end within this. ms */
const PATIENCE_MS = 2_000_000;
/** …and after that nothing may be left anywhere within this. ms */
const CALM_MS = 600_000;
/** Between two deliveries at most. ms */
const STEP_MS = 0.1;
/** Of the messages that may be lost or doubled, so many are. */
const FAULT_PROBABILITY = 0.08;

interface Report {
  readonly scenario: Scenario;
  readonly cluster: SteppedCluster;
  readonly jobs: readonly Submitted[];
  /** Ended jobs, in order, doubles included. */
  readonly ended: readonly Job[];
  readonly steps: number;
}

/** Whatever incarnation has it now. */
interface Submitted {
  owner: Party;
  job: Job;
  readonly key: string;
  readonly spec: JobSpec;
  readonly mayFail: boolean;
}

/** A scenario as it goes: which message is next, what is lost, whom a fault hits is drawn from its seed. */
export class FuzzRun {
  readonly #scenario: Scenario;
  readonly #log: ((line: string) => void) | undefined;
  readonly #random: Random;
  readonly #cluster: SteppedCluster;
  readonly #operator: Party;
  #jobs: Submitted[] = [];
  /** By the plain name of their scheduler. */
  readonly #disks = new Map<string, SteppedDisk>();
  /** Names of the incarnations that start then. */
  readonly #returning = new Map<string, Millis>();
  readonly #ended: Job[] = [];
  /** Attempts that were executed: none may be twice. */
  readonly #executed = new Set<string>();
  /** Address → when it is heard again. */
  readonly #cutOff = new Map<Address, Millis>();
  /** The last message of this kind between these two was lost; the next gets through. */
  readonly #lostLast = new Set<string>();
  /** Central is away until then. */
  #centralBackAt = Number.POSITIVE_INFINITY;
  readonly #terminating = new Set<Party>();
  /** Jobs of which an attempt may fail. */
  readonly #failing = new Set<string>();
  #request = 1;
  /** Workers that came since a zone had none. */
  #added = 0;
  #steps = 0;

  constructor(scenario: Scenario, log?: (line: string) => void) {
    this.#scenario = scenario;
    this.#log = log;
    this.#random = Random.seeded(`${scenario.seed}/run`);
    this.#cluster = new SteppedCluster({
      settings: scenario.settings,
      seed: scenario.seed,
      killMs: () => scenario.killMs * this.#random.next(),
      courseOf: (order) => this.#courseOf(order),
      observer: {
        jobEnded: (_, job) => this.#ended.push(job),
        drained: (party) => this.#drained(party),
        executed: (party, _, order) => {
          this.#executedWhere(party, order);
          this.#executedOnce(order);
        },
        stepped: () => {
          this.#steps++;
        },
      },
    });
    this.#operator = this.#cluster.addClient('operator');
  }

  play(): Report {
    const { incidents, schedulers, workers } = this.#scenario;
    this.#cluster.addCentral();
    for (let i = 1; i <= schedulers; i++) this.#cluster.addScheduler(`s${i}`, this.#diskOf(`s${i}`));
    for (let i = 1; i <= workers; i++) this.#addWorker(`w${i}`);
    for (const incident of incidents) {
      this.#runTo(incident.at);
      this.#happen(incident);
    }
    const lastAt = incidents.at(-1)?.at ?? 0;
    const backAt = Number.isFinite(this.#centralBackAt) ? this.#centralBackAt : 0;
    this.#runTo(Math.max(lastAt, backAt, ...this.#cutOff.values(), ...this.#returning.values()));
    this.#heal();
    this.#runUntil(
      () => this.#isDone(),
      PATIENCE_MS,
      () => this.#heal(),
    );
    if (this.#isDone()) this.#runUntil(() => leaks(this.#cluster).length === 0, CALM_MS);
    return {
      scenario: this.#scenario,
      cluster: this.#cluster,
      jobs: this.#jobs,
      ended: this.#ended,
      steps: this.#steps,
    };
  }

  /** @param lookIn is called every ten seconds */
  #runUntil(reached: () => boolean, patienceMs: number, lookIn?: () => void): void {
    const deadline = this.#cluster.now + patienceMs;
    for (let i = 1; this.#cluster.now < deadline && !reached(); i++) {
      this.#runTo(this.#cluster.now + 500);
      if (i % 20 === 0) lookIn?.();
    }
  }

  #isDone(): boolean {
    return this.#jobs.every(({ owner, job }) => job.hasEnded || !owner.alive);
  }

  // ---- the clock and the network

  #runTo(time: number): void {
    if (this.#centralBackAt <= time) {
      this.#goOnTo(this.#centralBackAt);
      this.#centralBackAt = Number.POSITIVE_INFINITY;
      this.#cluster.addCentral(nextIncarnation(this.#cluster.centralParty.name));
    }
    for (const [name, at] of [...this.#returning].sort(([, a], [, b]) => a - b)) {
      if (at > time) continue;
      this.#goOnTo(at);
      this.#returning.delete(name);
      this.#return(name);
    }
    this.#goOnTo(time);
  }

  #goOnTo(time: number): void {
    const cluster = this.#cluster;
    for (;;) {
      this.#commit(COMMIT_PROBABILITY);
      const eventAt = cluster.nextEventAt();
      if (eventAt <= cluster.now) {
        cluster.happenNext();
        continue;
      }
      const heads = cluster.network.heads().filter((envelope) => !this.#isHeld(envelope));
      const next = Math.min(eventAt, time);
      const overdue = heads.filter(({ sentAt }) => sentAt + this.#scenario.delayMaxMs <= next);
      const isEager = this.#chance(this.#scenario.eagerness);
      if (cluster.now < next && heads.length > 0 && (overdue.length > 0 || isEager)) {
        cluster.now = Math.min(next, cluster.now + STEP_MS * this.#random.next());
        this.#deliver(this.#pick(overdue.length > 0 ? overdue : heads));
      } else if (eventAt <= time) {
        cluster.happenNext();
      } else {
        break;
      }
    }
    this.#commit(1);
    cluster.now = Math.max(cluster.now, time);
  }

  // ---- disks

  #diskOf(scheduler: string): SteppedDisk | undefined {
    if (!this.#scenario.faultProfile.schedulersReturn) return undefined;
    const name = plainName(scheduler);
    const disk = this.#disks.get(name) ?? new SteppedDisk();
    this.#disks.set(name, disk);
    return disk;
  }

  #commit(probability: number): void {
    if (this.#disks.size === 0) return;
    for (const owner of this.#cluster.alive('scheduler')) {
      const disk = this.#diskOf(owner.name)!;
      if (!disk.isDirty || !this.#chance(probability)) continue;
      this.#cluster.step(owner, () =>
        this.#cluster.schedulerOf(owner).recorded(disk.commit(), this.#cluster.now),
      );
    }
  }

  /** The next incarnation of a scheduler, with its disk: all that was committed is there. */
  #return(name: string): void {
    const owner = this.#cluster.addScheduler(name, this.#diskOf(name));
    const scheduler = this.#cluster.schedulerOf(owner);
    for (const entry of this.#jobs) {
      if (plainName(entry.owner.name) !== plainName(name)) continue;
      entry.owner = owner;
      // It has no policy yet: a job that it did not know would be an error.
      entry.job = scheduler.submit(entry.spec, entry.key, this.#cluster.now);
      if (entry.job.hasEnded && !this.#ended.includes(entry.job)) this.#ended.push(entry.job);
    }
  }

  #isHeld({ from, to }: Envelope): boolean {
    const { now } = this.#cluster;
    return (this.#cutOff.get(from) ?? 0) > now || (this.#cutOff.get(to) ?? 0) > now;
  }

  #deliver({ from, to, message }: Envelope): void {
    const { lost = [], doubled = [] } = this.#scenario.faultProfile;
    const { network } = this.#cluster;
    const key = `${from} ${to} ${message.type}`;
    if (lost.includes(message.type) && !this.#lostLast.has(key) && this.#chance(FAULT_PROBABILITY)) {
      this.#lostLast.add(key);
      this.#tell('lost', { from, to, message });
      network.take(from, to);
      return;
    }
    this.#lostLast.delete(key);
    if (doubled.includes(message.type) && this.#chance(FAULT_PROBABILITY)) {
      // Comes again behind what is on its way already.
      network.send(from, to, message, this.#cluster.now);
    }
    this.#tell('delivered', { from, to, message });
    this.#cluster.deliver(from, to);
  }

  #tell(what: string, { from, to, message }: Pick<Envelope, 'from' | 'to' | 'message'>): void {
    if (this.#log === undefined) return;
    const nameOf = (party: Address) => this.#cluster.party(party).name;
    const { now } = this.#cluster;
    this.#log(`${now.toFixed(2)} ${nameOf(from)} → ${nameOf(to)} ${what} ${JSON.stringify(message)}`);
  }

  // ---- what happens

  #happen(incident: Incident): void {
    if (incident.kind !== 'submit') return this.#injectFault(incident.kind);
    const owners = this.#cluster.alive('scheduler');
    if (owners.length === 0) return;
    const owner = this.#pick(owners);
    const scheduler = this.#cluster.schedulerOf(owner);
    const spec = parseJobSpec({ ...incident.job, ...this.#drawPredecessors() });
    if (!scheduler.isReady || scheduler.whyImpossible(spec) !== undefined) return;
    this.#cluster.step(owner, () => {
      const key = `key ${this.#request++}`;
      const job = scheduler.submit(spec, key, this.#cluster.now);
      const mayFail = spec.timeoutMs !== undefined || this.#chance(0.2);
      if (mayFail) this.#failing.add(job.id);
      this.#jobs.push({ owner, job, key, spec, mayFail });
    });
  }

  /** Jobs that a client may know of. A scheduler without a disk would give their ids again. */
  #drawPredecessors(): Pick<JobInput, 'after' | 'afterOk'> {
    const known = this.#jobs.filter(({ owner, key }) => this.#diskOf(owner.name)?.hasAccepted(key) ?? true);
    if (this.#scenario.faultProfile.schedulersDie || known.length === 0 || !this.#chance(0.3)) return {};
    const ids = [this.#pick(known).job.id, this.#pick(known).job.id];
    return this.#chance(0.5) ? { after: ids } : { afterOk: ids };
  }

  #injectFault(kind: Fault): void {
    const cluster = this.#cluster;
    const workers = cluster.alive('worker').filter((worker) => !this.#terminating.has(worker));
    switch (kind) {
      case 'killWorker':
        return this.#killWorker(this.#pick(workers));
      case 'cutOffWorker':
        this.#cutOff.set(this.#pick(workers).address, cluster.now + CUT_OFF_MS);
        return;
      case 'cutOffScheduler':
        if (cluster.alive('scheduler').length === 0) return;
        this.#cutOff.set(this.#pick(cluster.alive('scheduler')).address, cluster.now + CUT_OFF_MS);
        return;
      case 'killScheduler': {
        const scheduler = this.#pick(cluster.alive('scheduler'));
        cluster.kill(scheduler);
        // What a dead incarnation still had to say is dropped by the mailbox when its successor speaks.
        cluster.network.forget(({ from }) => from === scheduler.address);
        cluster.addScheduler(nextIncarnation(scheduler.name));
        return;
      }
      case 'restartScheduler': {
        const schedulers = cluster.alive('scheduler');
        if (schedulers.length === 0) return;
        const scheduler = this.#pick(schedulers);
        // Nobody was answered about what the disk does not have.
        const disk = this.#diskOf(scheduler.name)!;
        this.#jobs = this.#jobs.filter(({ owner, key }) => owner !== scheduler || disk.hasAccepted(key));
        cluster.kill(scheduler);
        cluster.network.forget(({ from }) => from === scheduler.address);
        this.#returning.set(nextIncarnation(scheduler.name), cluster.now + this.#pick(SCHEDULER_AWAY_MS));
        return;
      }
      case 'killCentral':
        if (!cluster.centralParty.alive) return;
        cluster.kill(cluster.centralParty);
        // Its machine may have lost power, and then nobody hears of it.
        if (this.#scenario.faultProfile.centralDisconnects && this.#chance(0.7)) this.#disconnectCentral(0.9);
        this.#centralBackAt = cluster.now + this.#pick(CENTRAL_AWAY_MS);
        return;
      case 'disconnectCentral':
        return this.#disconnectCentral(0.5);
      case 'loadCentral':
        return cluster.loadCentral(1);
      case 'unloadCentral':
        return cluster.loadCentral(0);
      case 'terminateWorker': {
        const worker = this.#pick(workers);
        if (workers.length < 3) return;
        this.#terminating.add(worker);
        return cluster.step(worker, () => cluster.workerOf(worker).drain(cluster.now));
      }
      case 'drainWorker':
      case 'undrainWorker':
        return this.#drain(this.#pick(workers), kind === 'drainWorker');
      case 'cancelJob': {
        const open = this.#jobs.filter(({ owner, job }) => !job.hasEnded && owner.alive);
        if (open.length === 0) return;
        const { owner, job } = this.#pick(open);
        return cluster.step(owner, () => cluster.schedulerOf(owner).cancel(job, cluster.now));
      }
    }
  }

  /** Some lose their connections to central, with what is on its way there; some of them are told so twice. */
  #disconnectCentral(share: number): void {
    const cluster = this.#cluster;
    const { centralParty: central } = cluster;
    for (const party of [...cluster.alive('scheduler'), ...cluster.alive('worker')]) {
      if (!this.#chance(share)) continue;
      const isLost = this.#chance(0.5);
      if (isLost) cluster.network.forget(({ from, to }) => from === party.address && to === central.address);
      cluster.disconnect(party, central);
      if (this.#chance(0.2)) cluster.disconnect(party, central);
    }
  }

  #addWorker(name: string): void {
    const attributes = [{ name: 'zone', value: zoneOf(name) }];
    this.#cluster.addWorker(name, this.#scenario.slots, this.#scenario.capacity, attributes);
  }

  #killWorker(worker: Party): void {
    this.#cluster.kill(worker);
    if (this.#chance(0.7) || this.#cluster.alive('worker').length < 3) {
      this.#addWorker(nextIncarnation(worker.name));
    }
  }

  #drain(worker: Party, on: boolean): void {
    const name = plainName(worker.name);
    const request: Message = { type: 'drainWorker', request: this.#request++, worker: name, on };
    this.#cluster.sendAs(this.#operator, this.#cluster.centralParty, request);
  }

  /** Drained workers go, and the rest takes work again. */
  #heal(): void {
    const left = this.#cluster.alive('worker').filter((worker) => !this.#terminating.has(worker));
    for (const worker of left) this.#drain(worker, false);
    for (const [place, zone] of ZONES.entries()) {
      if (!left.some(({ name }) => zoneOf(name) === zone)) this.#addWorker(`w${100 * ++this.#added + place}`);
    }
  }

  #drained(party: Party): void {
    if (!this.#terminating.has(party)) return;
    this.#cluster.workerOf(party).leave();
    this.#cluster.kill(party);
  }

  // ---- tasks

  #courseOf({ payload, jobId }: TaskOrder): Course {
    const { sleep } = payload as { sleep: number };
    const fails = this.#failing.has(jobId) && this.#chance(0.2);
    return { runMs: sleep, outcome: outcomeOf(fails ? 'failed' : 'completed') };
  }

  /** A worker runs nothing that requires another zone. */
  #executedWhere({ name }: Party, { jobId, task }: TaskOrder): void {
    // A scheduler that was started again counts its jobs anew.
    if (this.#scenario.faultProfile.schedulersDie) return;
    const spec = this.#jobs.find(({ job }) => job.id === jobId)?.job.dag.stageOf(task).spec;
    if (spec !== undefined && !mayRun({ attributes: { zone: zoneOf(name) } }, spec))
      throw new Error(`${jobId} task ${task} requires ${spec.requires?.zone}, and runs at ${name}`);
  }

  #executedOnce({ jobId, task, attempt }: TaskOrder): void {
    // A scheduler that was started again counts its jobs anew.
    if (this.#scenario.faultProfile.schedulersDie) return;
    const run = `${jobId} task ${task} attempt ${attempt}`;
    if (this.#executed.has(run)) throw new Error(`${run} was executed twice`);
    this.#executed.add(run);
  }

  #pick<T>(of: readonly T[]): T {
    return of[drawIndex({ random: () => this.#random.next() }, of.length)]!;
  }

  #chance(probability: number): boolean {
    return this.#random.next() < probability;
  }
}

/** By its number, whatever its incarnation. */
function zoneOf(worker: string): string {
  return ZONES[Number.parseInt(plainName(worker).slice(1), 10) % ZONES.length]!;
}

/** Everything that is wrong with how a run came out, a line each. */
export function complaintsAbout({ scenario, cluster, jobs, ended }: Report): string[] {
  const complaints: string[] = [];
  for (const { owner, job, mayFail } of jobs) {
    if (!owner.alive) continue;
    const states = [...job.tasks.states].map((state) => Object.keys(TaskState)[state]).join(' ');
    if (!job.hasEnded) {
      const probes = job.stages.map((stage) => stage.probes.out).join(' ');
      complaints.push(`${job.id} (${job.class}) has not ended: ${states}; probes out: ${probes}`);
      continue;
    }
    if (ended.filter((other) => other === job).length !== 1)
      complaints.push(`${job.id} ended more than once`);
    if (job.history.lostCount > 0 && !losesAttempts(scenario))
      complaints.push(`${job.id} lost ${job.history.lostCount} attempts, though no worker was lost`);
    for (const { job: before } of jobs) {
      const mustComplete = job.spec.afterOk?.includes(before.id) ?? false;
      if (!mustComplete && !job.spec.after?.includes(before.id)) continue;
      if (job.firstStartAt !== undefined && !(before.endedAt! <= job.firstStartAt))
        complaints.push(
          `${job.id} started at ${job.firstStartAt}, and ${before.id} ended at ${before.endedAt}`,
        );
      if (mustComplete && before.state !== 'completed' && job.state !== 'cancelled')
        complaints.push(`${job.id} is ${job.state}, after ${before.id} that is ${before.state}`);
      if (job.cancelReason?.includes(`${before.id} `) && before.state === 'completed')
        complaints.push(`${job.id}: ${job.cancelReason}`);
    }
    const mustComplete = !mayFail && !job.cancelling;
    if (mustComplete && job.state !== 'completed')
      complaints.push(`${job.id} is ${job.state} for no reason: ${states}`);
  }
  return [...complaints, ...wrongCounts(cluster, jobs), ...leaks(cluster)];
}

/** Whether a worker may be lost, leave, or be told to drop what it runs. */
function losesAttempts({ faultProfile, delayMaxMs }: Scenario): boolean {
  const { workersDie, workersCutOff, schedulersCutOff, drains, lost, centralDies } = faultProfile;
  // A welcome that takes seconds may be that of a central that has died since, and cost the lease.
  const isMisled = centralDies === true && delayMaxMs > 300;
  return (
    isMisled || lost !== undefined || [workersDie, workersCutOff, schedulersCutOff, drains].includes(true)
  );
}

function wrongCounts(cluster: SteppedCluster, jobs: Report['jobs']): string[] {
  return cluster.alive('scheduler').flatMap((owner) => {
    // What it has of earlier incarnations it did not count.
    if (owner.name.includes('/')) return [];
    const { tasksCompleted } = cluster.schedulerOf(owner).counters;
    const completed = jobs
      .filter((entry) => entry.owner === owner)
      .reduce((sum, { job }) => sum + job.tasks.countOf(TaskState.completed), 0);
    return completed === tasksCompleted
      ? []
      : [`${owner.name} counted ${tasksCompleted} completed tasks, its jobs have ${completed}`];
  });
}

/** What is still held somewhere when nothing is left to do. */
function leaks(cluster: SteppedCluster): string[] {
  const complaints: string[] = [];
  for (const worker of cluster.alive('worker')) {
    if (!cluster.workerOf(worker).isIdle) complaints.push(`${worker.name} is not idle`);
  }
  for (const scheduler of cluster.alive('scheduler')) {
    const { activeJobs } = cluster.schedulerOf(scheduler);
    if (activeJobs > 0) complaints.push(`${scheduler.name} holds ${activeJobs} jobs`);
  }
  const { pendingTasks, placedTasks } = cluster.central;
  if (pendingTasks > 0) complaints.push(`central holds ${pendingTasks} tasks that wait for a worker`);
  if (placedTasks > 0) complaints.push(`central believes that ${placedTasks} tasks are at workers`);
  const harmless: readonly MessageType[] = [
    'heartbeat',
    'heartbeatAck',
    'steal',
    'stolen',
    'usage',
    'occupied',
    // Said with each heartbeat, if nobody has told the worker since to go on.
    'drained',
  ];
  for (const { message } of cluster.network.all()) {
    if (!harmless.includes(message.type)) complaints.push(`a ${message.type} is still on its way`);
  }
  return complaints;
}
