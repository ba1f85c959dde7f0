import fs from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import {
  type Attribute,
  CONTAINER,
  DOCKER,
  InputError,
  LIMITS,
  type Millis,
  makeFolder,
  type Outcome,
  placesOf,
  type Resources,
  startFault,
} from '@goshawk/core';
import {
  allowedBytes,
  Containers,
  type ExecutorOptions,
  Executors,
  Isolation,
  inheritedOpenFiles,
  moduleHeapMiB,
  prepareCgroup,
  type RunAs,
  WORKER_BYTES,
} from '@goshawk/executors';
import { boundsProblem, type Logger } from '@goshawk/transport';
import { type TaskOrder, Worker, type WorkerEnvironment } from '@goshawk/worker';
import { addWorker, type Hosted } from '../driver/index.js';
import { RunTallies, workerReadings } from '../metrics/index.js';
import { type Tracing, traceparentOfRun, traceRun } from '../tracing/index.js';
import { watchCentral } from './complaints.js';
import type { Daemon } from './daemon.js';
import { DiskWatch } from './disk-watch.js';
import { EventLog } from './event-log.js';
import { attemptLine, endOf } from './job-log.js';
import { KeptResults } from './kept-results.js';
import { NameTaken } from './name-taken.js';
import {
  checkEndpoint,
  checkName,
  type DaemonProcess,
  joinMessages,
  openProcess,
  type ProcessOptions,
  whenJoined,
} from './process.js';

export interface WorkersOptions extends ProcessOptions {
  /** Names of the workers, one each. */
  readonly names: readonly string[];
  /** Number of CPUs of one worker: its maximum number of tasks unless tasks share CPUs. */
  readonly slots: number;
  /** Resources that the tasks of one worker share. Default for CPUs: one per slot. */
  readonly capacity: Resources;
  /** Attributes of each worker, such as rack, zone and model, in the order of names. Default: none. */
  readonly attributes?: readonly (readonly Attribute[])[];
  /** Names of the GPUs of a worker as tasks see them, by index; default: the index. */
  readonly gpuNamesOf?: (worker: number) => readonly string[] | undefined;
  /** Central's endpoint. */
  readonly central: string;
  /** Folder that persists after the process ends. */
  readonly dataFolder: string;
  readonly executors?: Omit<ExecutorOptions, 'dataFolder' | 'warn' | 'isolation' | 'containers'>;
  /** Default: `self`. */
  readonly runAs?: RunAs | undefined;
  /** Whether sandboxed tasks may use the network. Default: true. */
  readonly network?: boolean | undefined;
  /** Files and folders hidden from tasks, besides `dataFolder`. */
  readonly hidden?: readonly string[] | undefined;
}

