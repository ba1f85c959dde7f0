import { type Address, pulls } from '@goshawk/core';
import { type BookedJob, policyOf } from '@goshawk/policies';
import { Copies } from './cluster/copies.js';
import { DuplicateCentrals } from './cluster/duplicate-centrals.js';
import { ExpectedSchedulers } from './cluster/expected-schedulers.js';
import { Holdings } from './cluster/holdings.js';
import { LearnedCutoff } from './cluster/learned-cutoff.js';
import { Leases } from './cluster/leases.js';
import { LostWorkers } from './cluster/lost-workers.js';
import { Partitions } from './cluster/partitions.js';
import { Publisher } from './cluster/publisher.js';
import { Registry } from './cluster/registry.js';
import { Takeovers } from './cluster/takeovers.js';
import type { CentralConfig, CentralCounters, CentralEnvironment } from './contract.js';
import { Dispatcher } from './dispatch/dispatcher.js';
import { LoadShedding } from './dispatch/load-shedding.js';
import { OccupiedPublisher } from './dispatch/occupied-publisher.js';
import { Outlook } from './outlook.js';

/** The state of central. The functions in `members/` act on it: they take it as `s`. A class has state of its own. */
export class CentralState {
  readonly config: CentralConfig;
  readonly env: CentralEnvironment;
  readonly counters: CentralCounters = {
    tasksPlaced: 0,
    workersJoined: 0,
    workersLost: 0,
    schedulersLost: 0,
  };

  // The members of the cluster, and what each knows about the others.
  readonly registry = new Registry();
  readonly leases: Leases;
  readonly publisher: Publisher;
  /** Settings for all parties, with the current cutoff. */
  readonly cutoff: LearnedCutoff;
  readonly duplicates: DuplicateCentrals;

  // Workers.
  readonly lost = new LostWorkers();
  readonly partitions: Partitions;

  // Schedulers.
  readonly expected: ExpectedSchedulers;
  readonly takeovers: Takeovers;
  readonly copies: Copies;
  /** Reported journals that were restored from an older copy: tag, present address and missing address. */
  readonly rolledBack = new Set<string>();
  /** Names of the missing schedulers in the last report, to report only changes. */
  missingReported = '';

  // Tasks, and the limits of their users.
  readonly dispatcher: Dispatcher;
  readonly occupied: OccupiedPublisher;
  readonly shedding: LoadShedding;
  readonly holdings = new Holdings();
  /** Whether users had limits before an earlier change. Schedulers may still enforce removed limits. */
  wereLimited = false;
  /** Whether tasks of users with limits may run that this central does not know yet. */
  isUnsure = false;
  /** Whether workers report free slots. */
  readonly pulls: boolean;

  // What clients read.
  readonly outlook: Outlook;

  constructor(config: CentralConfig, env: CentralEnvironment) {
    const { settings } = config;
    const { policy, timings } = settings;
    const { registry } = this;
    this.config = config;
    this.env = env;
    this.pulls = pulls(policy.preset);
    this.cutoff = new LearnedCutoff(settings);
    this.shedding = new LoadShedding(config.overloadedArrivals);
    this.leases = new Leases(registry, timings);
    this.publisher = new Publisher(env, registry, settings, () => this.expected.remembered());
    this.duplicates = new DuplicateCentrals(env, registry, config);
    this.dispatcher = this.#makeDispatcher();
    this.partitions = new Partitions(policy, (worker) => this.dispatcher.isBusy(worker));
    this.expected = new ExpectedSchedulers(
      registry.schedulers,
      config.expectedSchedulers ?? [],
      timings.leaseMs,
    );
    const { expected, leases } = this;
    this.takeovers = new Takeovers(env, registry.schedulers, expected, leases, timings.leaseMs);
    this.copies = new Copies(env, registry.schedulers, expected, leases, timings.leaseMs);
    this.occupied = new OccupiedPublisher(env, registry, this.dispatcher.books, settings);
    this.outlook = new Outlook(config, env, registry, (to, request, value) =>
      env.send(to, { type: 'plannedEnd', request, value }),
    );
  }

  #makeDispatcher(): Dispatcher {
    const { env } = this;
    const { policy, timings } = this.config.settings;
    const cutoffMs = () => this.cutoff.settings.policy.cutoffMs;
    const random = () => env.random();
    const made = policyOf(policy, cutoffMs, timings.heartbeatMs, random, env.policyFailed);
    const host = {
      tasksArrived: (tasks: number) => this.shedding.arrived(tasks),
      nameIfUnknown: (owner: Address, worker: Address) =>
        this.publisher.isOutdated(owner, worker) ? this.registry.workers.get(worker)?.name : undefined,
      freed: (address: Address) => {
        const worker = this.registry.workers.get(address);
        if (worker !== undefined) this.partitions.freed(worker);
      },
      ignores: (worker: string, resources: readonly string[]) =>
        env.eventOccurred?.({ kind: 'resources-ignored', worker, resources }),
      preempts: (job: BookedJob, worker: Address) => {
        const name = this.registry.workers.get(worker)?.name ?? '';
        env.eventOccurred?.({ kind: 'task-preempted', job: job.name, worker: name });
      },
    };
    return new Dispatcher(env, made, timings, host, policy.preset.declares);
  }
}
