import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { GoshawkError, type Millis, type PolicySettings } from '@goshawk/core';
import type { HttpOptions } from '@goshawk/runtime';
import type { Resolved } from '../options.js';
import { isOwn } from '../own-names.js';
import { flagsFor } from '../terminal/command-line.js';
import { type Child, startChild } from './child.js';
import { connect } from './connect.js';
import { CENTRAL_OPTIONS, type NOTIFY_OPTIONS, SCHEDULER_OPTIONS, WORKER_OPTIONS } from './daemon-options.js';

interface LocalClusterOptions
  extends Pick<Resolved<typeof WORKER_OPTIONS>, 'workers' | 'slots' | 'attribute' | 'logLevel'>,
    Partial<Pick<Resolved<typeof WORKER_OPTIONS>, 'resources' | 'runAs' | 'network'>>,
    Partial<
      Pick<
        Resolved<typeof SCHEDULER_OPTIONS>,
        'shadow' | 'keep' | 'keepJobs' | 'userWaitingTasksMax' | keyof typeof NOTIFY_OPTIONS
      >
    > {
  /** Path of the script that runs commands. */
  readonly executable: string;
  readonly schedulers: number;
  readonly policy: PolicySettings;
  /** The path of the file of users. */
  readonly users?: string | undefined;
  /** The folder of the cluster's keys; undefined: every connection is served. */
  readonly keys: string | undefined;
  /** Listen address of central; port 0 for any. */
  readonly bind: string;
  /** Logs, and what outlives the processes. */
  readonly dataFolder: string;
  /** Jobs survive their scheduler, and this cluster: the next one with the same folder goes on with them. */
  readonly journal: boolean;
  /** `postgres://…`: there, and not each in a folder of its own. */
  readonly journalUrl?: string | undefined;
  /** The audit log of all processes. */
  readonly auditLog?: string | undefined;
  /** With a page, and the HTTP API. */
  readonly dashboard?: boolean;
  /** HTTP address of central; the others use free ports, which central lists. */
  readonly http?: Pick<HttpOptions, 'bind' | 'token'> | undefined;
  /** Called with lines for people, about what happens to the processes. */
  readonly note: (line: string) => void;
}

/** Workers in one process: enough of them to keep processes few, few enough that a hundred use two cores. */
const WORKERS_PER_PROCESS = 50;
/** Until every process has joined. ms */
const JOIN_TIMEOUT_MS = 60_000;
const JOIN_POLL_MS = 50;
/** A process that ends by itself is started again after this; twice as long after each start that came to nothing. ms */
const RESTART_PAUSE_MS = 500;
/** Short enough that nobody waits long for what can start again, long enough for a machine that has too much to do. ms */
const RESTART_PAUSE_MAX_MS = 10_000;
/** A process that has run for so long was well. ms */
const WELL_AFTER_MS = 10_000;

/** How one process of the cluster is started. */
interface Place {
  readonly name: string;
  readonly role: (typeof DRAIN_ORDER)[number];
  /** @param at where it listened before, and others look for it; undefined when it is started first */
  args(at?: string): readonly string[];
  /** Variables that other users of this machine must not see among its arguments. */
  readonly secrets?: Readonly<Record<string, string>>;
}

/** In which work flows: no new jobs, then no workers, then no central. */
const DRAIN_ORDER = ['scheduler', 'worker', 'central', 'dashboard'] as const;

/**
 * A cluster on this machine: central, schedulers and workers as real processes over loopback. A process that
 * ends by itself is started again at the same place, and those around it carry on meanwhile.
 */
export class LocalCluster {
  readonly #options: LocalClusterOptions;
  readonly #children = new Map<string, Child & Pick<Place, 'role'>>();
  readonly #restarts = new Set<NodeJS.Timeout>();
  #stopping = false;
  /** Token for viewing a cluster with keys, valid across restarts of its page. */
  readonly #pageToken = randomBytes(24).toString('base64url');

  private constructor(options: LocalClusterOptions) {
    this.#options = options;
  }

