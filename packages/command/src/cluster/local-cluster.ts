import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { GoshawkError, type Millis, type PolicySettings } from '@goshawk/core';
import type { HttpOptions } from '@goshawk/runtime';
import { isCustom } from '../module-names.js';
import type { Resolved } from '../options.js';
import { flagsFor } from '../terminal/command-line.js';
import { type Child, startChild } from './child.js';
import { connect } from './connect.js';
import { CENTRAL_OPTIONS, type NOTIFY_OPTIONS, SCHEDULER_OPTIONS, WORKER_OPTIONS } from './daemon-options.js';
import { sizeOfWorker } from './resources.js';

interface LocalClusterOptions
  extends Pick<Resolved<typeof WORKER_OPTIONS>, 'workers' | 'cpus' | 'attribute' | 'logLevel'>,
    Partial<Pick<Resolved<typeof WORKER_OPTIONS>, 'memory' | 'gpus' | 'resources' | 'runAs' | 'network'>>,
    Partial<
      Pick<
        Resolved<typeof SCHEDULER_OPTIONS>,
        'shadow' | 'keep' | 'keepJobs' | 'userWaitingTasksMax' | 'metricsUsers' | keyof typeof NOTIFY_OPTIONS
      >
    > {
  /** Path of the script that runs commands. */
  readonly executable: string;
  readonly schedulers: number;
  readonly policy: PolicySettings;
  /** Path of the users file. */
  readonly users?: string | undefined;
  /** Folder of the cluster's keys; if undefined, the cluster accepts every connection. */
  readonly keys: string | undefined;
  /** Listen address of central; port 0 for any. */
  readonly bind: string;
  /** Folder for logs and for state that outlives the processes. */
  readonly dataFolder: string;
  /** Whether jobs survive the processes. The next cluster with the same folder resumes them. */
  readonly journal: boolean;
  /** `postgres://…`: keeps the journals there instead of in a folder for each scheduler. */
  readonly journalUrl?: string | undefined;
  /** Path of the audit log of all processes. */
  readonly auditLog?: string | undefined;
  /** Whether to start a dashboard with the HTTP API. */
  readonly dashboard?: boolean;
  /** HTTP address of central. The other processes use free ports, which central lists. */
  readonly http?: Pick<HttpOptions, 'bind' | 'token'> | undefined;
  /** Receives messages for people about starts and exits of processes. */
  readonly note: (line: string) => void;
}

/**
 * Maximum number of workers per process. It keeps processes few, but lets a hundred workers use two cores.
 */
const WORKERS_PER_PROCESS = 50;
/** Time limit (ms) for every process to join. */
const JOIN_TIMEOUT_MS = 60_000;
const JOIN_POLL_MS = 50;
/** Pause (ms) before an exited process is restarted; doubled after each failed start. */
const RESTART_PAUSE_MS = 500;
/** Longest pause (ms): short for users who wait, long for an overloaded machine. */
const RESTART_PAUSE_MAX_MS = 10_000;
/** Run time (ms) after which a process counts as healthy, which resets the pause. */
const HEALTHY_AFTER_MS = 10_000;

/** Specification of one process of the cluster. */
interface ProcessSpec {
  readonly name: string;
  readonly role: (typeof DRAIN_ORDER)[number];
  /** @param at previous address of the process, which others use; undefined for the first start */
  args(at?: string): readonly string[];
  /** Names in the cluster to which its key is bound; absent for central and the dashboard. */
  readonly names?: readonly string[];
  /** Environment variables that other users of this machine must not see in the arguments. */
  readonly secrets?: Readonly<Record<string, string>>;
}

/** Order of shutdown. Schedulers are first, so that no new jobs arrive. */
const DRAIN_ORDER = ['scheduler', 'worker', 'central', 'dashboard'] as const;

/**
 * A cluster on this machine: central, schedulers and workers as real processes over loopback. If a process
 * exits, it is restarted at the same address, while the other processes continue.
 */
export class LocalCluster {
  readonly #options: LocalClusterOptions;
  readonly #children = new Map<string, Child & Pick<ProcessSpec, 'role'>>();
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
   * @throws GoshawkError if a process does not start; the others are stopped
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

