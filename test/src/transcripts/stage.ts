import { type Address, type ClusterSettings, type Message, type Millis, NOBODY } from '@goshawk/core';
import { type Job, TASK_STATE_NAMES } from '@goshawk/scheduler';
import type { TaskOrder } from '@goshawk/worker';
import type { Envelope } from '../stepped/network.js';
import { type Party, SteppedCluster, type SteppedOptions } from '../stepped/stepped-cluster.js';
import { type Names, renderMessage } from './render.js';

/**
 * The cluster of a transcript, and the lines that its machines produce. Heartbeats and their answers are delivered
 * automatically and not shown.
 */
export class Stage {
  readonly cluster: SteppedCluster;
  readonly #names: Names;
  /** The effects since the last call. */
  #lines: string[] = [];
  readonly #jobs = new Map<string, { readonly owner: Party; readonly job: Job }>();
  readonly #labels = new Map<string, string>();
  /** Pairs of parties whose messages stay in flight until they are released. */
  readonly #held = new Set<string>();
  /** Start of the command that advances the clock; undefined while the clock is stopped. */
  #clockFrom: Millis | undefined;
  #reportedAt: Millis = 0;
  #requests = 0;

  constructor(settings: ClusterSettings, seed: string, makeDriver?: SteppedOptions['makeDriver']) {
    this.#names = {
      party: (address) => this.cluster.parties.get(address)?.name ?? `nobody ${address}`,
      job: (owner, job) => this.#labels.get(`${owner} ${job}`) ?? `job ${job}`,
    };
    this.cluster = new SteppedCluster({
      settings,
      seed,
      makeDriver,
      observer: {
        sent: (from, to, message) => this.#sent(from, to, message),
        executed: (worker, _, order) => this.#say(`${worker.name} runs ${this.#taskOf(order)}`),
        killed: (worker, slot, reason) => this.#say(`${worker.name} kills slot ${slot}: ${reason}`),
        jobEnded: (owner, job) =>
          this.#say(`${owner.name}: ${this.#names.job(owner.address, job.number)} ${job.state}`),
        drained: (party) => this.#say(`${party.name} holds nothing any more`),
      },
    });
  }

  takeLines(): string[] {
    const lines = this.#lines;
    this.#lines = [];
    return lines;
  }

  /** Discards the effects so far. */
  forgetLines(): void {
    this.#lines = [];
  }

  say(line: string): void {
    this.#lines.push(line);
  }

  named(name: string): Party {
    const found = [...this.cluster.parties.values()].find((party) => party.name === name);
    if (found === undefined) throw new Error(`no party is named ${name}`);
    return found;
  }

  // ---- jobs

  addJob(label: string, owner: Party, job: Job): void {
    this.#jobs.set(label, { owner, job });
    this.#labels.set(`${owner.address} ${job.number}`, label);
  }

  /** Assigned first, so that messages sent during the submission show the name of the job. */
  expectJob(label: string, owner: Party): void {
    const number = this.cluster.schedulerOf(owner).counters.jobsAccepted + 1;
    this.#labels.set(`${owner.address} ${number}`, label);
  }

  job(label: string): Job {
    return this.#entry(label).job;
  }

  #entry(label: string): { readonly owner: Party; readonly job: Job } {
    const entry = this.#jobs.get(label);
    if (entry === undefined) throw new Error(`no job is called ${label}`);
    return entry;
  }

  describeJob(label: string): string {
    const { owner, job } = this.#entry(label);
    const tasks = [...job.tasks.states].map((state, task) => {
      const attempt = job.tasks.attemptOf(task);
      const worker = job.tasks.workerOf(task);
      const where = worker === NOBODY ? '' : ` at ${this.cluster.partyMeant(worker, owner)?.name}`;
      return `${label}.${task} ${TASK_STATE_NAMES[state]}${where}${attempt > 1 ? ` (attempt ${attempt})` : ''}`;
    });
    return `${label} ${job.state}: ${tasks.join(', ')}`;
  }

  /** Requests of clients have increasing numbers. */
  nextRequest(): number {
    return ++this.#requests;
  }

  // ---- the network

  hold(from: Party, to: Party): void {
    this.#held.add(`${from.address} ${to.address}`);
  }

  release(from: Party, to: Party): void {
    this.#held.delete(`${from.address} ${to.address}`);
  }

  /**
   * Delivers all messages in flight that are not delayed on request, and those that follow from them; no time passes.
   * Due timers fire before messages sent at the same instant arrive.
   */
  settle(): void {
    const { cluster } = this;
    do {
      while (cluster.nextEventAt() <= cluster.now) cluster.happenNext();
    } while (cluster.deliverAll((envelope) => this.#isFree(envelope)).length > 0);
  }

  /** Heartbeats that are next in their channel. */
  passHeartbeats(): void {
    for (;;) {
      const next = this.cluster.network
        .heads()
        .find((head) => isHeartbeat(head.message) && this.#isFree(head));
      if (next === undefined) return;
      this.cluster.deliver(next.from, next.to);
    }
  }

  isOnItsWay(from: Party, to: Party): boolean {
    return this.cluster.network.heads().some((head) => head.from === from.address && head.to === to.address);
  }

  /** Returns the messages in flight, as lines. */
  onTheWay(): string[] {
    return this.cluster.network
      .all()
      .filter(({ message, to }) => !isHeartbeat(message) && this.cluster.party(to).alive)
      .map(({ from, to, message }) => renderMessage(from, to, message, this.#names));
  }

  #isFree({ from, to }: Envelope): boolean {
    return !this.#held.has(`${from} ${to}`);
  }

  // ---- time

  /** Advances the clock. With `delivering`, messages take no time; otherwise they stay in flight. */
  advance(byMs: Millis, delivering: boolean): void {
    const { cluster } = this;
    const until = cluster.now + byMs;
    this.#clockFrom = cluster.now;
    this.#reportedAt = cluster.now;
    if (delivering) this.settle();
    while (cluster.nextEventAt() <= until) {
      cluster.happenNext();
      if (delivering) this.settle();
      else this.passHeartbeats();
    }
    cluster.now = until;
    this.#clockFrom = undefined;
  }

  // ---- effects of the machines

  #sent(from: Party, to: Address, message: Message): void {
    if (!isHeartbeat(message)) this.#say(renderMessage(from.address, to, message, this.#names));
  }

  #say(line: string): void {
    const { now } = this.cluster;
    if (this.#clockFrom !== undefined && now !== this.#reportedAt) {
      this.#reportedAt = now;
      this.#lines.push(`after ${Number((now - this.#clockFrom).toFixed(1))} ms:`);
    }
    this.#lines.push(line);
  }

  #taskOf({ jobId, task, attempt }: TaskOrder): string {
    const label = [...this.#jobs].find(([, { job }]) => job.id === jobId)?.[0] ?? jobId;
    return `${label}.${task}${attempt === 1 ? '' : ` (attempt ${attempt})`}`;
  }
}

function isHeartbeat({ type }: Message): boolean {
  return type === 'heartbeat' || type === 'heartbeatAck';
}