  /**
   * Starts the processes and waits until all have joined.
   *
   * @throws GoshawkError when a process does not start; those that did are stopped
   */
  static async start(options: LocalClusterOptions, signal?: AbortSignal): Promise<LocalCluster> {
    const cluster = new LocalCluster(options);
    try {
      await cluster.#startAll(signal);
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  /** Central's endpoint: the cluster's URL. */
  get url(): string {
    return this.#children.get('central')!.endpoint;
  }

  /** The address of its page; undefined where it has none. */
  get page(): string | undefined {
    const endpoint = this.#children.get('dashboard')?.endpoint;
    const token = this.#options.keys === undefined ? '' : `#token=${this.#pageToken}`;
    return endpoint && `${endpoint}${token}`;
  }

  /** The processes, by name, as they are now. */
  get processes(): ReadonlyMap<string, Child> {
    return this.#children;
  }

  /** Lets all jobs end. */
  async drain(): Promise<void> {
    this.#restartNothing();
    for (const role of DRAIN_ORDER) {
      const children = [...this.#children.values()].filter((child) => child.role === role);
      for (const child of children) child.process.kill('SIGTERM');
      await Promise.all(children.map((child) => child.ended));
    }
  }

  /** Ends all processes now, and what they run. */
  async stop(): Promise<void> {
    this.#restartNothing();
    const children = [...this.#children.values()];
    for (const child of children) {
      child.process.kill('SIGTERM');
      child.process.kill('SIGINT');
    }
    const patience = setTimeout(() => {
      for (const child of children) child.process.kill('SIGKILL');
    }, STOP_PATIENCE_MS);
    await Promise.all(children.map((child) => child.ended));
    clearTimeout(patience);
  }

  #restartNothing(): void {
    this.#stopping = true;
    for (const timer of this.#restarts) clearTimeout(timer);
  }

  async #startAll(signal?: AbortSignal): Promise<void> {
    await this.#start(this.#central());
    await Promise.all([...this.#schedulers(), ...this.#workers()].map((place) => this.#start(place)));
    await this.#allJoined(signal);
    if (this.#options.dashboard) await this.#start(this.#dashboard());
  }

  get #httpSecrets(): Record<string, string> {
    const token = this.#options.http?.token;
    return token === undefined ? {} : { GOSHAWK_HTTP_TOKEN: token };
  }

  /** For processes that central lists. */
  get #anyHttpPort(): string | undefined {
    return this.#options.http?.bind.replace(/\d+$/, '0');
  }

  #central(): Place {
    const { policy, users, logLevel, bind, http, schedulers, auditLog } = this.#options;
    const settings = JSON.stringify(policy);
    const expectSchedulers = schedulers > 0 ? `s[0-${schedulers - 1}]` : undefined;
    const args = (at = bind) => [
      'central',
      ...flagsFor(CENTRAL_OPTIONS, {
        bind: at,
        logLevel,
        settings,
        expectSchedulers,
        users,
        http: http?.bind,
        auditLog,
      }),
    ];
    return { name: 'central', role: 'central', args, secrets: this.#httpSecrets };
  }

  #dashboard(): Place {
    const { keys } = this.#options;
    return {
      name: 'dashboard',
      role: 'dashboard',
      args: (at = 'http://127.0.0.1:0') => [
        'dashboard',
        ...['--listen', new URL(at).host],
        ...['--cluster', this.url],
      ],
      ...(keys && { secrets: { GOSHAWK_DASHBOARD_TOKENS: `operate ${this.#pageToken}` } }),
    };
  }

  #schedulers(): Place[] {
    const { schedulers, journal, journalUrl, dataFolder, policy, ...options } = this.#options;
    return Array.from({ length: schedulers }, (_, i) => {
      const name = `s${i}`;
      const flags = flagsFor(SCHEDULER_OPTIONS, {
        name,
        centralUrl: this.url,
        http: this.#anyHttpPort,
        logLevel: options.logLevel,
        dataFolder: journal ? join(dataFolder, name) : undefined,
        shadow: options.shadow,
        estimator: isOwn(policy.estimator) ? policy.estimator : undefined,
        keep: options.keep,
        keepJobs: options.keepJobs,
        userWaitingTasksMax: options.userWaitingTasksMax,
        notifyHosts: options.notifyHosts,
        notifySecretFile: options.notifySecretFile,
        notifyCommand: options.notifyCommand,
        auditLog: options.auditLog,
      });
      const args = () => ['scheduler', ...flags];
      const secrets = { ...this.#httpSecrets, ...(journalUrl && { GOSHAWK_JOURNAL: journalUrl }) };
      return { name, role: 'scheduler', args, secrets };
    });
  }

  #workers(): Place[] {
    const { workers, slots, resources, attribute, dataFolder, logLevel } = this.#options;
    const processes = Math.max(1, Math.ceil(workers / WORKERS_PER_PROCESS));
    return Array.from({ length: processes }, (_, i) => {
      const firstNumber = Math.floor((i * workers) / processes);
      const name = `workers${i}`;
      const flags = flagsFor(WORKER_OPTIONS, {
        name: 'w',
        numbered: true,
        workers: Math.floor(((i + 1) * workers) / processes) - firstNumber,
        firstNumber,
        slots,
        centralUrl: this.url,
        http: this.#anyHttpPort,
        logLevel,
        dataFolder: join(dataFolder, name),
        memoryShares: workers,
        resources,
        attribute,
        runAs: this.#options.runAs,
        network: this.#options.network,
        hide: [dataFolder],
        auditLog: this.#options.auditLog,
      });
      return { name, role: 'worker', args: () => ['worker', ...flags], secrets: this.#httpSecrets };
    });
  }

  /** @param at where it was before */
  async #start(place: Place, at?: string, pauseMs: Millis = RESTART_PAUSE_MS): Promise<void> {
    const { executable, keys, dataFolder } = this.#options;
    const { name, role, secrets } = place;
    const keyArgs = keys === undefined ? [] : ['--keys', keys];
    const log = join(dataFolder, 'logs', `${name}.log`);
    const child = await startChild(name, [executable, ...place.args(at), ...keyArgs], log, secrets);
    // The stop of the cluster did not see a process that was about to start.
    if (this.#stopping) child.process.kill('SIGTERM');
    this.#children.set(name, { ...child, role });
    const upAt = performance.now();
    void child.ended.then((how) => {
      if (this.#stopping) return;
      const isWell = performance.now() - upAt > WELL_AFTER_MS;
      const pause = isWell ? RESTART_PAUSE_MS : pauseMs;
      this.#options.note(`${name} exited (${how}); restarting it`);
      this.#startLater(place, child.endpoint, pause, '');
    });
  }

  /**
   * Tries until it is up: whatever keeps a process from starting (a port that is taken, a disk that is full) goes.
   *
   * @param said of it last; the same is not said twice
   */
  #startLater(place: Place, at: string, pauseMs: Millis, said: string): void {
    const next = Math.min(2 * pauseMs, RESTART_PAUSE_MAX_MS);
    const { note } = this.#options;
    const timer = setTimeout(() => {
      this.#restarts.delete(timer);
      this.#start(place, at, next).then(
        () => note(`${place.name} is back`),
        ({ message }: Error) => {
          if (this.#stopping) return;
          if (message !== said) note(`${message}; retrying until it is up`);
          this.#startLater(place, at, next, message);
        },
      );
    }, pauseMs);
    this.#restarts.add(timer);
  }

  async #allJoined(signal?: AbortSignal): Promise<void> {
    const { workers, schedulers } = this.#options;
    const giveUpAt = performance.now() + JOIN_TIMEOUT_MS;
    await using client = await connect(this.url, { signal, keys: this.#options.keys });
    for (;;) {
      const seen = await client.describe();
      if (seen.workers.length >= workers && seen.schedulers.length >= schedulers) return;
      signal?.throwIfAborted();
      if (performance.now() > giveUpAt) {
        const missing = `${seen.workers.length} of ${workers} workers and ${seen.schedulers.length} of ${schedulers} schedulers`;
        throw new GoshawkError(
          'start-failed',
          `only ${missing} have joined`,
          `see ${join(this.#options.dataFolder, 'logs')}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, JOIN_POLL_MS));
    }
  }
}

const STOP_PATIENCE_MS = 10_000;