  /** Address of the dashboard; undefined without one. */
  get page(): string | undefined {
    const endpoint = this.#children.get('dashboard')?.endpoint;
    const token = this.#options.keys === undefined ? '' : `#token=${this.#pageToken}`;
    return endpoint && `${endpoint}${token}`;
  }

  /** The current processes by name. */
  get processes(): ReadonlyMap<string, Child> {
    return this.#children;
  }

  /** Waits for all jobs to end, then stops the processes. */
  async drain(): Promise<void> {
    this.#restartNothing();
    for (const role of DRAIN_ORDER) {
      const children = [...this.#children.values()].filter((child) => child.role === role);
      for (const child of children) child.process.kill('SIGTERM');
      await Promise.all(children.map((child) => child.ended));
    }
  }

  /** Stops all processes and their tasks at once. */
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
    const members = [...this.#schedulers(), ...this.#workers()];
    if (this.#options.keys !== undefined) await giveKeys(members, this.#options.keys);
    await this.#start(this.#central());
    await Promise.all(members.map((spec) => this.#start(spec)));
    await this.#allJoined(signal);
    if (this.#options.dashboard) await this.#start(this.#dashboard());
  }

  get #httpSecrets(): Record<string, string> {
    const token = this.#options.http?.token;
    if (token === undefined) return {};
    // Tasks of the same user can read the environment of their worker, which only compares tokens.
    const isHashed = token.startsWith('sha256:');
    const hash = isHashed ? token : `sha256:${createHash('sha256').update(token).digest('hex')}`;
    return { GOSHAWK_HTTP_TOKEN: hash };
  }

  /** HTTP address with a free port, for processes that central lists. */
  get #anyHttpPort(): string | undefined {
    return this.#options.http?.bind.replace(/\d+$/, '0');
  }

  /** Folder for large values of Python calls. */
  get #values(): string {
    return join(this.#options.dataFolder, 'values');
  }

  #central(): ProcessSpec {
    const { policy, users, logLevel, bind, http, schedulers, auditLog, dataFolder } = this.#options;
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
        dataFolder: join(dataFolder, 'central'),
      }),
    ];
    return { name: 'central', role: 'central', args, secrets: this.#httpSecrets };
  }

  #dashboard(): ProcessSpec {
    const { keys } = this.#options;
    return {
      name: 'dashboard',
      role: 'dashboard',
      args: (at = 'http://127.0.0.1:0') => [
        'dashboard',
        ...['--listen', new URL(at).host],
        ...['--cluster', this.url],
        ...['--values', this.#values],
      ],
      ...(keys && { secrets: { GOSHAWK_DASHBOARD_TOKENS: `operate ${this.#pageToken}` } }),
    };
  }

  #schedulers(): ProcessSpec[] {
    const { schedulers, journal, journalUrl, dataFolder, policy, ...options } = this.#options;
    return Array.from({ length: schedulers }, (_, i) => {
      const name = `s${i}`;
      // The flags contain the address of central, so they are computed after central has started.
      const flags = () =>
        flagsFor(SCHEDULER_OPTIONS, {
          name,
          centralUrl: this.url,
          http: this.#anyHttpPort,
          logLevel: options.logLevel,
          dataFolder: journal ? join(dataFolder, name) : undefined,
          shadow: options.shadow,
          estimator: isCustom(policy.estimator) ? policy.estimator : undefined,
          keep: options.keep,
          keepJobs: options.keepJobs,
          userWaitingTasksMax: options.userWaitingTasksMax,
          metricsUsers: options.metricsUsers,
          notifyHosts: options.notifyHosts,
          notifySecretFile: options.notifySecretFile,
          notifyCommand: options.notifyCommand,
          auditLog: options.auditLog,
        });
      const args = () => ['scheduler', ...flags()];
      const secrets = { ...this.#httpSecrets, ...(journalUrl && { GOSHAWK_JOURNAL: journalUrl }) };
      return { name, role: 'scheduler', args, names: [name], secrets };
    });
  }