/** Returns the host of `tcp://HOST:PORT`. */
function hostOf(endpoint: string): string {
  return endpoint.replace(/^tcp:\/\//, '').replace(/:\d+$/, '');
}

/** Retry interval until the cluster's timings are known. ms */
const REGISTER_RETRY_MS = 500;

/** Creates the log lines of a worker. */
function logsOf(
  name: string,
  taken: NameTaken,
  logger: Logger,
): Pick<WorkerEnvironment, 'nameTaken' | 'quarantined'> {
  return {
    nameTaken: (holder) => taken.report(holder),
    quarantined: (reason, ms) => logger.warn({ worker: name, ms }, `quarantined: ${reason}`),
  };
}

/** Warns if the memory is too small for the number of workers in this process. */
export function warnOfMemory(
  { names, slots, logger, executors }: Pick<WorkersOptions, 'names' | 'slots' | 'logger' | 'executors'>,
  allowed: number,
): void {
  const heapMiB = executors?.moduleHeapMiBMax ?? moduleHeapMiB(allowed);
  const threads = executors?.moduleThreads ?? availableParallelism();
  const tasks = Math.min(threads, names.length * slots);
  const allowedMiB = Math.floor(allowed / (1024 * 1024));
  if (tasks * heapMiB * 1024 * 1024 + WORKER_BYTES <= allowed) return;
  logger.warn(
    { allowedMiB, moduleHeapMiB: heapMiB, tasks },
    'module tasks together may use more memory than this process may have, which would kill it: use fewer --cpus or more memory',
  );
}

/**
 * Checks the options. Call it before opening anything that keeps the process alive.
 *
 * @throws InputError for an invalid name or endpoint, or a data folder that is not writable
 */
async function checkOptions(options: WorkersOptions): Promise<void> {
  for (const name of options.names) checkName(name, options.keys);
  checkBounds(options);
  checkEndpoint(options.central, '--central-url');
  warnOfMemory(options, allowedBytes());
  checkCgroup(options.executors?.cgroup);
  const folder = options.dataFolder;
  try {
    makeFolder(fs, folder, 0o700);
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new InputError(
      'bad-data-folder',
      `cannot use ${folder} for the records of tasks: ${(error as Error).message}`,
      'use another --data-folder',
      { cause: error },
    );
  }
}

/** @throws InputError if the key does not permit an attribute or the size of a worker; central would refuse it */
function checkBounds({ keys, names, attributes, capacity, slots }: WorkersOptions): void {
  if (keys === undefined) return;
  for (const [index, name] of names.entries()) {
    const claims = { attributes: attributes?.[index] ?? [], capacity, slots };
    const problem = boundsProblem(keys, keys.name, claims);
    if (problem === undefined) continue;
    const hint =
      'state fewer --cpus, --resources and --attribute, or use a key that permits it (`goshawk keys`)';
    throw new InputError('key-bounds', `the worker ${name} may not join: ${problem}`, hint);
  }
}

/** @throws InputError if commands cannot have cgroups below the folder */
function checkCgroup(folder: string | undefined): void {
  if (folder === undefined) return;
  try {
    prepareCgroup(folder);
  } catch (error) {
    throw new InputError(
      'bad-option',
      `--task-cgroup: ${(error as Error).message}`,
      'let systemd delegate one (Delegate=yes, DelegateSubgroup=worker), and give its folder below /sys/fs/cgroup',
      { cause: error },
    );
  }
}

/** @throws InputError if the options contradict each other */
async function openExecutors(options: WorkersOptions): Promise<{
  readonly executor: Executors;
  readonly containers: Containers | undefined;
}> {
  const { runAs = 'self', network, logger } = options;
  if (runAs === 'self' && network === false)
    throw new InputError(
      'bad-option',
      '--no-network: only a sandbox has a separate network',
      'use --run-as sandbox',
    );
  const isolation =
    runAs === 'self'
      ? undefined
      : new Isolation({
          runAs,
          network,
          hasKeys: options.keys !== undefined,
          hidden: [options.dataFolder, ...(options.hidden ?? [])],
        });
  // The daemon of an engine runs containers as root, outside of any isolation.
  const containers = isolation === undefined ? await Containers.find() : undefined;
  const executor = new Executors({
    isolation,
    containers,
    openFiles: inheritedOpenFiles(),
    ...options.executors,
    dataFolder: options.dataFolder,
    valueBytesMax: LIMITS.resultBytesMax,
    warn: (message) => logger.warn({}, message),
  });
  return { executor, containers };
}

/** Records the ends of runs in logs, metrics and traces. */
class RunLog {
  readonly tallies = new RunTallies();
  readonly #logger: Logger;
  readonly #tracing: Tracing | undefined;
  readonly #notStarted: NotStarted;
  readonly #events: EventLog;

  constructor(logger: Logger, tracing: Tracing | undefined) {
    this.#logger = logger;
    this.#tracing = tracing;
    this.#notStarted = new NotStarted(logger);
    this.#events = new EventLog(logger);
  }

  /** @param runMs run time measured by the executor; `now`: by the clock of the process */
  ended(worker: string, order: TaskOrder, outcome: Outcome, runMs: Millis, now: Millis): void {
    this.tallies.runEnded(order.long, outcome.kind, runMs);
    this.#logEnd(worker, order, outcome, runMs);
    if (startFault(outcome) !== undefined) this.#notStarted.report(worker, order.jobId, outcome.errorMessage);
    if (this.#tracing !== undefined) traceRun(this.#tracing, worker, order, outcome, runMs, now);
  }

  #logEnd(worker: string, { jobId, task, attempt }: TaskOrder, outcome: Outcome, runMs: Millis): void {
    const fields = { worker, job: jobId, task, attempt, ...endOf(outcome), ms: Math.round(runMs) };
    if (outcome.kind === 'completed') return this.#logger.debug(fields, 'attempt completed');
    const line = attemptLine({ job: jobId, task, attempt, worker }, outcome);
    this.#events.report(`attempt-${outcome.kind}`, fields, line);
  }
}

/**
 * Starts workers in this process; they share its mailbox and executors.
 *
 * @throws InputError if it cannot listen on its endpoint
 */
export async function startWorkers(options: WorkersOptions): Promise<Daemon> {
  const { logger, names } = options;
  const { executor, containers } = await openExecutors(options);
  await checkOptions(options);
  const leftovers = await executor.endLeftovers();
  if (leftovers > 0) logger.warn({ leftovers }, 'killed commands that a previous worker left running');
  const process = await openProcess('worker', options);
  const { tracing } = process;
  const { endpoint } = process.mailbox;
  const capacity = { cpu: options.slots, ...options.capacity };
  const config = {
    host: hostOf(endpoint),
    http: process.http,
    slots: options.slots,
    places: placesOf(options.slots),
    // Each CPU can be lent, also to a job within a job, and few CPUs to several levels of these.
    lends: 2 * options.slots + LIMITS.nestedMax - 2,
    capacity,
    central: process.centralAt(options.central),
    registerRetryMs: REGISTER_RETRY_MS,
  };
  // Callbacks of workers that drain because this process stops. A drain by an operator does not end a worker.
  const draining = new Map<string, () => void>();
  const log = new RunLog(logger, tracing);
  const taken = names.map((name) => new NameTaken(name, logger));
  const disks = new DiskWatch([options.dataFolder, tmpdir()], (problem) => {
    for (const { enter } of workers) enter('full disk', (worker, now) => worker.diskFull(problem, now));
  });
  const results = new KeptResults(options.dataFolder, process.names, logger);
  const kept = results.read();
  const workers = names.map((name, index): Hosted<Worker> => {
    const self = process.addressOf(index);
    const attributes = withEngine(options.attributes?.[index] ?? [], containers);
    return addWorker(
      process.host,
      {
        index,
        name,
        executor,
        gpuNames: options.gpuNamesOf?.(index),
        traceparentOf: tracing && ((order) => traceparentOfRun(tracing, order)),
        onRunEnded: (order, outcome, runMs, now) => {
          if (outcome.kind === 'failed') disks.taskFailed(now);
          log.ended(name, order, outcome, runMs, now);
        },
        onDrained: () => draining.get(name)?.(),
      },
      (environment) =>
        new Worker(
          { ...config, name, self, attributes, results: index === 0 ? kept : undefined },
          { ...environment, ...logsOf(name, taken[index]!, logger) },
        ),
    );
  });
  logger.info({ workers: names.length, capacity, endpoint, central: options.central }, 'workers are up');
  const machines = workers.map(({ machine }) => machine);
  const joined = observe(process, machines, taken, log, options);
  disks.begin(() => process.host.now(), process.ended);
  void process.ended.then(() => executor.close());
  const leave = async (): Promise<void> => {
    for (const { enter } of workers) enter('leave', (worker) => worker.leave());
    await process.close();
  };
  return {
    role: 'worker',
    endpoint,
    logger,
    joined,
    ended: process.ended,
    drain: async () => {
      logger.info({ workers: names.length }, 'draining: waiting tasks are returned, running tasks finish');
      const drained = names.map((name) => new Promise<void>((resolve) => draining.set(name, resolve)));
      for (const { enter } of workers) enter('drain', (worker, now) => worker.drain(now));
      await Promise.all(drained);
      await executor.close();
      results.write([]);
      await leave();
    },
    stop: async () => {
      for (const { enter } of workers) enter('kill all', (worker, now) => worker.killAll('shutdown', now));
      // The ends of killed tasks are reported before the mailbox closes.
      await executor.close();
      results.write(machines.flatMap((worker) => worker.unconfirmedResults(process.host.now())));
      await leave();
    },
  };
}

/** Reports the state of the workers in the log and over HTTP. @returns resolves when all have joined the cluster */
function observe(
  process: DaemonProcess,
  machines: readonly Worker[],
  taken: readonly NameTaken[],
  { tallies }: RunLog,
  options: WorkersOptions,
): Promise<void> {
  const { logger, central } = options;
  const areMembers = (): boolean => machines.every(({ isMember }) => isMember);
  const whyNot = () =>
    taken.find(({ problem }, at) => problem !== undefined && !machines[at]!.isMember)?.problem;
  let lost: string | undefined;
  process.show(() => ({
    notReady: areMembers() ? [] : joinMessages(whyNot() ?? process.refusalBy(central), lost),
    readings: () => workerReadings(machines, tallies),
  }));
  const joined = whenJoined(areMembers, process.ended, options);
  const isSilent = (): boolean => machines.some((worker) => worker.isCentralSilent(process.host.now()));
  const consequence = 'running tasks continue, short tasks come from schedulers, long tasks do not start';
  watchCentral({ logger, ended: process.ended }, central, isSilent, consequence);
  void joined.then(() => {
    lost = central;
    logger.info({ workers: machines.length }, 'workers have joined the cluster');
  });
  return joined;
}

/** Adds the attribute that tasks in images require, and the engine's name, unless the operator has set them. */
function withEngine(given: readonly Attribute[], containers: Containers | undefined): readonly Attribute[] {
  if (containers === undefined) return given;
  // Podman runs the images of Docker by the same command line.
  const found = [
    { name: CONTAINER, value: DOCKER },
    { name: 'engine', value: containers.engine },
  ];
  const missing = found.filter(({ name }) => !given.some((attribute) => attribute.name === name));
  return [...given, ...missing].slice(0, Math.max(given.length, LIMITS.attributesMax));
}

/** Maximum number of logged lines to store, to avoid duplicates. */
const JOBS_MAX = 1_000;

/** Logs why tasks could not be started: once for each job and reason. */
export class NotStarted {
  readonly #logger: Logger;
  readonly #logged = new Set<string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  report(worker: string, job: string, reason: string): void {
    const line = `${worker} ${job} ${reason}`;
    if (this.#logged.has(line)) return;
    this.#logged.add(line);
    if (this.#logged.size > JOBS_MAX) this.#logged.delete(this.#logged.values().next().value!);
    this.#logger.warn({ worker, job }, `a task could not be started: ${reason}`);
  }
}
