import {
  type Address,
  type ClusterShares,
  DEFAULT_POLICY,
  type JobInput,
  LIVE_TIMINGS,
  type Message,
  type MessageOf,
  type MessageType,
  type Millis,
  type PolicySettings,
  parseJobSpec,
  type UserGrants,
} from '@goshawk/core';
import { type Job, TASK_STATE_NAMES } from '@goshawk/scheduler';
import type { Envelope } from './network.js';
import { type Party, SteppedCluster } from './stepped-cluster.js';

/** A message by type and its place among the messages of this type, from 0. */
export interface Lost {
  readonly type: MessageType;
  readonly nth: number;
}

/** A stepped cluster in which messages take no time, and that loses one message, or those of a cut-off party. */
export class LossyCluster {
  readonly cluster: SteppedCluster;
  readonly jobs: { readonly owner: Party; readonly job: Job }[] = [];
  /** Number of messages by type. */
  readonly counts = new Map<MessageType, number>();
  /** Whether the message has been lost. */
  isLost = false;
  /** All messages to and from this party are lost, and no connection breaks. */
  cutOff: Party | undefined;
  readonly #lost: Lost | undefined;
  readonly #policy: PolicySettings;
  readonly #client: Party;
  #shares: ClusterShares | undefined;
  #workers: MessageOf<'workerPage'>['value']['workers'] = [];
  #requests = 0;

  constructor(
    policy: Partial<PolicySettings>,
    lost: Lost | undefined,
    { workers = 2, slots = 2, users }: { workers?: number; slots?: number; users?: UserGrants } = {},
  ) {
    this.#lost = lost;
    this.#policy = { ...DEFAULT_POLICY, ...policy };
    const settings = { policy: this.#policy, timings: LIVE_TIMINGS };
    this.cluster = new SteppedCluster({ settings, seed: 'lost-messages' });
    this.cluster.addCentral('central', users);
    for (const name of ['s1', 's2']) this.cluster.addScheduler(name);
    for (let at = 1; at <= workers; at++) this.cluster.addWorker(`w${at}`, slots);
    this.#client = this.cluster.addClient('client', (_, message) => {
      if (message.type === 'shares') this.#shares = message.value;
      if (message.type === 'workerPage') this.#workers = message.value.workers;
    });
  }

  named(name: string): Party {
    return [...this.cluster.parties.values()].find((party) => party.alive && party.name === name)!;
  }

  submit(owner: string, input: JobInput): Job {
    const party = this.named(owner);
    let job: Job | undefined;
    this.cluster.step(party, () => {
      job = this.cluster.schedulerOf(party).submit(parseJobSpec(input), undefined, this.cluster.now);
    });
    this.jobs.push({ owner: party, job: job! });
    return job!;
  }

  cancel(job: Job): void {
    const { owner } = this.jobs.find((each) => each.job === job)!;
    this.cluster.step(owner, () => this.cluster.schedulerOf(owner).cancel(job, this.cluster.now));
  }

  update(job: Job, change: { held?: boolean; priority?: 'low' | 'normal' | 'high' }): void {
    const request = ++this.#requests;
    const { held, priority } = change;
    this.#request(job, { type: 'updateJob', request, id: job.id, held, priority });
  }

  cancelTasks(job: Job, first: number, last: number): void {
    const request = ++this.#requests;
    this.#request(job, {
      type: 'cancelTasks',
      request,
      id: job.id,
      tasks: [{ first, last }],
      stage: undefined,
    });
  }

  retry(job: Job): void {
    const request = ++this.#requests;
    const key = `retry of ${job.id}`;
    this.#request(job, {
      type: 'retryJob',
      request,
      key,
      id: job.id,
      failedOnly: undefined,
      tasks: undefined,
      asNew: undefined,
    });
  }

  #request(job: Job, message: Message): void {
    const { owner } = this.jobs.find((each) => each.job === job)!;
    this.cluster.sendAs(this.#client, owner, message);
  }

  /** Advances the clock; messages take no time. */
  run(forMs: Millis): void {
    const until = this.cluster.now + forMs;
    this.#settle();
    while (this.cluster.nextEventAt() <= until) {
      this.cluster.happenNext();
      this.#settle();
    }
    this.cluster.now = until;
  }

  #settle(): void {
    const { network } = this.cluster;
    for (;;) {
      while (this.cluster.nextEventAt() <= this.cluster.now) this.cluster.happenNext();
      const [head] = network.heads();
      if (head === undefined) return;
      if (this.#loses(head)) network.take(head.from, head.to);
      else this.cluster.deliver(head.from, head.to);
    }
  }

  #loses({ from, to, message: { type } }: Envelope): boolean {
    // Clients repeat their requests.
    if (from === this.#client.address || to === this.#client.address) return false;
    const { address } = this.cutOff ?? {};
    if (address !== undefined && (from === address || to === address)) return true;
    const nth = this.counts.get(type) ?? 0;
    this.counts.set(type, nth + 1);
    const isLost = this.#lost?.type === type && this.#lost.nth === nth;
    this.isLost ||= isLost;
    return isLost;
  }

  /** The shares that central reports, by the name of the job. */
  shares(): ClusterShares {
    this.#shares = undefined;
    this.cluster.sendAs(this.#client, this.cluster.centralParty, {
      type: 'describeShares',
      request: ++this.#requests,
    });
    this.run(0);
    return this.#shares!;
  }

  /** The states of workers that central reports, by name. */
  workerStates(): Record<string, string> {
    this.cluster.sendAs(this.#client, this.cluster.centralParty, {
      type: 'listWorkers',
      request: ++this.#requests,
      from: 0,
    });
    this.run(0);
    return Object.fromEntries(this.#workers.map(({ name, state }) => [name, state]));
  }

  drain(worker: string, on: boolean): void {
    this.cluster.sendAs(this.#client, this.cluster.centralParty, {
      type: 'drainWorker',
      request: ++this.#requests,
      worker,
      on,
      deadlineMs: undefined,
    });
  }

  /** Tasks by job: running and waiting, with user and weight if owners declare jobs, according to central, its owner, and the workers. */
  views() {
    const central: Record<string, object> = {};
    const { declares } = this.#policy.preset;
    for (const { id, running, waiting, user, weight } of this.shares().jobs)
      if (running + waiting > 0) central[id] = { running, waiting, ...(declares && { user, weight }) };
    const owners: Record<string, object> = {};
    const atOwners: string[] = [];
    for (const { job } of this.jobs) {
      const states = Array.from(job.tasks.states, (state) => TASK_STATE_NAMES[state]);
      const running = states.filter((state) => state === 'running' || state === 'placed').length;
      const waiting = job.isHeld ? 0 : job.stages.reduce((sum, stage) => sum + stage.waiting, 0);
      const { user = '', weight } = job.spec;
      if (running + waiting > 0 && job.needsCentral)
        owners[job.id] = { running, waiting, ...(declares && { user, weight: weight / job.slackFactor }) };
      for (const [task, state] of states.entries())
        if (state === 'running') atOwners.push(`${job.id}/${task}`);
    }
    const atWorkers: string[] = [];
    for (const worker of this.cluster.alive('worker')) {
      const { slots } = this.cluster.workerOf(worker);
      for (const slot of slots.running()) {
        const { owner, job, task } = slots.taskAt(slot);
        atWorkers.push(`${this.cluster.partyMeant(owner as Address, worker)!.name}-${job}/${task}`);
      }
    }
    return { central, owners, atOwners: atOwners.sort(), atWorkers: atWorkers.sort() };
  }
}