  #workers(): ProcessSpec[] {
    const { workers, memory, gpus, resources, attribute, dataFolder, keys, logLevel } = this.#options;
    // If no option states a number, each worker has one CPU, regardless of the number in the machine.
    const { slots } = sizeOfWorker(this.#options);
    const processes = Math.max(1, Math.ceil(workers / WORKERS_PER_PROCESS));
    return Array.from({ length: processes }, (_, i) => {
      const firstNumber = Math.floor((i * workers) / processes);
      const count = Math.floor(((i + 1) * workers) / processes) - firstNumber;
      const name = `workers${i}`;
      const names = Array.from({ length: count }, (_, at) => `w${firstNumber + at}`);
      const flags = () =>
        flagsFor(WORKER_OPTIONS, {
          name: 'w',
          numbered: true,
          workers: count,
          firstNumber,
          cpus: slots,
          memory,
          gpus,
          centralUrl: this.url,
          http: this.#anyHttpPort,
          logLevel,
          dataFolder: join(dataFolder, name),
          memoryShares: workers,
          resources,
          attribute,
          runAs: this.#options.runAs,
          network: this.#options.network,
          values: this.#values,
          hide: [dataFolder, ...(keys === undefined ? [] : [keys])],
          auditLog: this.#options.auditLog,
        });
      return { name, role: 'worker', args: () => ['worker', ...flags()], names, secrets: this.#httpSecrets };
    });
  }

  /** @param at previous address of the process; undefined for the first start */
  async #start(spec: ProcessSpec, at?: string, pauseMs: Millis = RESTART_PAUSE_MS): Promise<void> {
    const { executable, keys, dataFolder } = this.#options;
    const { name, role, secrets } = spec;
    const keyArgs = keys === undefined ? [] : ['--keys', keyFileOf(spec, keys)];
    const log = join(dataFolder, 'logs', `${name}.log`);
    const child = await startChild(name, [executable, ...spec.args(at), ...keyArgs], log, secrets);
    // `stop` and `drain` do not stop a process that is still starting.
    if (this.#stopping) child.process.kill('SIGTERM');
    this.#children.set(name, { ...child, role });
    const upAt = performance.now();
    void child.ended.then((how) => {
      if (this.#stopping) return;
      const isHealthy = performance.now() - upAt > HEALTHY_AFTER_MS;
      const pause = isHealthy ? RESTART_PAUSE_MS : pauseMs;
      this.#options.note(`${name} exited (${how}); restarting it`);
      this.#startLater(spec, child.endpoint, pause, '');
    });
  }

  /**
   * Retries until the process is up, because port conflicts and full disks are temporary.
   *
   * @param said the last message, which is not repeated
   */
  #startLater(spec: ProcessSpec, at: string, pauseMs: Millis, said: string): void {
    const next = Math.min(2 * pauseMs, RESTART_PAUSE_MAX_MS);
    const { note } = this.#options;
    const timer = setTimeout(() => {
      this.#restarts.delete(timer);
      this.#start(spec, at, next).then(
        () => note(`${spec.name} is back`),
        ({ message }: Error) => {
          if (this.#stopping) return;
          if (message !== said) note(`${message}; retrying until it is up`);
          this.#startLater(spec, at, next, message);
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

/** Returns the key file of a process, which must not receive the keys of others. */
function keyFileOf({ name, role }: ProcessSpec, folder: string): string {
  const file = role === 'central' ? 'central' : role === 'dashboard' ? 'client' : `${role}.${name}`;
  return join(folder, `${file}.key`);
}

/** Creates the missing keys of schedulers and worker processes. */
async function giveKeys(specs: readonly ProcessSpec[], folder: string): Promise<void> {
  const transport = await import('@goshawk/transport');
  const { addMember, isKeyFor, readIndividuals, readKeyFolder, updated, writeKeyFolder } = transport;
  let keys = readKeyFolder(folder);
  let individuals = readIndividuals(folder);
  for (const { name, role, names } of specs) {
    if (names === undefined || (role !== 'worker' && role !== 'scheduler')) continue;
    const wanted = { role, name, names };
    const file = individuals.find((each) => each.role === role && each.name === name);
    if (file !== undefined && updated(file, keys) !== undefined && isKeyFor(keys, wanted)) continue;
    const { files, member } = addMember(keys, wanted);
    keys = files;
    individuals = [...individuals.filter((each) => each !== file), member];
  }
  const current = individuals.map((file) => updated(file, keys));
  writeKeyFolder(
    folder,
    keys,
    current.filter((file) => file !== undefined),
  );
}
