import { availableParallelism } from 'node:os';
import { type Payload, TIMER_MAX_MS } from '@goshawk/core';
import { allowedBytes, moduleHeapMiB } from './allowed-memory.js';
import type { Containers } from './containers.js';
import { type Executor, failed, type Run, type RunOrder, type RunSink, refused } from './contract.js';
import { INHERITED_NAMES, inheritedEnvironment } from './environment.js';
import { ExecExecutor } from './exec.js';
import type { Isolation } from './isolation.js';
import { endLeftovers } from './leftovers.js';
import { CLOSE_MARGIN_MS, GRACE_MS, VALUE_BYTES_MAX } from './limits.js';
import { LiveRuns } from './live-runs.js';
import { ModuleExecutor } from './module.js';
import { BadPayload } from './payload.js';
import { Gate, type Permissions } from './permission.js';
import { SleepExecutor } from './sleep.js';
import { WarmExecutor } from './warm.js';

export interface ExecutorOptions {
  /** Folder that persists after the process ends; it contains the records of process groups. */
  readonly dataFolder: string;
  /** Time between SIGTERM and SIGKILL when a command is killed. Default: 2 s. */
  readonly graceMs?: number;
  /** Maximum number of modules that run at once. Default: one per processor. */
  readonly moduleThreads?: number;
  /**
   * Heap of one module's thread, in MiB. Default: half of the memory that the process may use beyond its own needs, and at most
   * 1,024.
   */
  readonly moduleHeapMiBMax?: number;
  /** Maximum size of a module's value as JSON, in bytes. Default: 1 MiB. */
  readonly valueBytesMax?: number;
  /** Permitted payloads besides sleeps. Default: everything. */
  readonly allow?: Permissions;
  /** Cgroup (version 2) that contains a cgroup for each command, limited by its cpu and memory demands. */
  readonly cgroup?: string | undefined;
  /** Runs commands and modules under separate accounts or in sandboxes; undefined: they run as this process. */
  readonly isolation?: Isolation | undefined;
  /** Runs commands in images; undefined: they are refused. */
  readonly containers?: Containers | undefined;
  /** Working folder of commands without `cwd`; `/` if it is deleted. Default: the folder of this process. */
  readonly folder?: string | undefined;
  /** Soft limit of open files for commands, if lower than this process's. Default: this process's. */
  readonly openFiles?: number | undefined;
  /** Folder for large values of warm commands; undefined: they cannot exchange any. */
  readonly values?: string | undefined;
  /** Names of the worker's variables that tasks see; `LC_*` matches a prefix. Default: `INHERITED_NAMES`. */
  readonly inherit?: readonly string[];
  /** The worker's environment. Default: `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Called with one line for the log about each fault of the worker or its machine. */
  readonly warn?: (message: string) => void;
}

/** One executor for all payloads. All workers of a process share it. */
export class Executors implements Executor {
  readonly #dataFolder: string;
  readonly #executors: Readonly<Record<ReturnType<typeof kindOf>, Executor>>;
  readonly #gate: Gate;
  readonly #closeWaitMs: number;
  readonly #live = new LiveRuns();
  /** Keeps the event loop alive while anything runs; idle threads, pipes and processes do not. */
  readonly #hold = setInterval(() => {}, TIMER_MAX_MS).unref();
  #closing: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;

  constructor(options: ExecutorOptions) {
    const environment = inheritedEnvironment(
      options.environment ?? process.env,
      options.inherit ?? INHERITED_NAMES,
    );
    const graceMs = options.graceMs ?? GRACE_MS;
    const warn = options.warn ?? (() => {});
    this.#dataFolder = options.dataFolder;
    this.#closeWaitMs = graceMs + CLOSE_MARGIN_MS;
    this.#gate = new Gate(options.allow ?? {});
    const bytes = allowedBytes();
    const limits = {
      heapMiBMax: options.moduleHeapMiBMax ?? moduleHeapMiB(bytes),
      allowedBytes: bytes,
      valueBytesMax: options.valueBytesMax ?? VALUE_BYTES_MAX,
    };
    const exec = new ExecExecutor({
      dataFolder: options.dataFolder,
      graceMs,
      environment,
      warn,
      cgroup: options.cgroup,
      folder: options.folder,
      openFiles: options.openFiles,
      isolation: options.isolation,
      containers: options.containers,
    });
    const inProcesses = {
      start: (order: RunOrder, sink: RunSink) => exec.startModule(order, sink, limits),
      close: async () => {},
    };
    const inThreads = () =>
      new ModuleExecutor({
        ...limits,
        threads: options.moduleThreads ?? availableParallelism(),
        graceMs,
        environment,
        refusal: (path) => this.#gate.changedSince(path),
        warn,
      });
    this.#executors = {
      sleep: new SleepExecutor(),
      exec,
      warm: new WarmExecutor(exec, limits.valueBytesMax, options.values, options.isolation !== undefined),
      module: options.isolation === undefined ? inThreads() : inProcesses,
    };
  }

  start(order: RunOrder, sink: RunSink): Run {
    if (this.#closing !== undefined) {
      return refused(failed('executor-closed', 'this worker is stopping and starts no tasks'), sink);
    }
    try {
      const admission = this.#gate.admit(order.payload);
      if ('refusal' in admission) return refused(failed('not-allowed', admission.refusal), sink);
      return this.#track({ ...order, payload: admission.payload }, sink);
    } catch (error) {
      if (!(error instanceof BadPayload)) throw error;
      return refused(failed('bad-payload', error.message), sink);
    }
  }

  /**
   * Kills commands left running by earlier workers that died together with their spawners. Await it before the first start.
   *
   * @returns the number of process groups that were still running
   */
  endLeftovers(): Promise<number> {
    return endLeftovers(this.#dataFolder);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const run of this.#live.all()) run.kill('shutdown');
    if (this.#live.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
        setTimeout(resolve, this.#closeWaitMs).unref();
      });
    }
    clearInterval(this.#hold);
    // Warm processes are commands of the executor of commands.
    await this.#executors.warm.close();
    await Promise.all(Object.values(this.#executors).map((executor) => executor.close()));
  }

  #track(order: RunOrder, sink: RunSink): Run {
    const run = this.#executors[kindOf(order.payload)].start(order, {
      started: () => sink.started?.(),
      output: (chunk) => sink.output(chunk),
      used: (usage) => sink.used?.(usage),
      ended: (outcome, runMs, measured) => {
        this.#live.delete(live);
        sink.ended(outcome, runMs, measured);
        if (this.#live.size > 0) return;
        this.#hold.unref();
        this.#onIdle?.();
      },
    });
    if (this.#live.size === 0) this.#hold.ref();
    const live = this.#live.add(run);
    return run;
  }
}

function kindOf(payload: Payload): 'sleep' | 'exec' | 'warm' | 'module' {
  if ('sleep' in payload) return 'sleep';
  if ('module' in payload) return 'module';
  return payload.warm === true ? 'warm' : 'exec';
}
