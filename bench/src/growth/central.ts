import { Central, type ClusterEvent } from '@goshawk/central';
import {
  type Address,
  type ClusterSettings,
  DEFAULT_POLICY,
  LIVE_TIMINGS,
  type Message,
  type MessageOf,
  type PolicyName,
  parseUsers,
  type Resources,
} from '@goshawk/core';
import { presetNamed } from '@goshawk/policies';
import { Driven, type EncodedMessage } from './driven.js';

const USERS = '{"limited":{"running":1000},"other":{"weight":1}}';

interface Setup {
  readonly policy?: PolicyName;
  readonly workers?: number;
  /** Whether some users have limits. */
  readonly users?: boolean;
}

/** Central with workers of one slot, one scheduler, and a client. */
export class DrivenCentral extends Driven {
  readonly central: Central;
  readonly scheduler: Address;
  readonly client: Address;
  readonly workers: Address[] = [];
  /** Names of workers that central has lost. */
  readonly lost: string[] = [];
  /** The last match of each worker. */
  readonly #matches = new Map<Address, number>();
  #jobs = 0;
  #requests = 0;

  constructor({ policy = 'goshawk', workers = 0, users = false }: Setup) {
    super('central');
    const settings: ClusterSettings = {
      policy: { ...DEFAULT_POLICY, policy, preset: presetNamed(policy) },
      timings: LIVE_TIMINGS,
    };
    const eventOccurred = (event: ClusterEvent) => {
      if (event.kind === 'worker-lost') this.lost.push(event.worker);
    };
    const config = { name: 'c', self: this.party('central'), settings };
    this.central = new Central(
      users ? { ...config, users: parseUsers(USERS, 'users.json') } : config,
      Object.assign(this.environment, { eventOccurred } satisfies Partial<
        ConstructorParameters<typeof Central>[1]
      >),
    );
    this.onSend((_, message) => this.#noteMatches(message));
    this.start(this.central);
    this.scheduler = this.party('scheduler');
    this.client = this.party('client');
    const names = { name: 's', tag: 's', endpoint: '', http: undefined };
    const state = { durable: true, draining: false, epoch: 0, adopted: false, previousIncarnations: [] };
    this.post(this.scheduler, { type: 'enlist', ...names, ...state });
    this.deliver(Array.from({ length: workers }, () => this.joining()));
    this.deliver(this.workers.map((worker) => this.freeSlot(worker)));
    this.runTo(1_000);
  }

  /** Returns the registration of one more worker. */
  joining(): EncodedMessage {
    const worker = this.party('worker');
    this.workers.push(worker);
    return this.encoded(worker, {
      type: 'register',
      name: `w${worker}`,
      slots: 1,
      capacity: { cpu: 1, memory: 4e9 },
      draining: false,
      runs: [],
      attributes: [],
      places: undefined,
      drainDeadlineMs: undefined,
      http: undefined,
    });
  }

  heartbeat(from: Address): EncodedMessage {
    return this.encoded(from, { type: 'heartbeat', busy: 0, queued: 0, used: undefined });
  }

  /** Returns the report that the worker runs nothing. */
  freeSlot(worker: Address): EncodedMessage {
    const match = this.#matches.get(worker);
    const received = match === undefined ? [] : [match];
    const spare = { cpu: 1, memory: 4e9 };
    return this.encoded(worker, {
      type: 'pull',
      heard: received,
      free: 1,
      spare,
      long: 0,
      shortMs: 0,
      runs: [],
    } as never);
  }

  /** Returns the need of a new job of one task. */
  need(demand: Resources = {}, user?: string): EncodedMessage {
    return this.encoded(this.scheduler, {
      type: 'need',
      job: ++this.#jobs,
      stage: 0,
      long: false,
      tasks: 1,
      matches: 0,
      estimateMs: 100,
      demand,
      part: 'judged',
      jobTasks: 1,
      ageMs: 0,
      estimateFollows: undefined,
      priority: undefined,
      requires: undefined,
      attainedMs: undefined,
      gang: undefined,
      avoid: undefined,
      user: user ?? '',
    } as MessageOf<'need'>);
  }

  needs(count: number, demandOf: (at: number) => Resources = () => ({}), user?: string): EncodedMessage[] {
    return Array.from({ length: count }, (_, at) => this.need(demandOf(at), user));
  }

  /** Returns the question for all waiting tasks, or for those of one job. */
  question(job?: number): EncodedMessage {
    const request = ++this.#requests;
    const owner = this.environment.nameOf(this.scheduler);
    const message: Message =
      job === undefined ? { type: 'explainLine', request } : { type: 'explainNeed', request, owner, job };
    return this.encoded(this.client, message);
  }

  /** Returns the question for a page of the list of workers. */
  page(from: number): EncodedMessage {
    return this.encoded(this.client, { type: 'listWorkers', request: ++this.#requests, from });
  }

  #noteMatches(message: Message): void {
    if (message.type !== 'matched') return;
    for (const { worker, match } of message.workers) this.#matches.set(worker, match);
  }

  /** Lets the time pass while all parties send heartbeats. */
  beatFor(seconds: number): void {
    for (let second = 0; second < seconds; second++) {
      this.deliver([this.scheduler, ...this.workers].map((party) => this.heartbeat(party)));
      this.runTo(this.now + LIVE_TIMINGS.heartbeatMs);
    }
  }
}
