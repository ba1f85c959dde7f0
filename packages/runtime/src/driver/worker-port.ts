import { spawn } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  describeIssue,
  type KillReason,
  LIMITS,
  type Machine,
  type Millis,
  NO_RESOURCES,
  type Outcome,
  parseWith,
  payloadSchemaOf,
  type Resources,
  type Used,
} from '@goshawk/core';
import {
  type Executor,
  hasMemoryToLend,
  type Run,
  type RunOrder,
  type Outcome as RunOutcome,
  type TaskResult,
  type Usage,
  withResult,
} from '@goshawk/executors';
import type { GangRank, TaskOrder, Worker, WorkerEnvironment } from '@goshawk/worker';
import type { Enter, Hosted, PartyOptions } from './contract.js';
import type { Host } from './host.js';
import { failedOutcome, taskOutcome } from './task-outcome.js';

/** A machine with the entries that report task events to a worker. */
export type WorkerEntries = Machine<never> &
  Pick<Worker, 'taskStarted' | 'taskOutput' | 'taskEnded'> &
  Partial<Pick<Worker, 'portFound'>>;

export interface WorkerOptions extends Omit<PartyOptions, 'role'> {
  /** May be shared by all workers of the process. The owner closes it. */
  readonly executor: Executor;
  /** Names of the GPUs as tasks see them, by index; default: the index. */
  readonly gpuNames?: readonly string[] | undefined;
  /** Absent if runs are not traced. */
  readonly traceparentOf?: TraceparentOf | undefined;
  /** Called for each end that is reported to the machine. */
  readonly onRunEnded?: RunEnded;
  /** Called when a draining worker has nothing left. */
  readonly onDrained: () => void;
}

/** The parent of a task's spans, in W3C Trace Context format. */
export type TraceparentOf = (order: TaskOrder) => string;

/** The end of a run, with its order. */
type RunEnded = (order: TaskOrder, outcome: Outcome, runMs: number, now: number) => void;

/** Adds a worker to a host; the executor runs its tasks. */
export function addWorker<M extends WorkerEntries>(
  host: Host,
  options: WorkerOptions,
  build: (environment: WorkerEnvironment) => M,
): Hosted<M> {
  const { index, name, onDrained } = options;
  return host.add<M>({ index, name, role: 'worker' }, (environment, enter) => {
    const port = new WorkerPort(options, enter, () => host.now());
    return build({
      ...environment,
      execute: (slot, order, gpus, demand, match) => port.execute(slot, order, gpus, demand, match),
      kill: (slot, reason) => port.kill(slot, reason),
      pause: (slot) => port.pause(slot),
      resume: (slot) => port.resume(slot),
      hasMemoryToLend: () => port.hasMemoryToLend(),
      findPort: (slot) => port.findPort(slot),
      used: () => port.used(),
      counted: () => ({ ...environment.counted?.(), used: port.usedByTask() }),
      drained: onDrained,
    });
  });
}

/** The run in a slot. Runs are compared by object identity. */
interface CurrentRun {
  /** Undefined if the order could not be started. */
  run: Run | undefined;
  /** Names of the GPUs assigned to the run. */
  readonly gpus: readonly string[];
  /** Folder of the files that a command exchanges with its worker; deleted with the run. */
  folder?: string;
  /** `JOB/TASK` */
  readonly task: string;
  /** When it was given to the executor. */
  readonly since: number;
  /** CPU and memory that it uses at present; undefined: unknown. */
  usage?: Usage;
}

/** Time after which the use of a run that was not measured counts as unknown, for example of a module. ms */
const USAGE_TIMEOUT_MS = 5_000;

/**
 * Connects slots to runs of an executor. A slot is reused as soon as its task ends, so events count only while their
 * run is the current one of its slot.
 */
class WorkerPort {
  readonly #options: WorkerOptions;
  readonly #enter: Enter<WorkerEntries>;
  readonly #now: () => Millis;
  /** The current run of each slot. An array, because a map that changes with every task slows garbage collection. */
  readonly #bySlot: (CurrentRun | undefined)[] = [];

  constructor(options: WorkerOptions, enter: Enter<WorkerEntries>, now: () => Millis) {
    this.#options = options;
    this.#enter = enter;
    this.#now = now;
  }

  execute(
    slot: number,
    order: TaskOrder,
    gpus?: readonly number[],
    demand: Resources = NO_RESOURCES,
    match = 0,
  ): void {
    const { executor, gpuNames, traceparentOf, name } = this.#options;
    // The machine reassigns a slot only after its task has ended; otherwise that task no longer matters.
    this.#bySlot[slot]?.run?.kill('cancelled');
    const names = gpus?.map((gpu) => gpuNames?.[gpu] ?? `${gpu}`);
    const task = `${order.jobId}/${order.task}`;
    const current: CurrentRun = { run: undefined, gpus: names ?? [], task, since: this.#now() };
    this.#bySlot[slot] = current;
    const checked = runOrder(order, `${name}/${match}`, names?.join(','), traceparentOf?.(order), demand);
    if ('problem' in checked) {
      this.#ended(slot, order, current, failedOutcome('bad-payload', checked.problem), 0);
      return;
    }
    const { inputs } = order;
    // A warm command returns its value in a message.
    const returns =
      'exec' in checked.payload && checked.payload.returns === true && checked.payload.warm !== true;
    const problem = inputs?.problem ?? exchangeFiles(inputs?.lines, returns, checked, current);
    if (problem !== undefined) {
      this.#ended(slot, order, current, failedOutcome('bad-inputs', problem), 0);
      return;
    }
    current.run = executor.start(checked, {
      started: () =>
        this.#report(slot, current, 'taskStarted', (worker, now) => worker.taskStarted(slot, now)),
      output: ({ stream, bytes }) =>
        this.#report(slot, current, 'taskOutput', (worker, now) =>
          worker.taskOutput(slot, stream, bytes, now),
        ),
      used: (usage) => {
        current.usage = usage;
      },
      ended: (outcome, runMs, measured) => {
        const end = returns ? withResultFile(outcome, current.folder!) : outcome;
        const reported = taskOutcome(end);
        this.#ended(slot, order, current, measured ? { ...reported, ...measured } : reported, runMs);
      },
    });
  }

  /** Returns the CPU and memory that running tasks use; undefined if that is unknown for some of them. */
  used(): Used | undefined {
    let [cpu, memory, measured] = [0, 0, 0];
    const now = this.#now();
    const all = this.#current();
    for (const { usage, since } of all) {
      if (usage !== undefined) measured++;
      else if (now - since > USAGE_TIMEOUT_MS) return undefined;
      cpu += usage?.cpu ?? 0;
      memory += usage?.memory ?? 0;
    }
    // Tasks that end before they are measured would otherwise look idle.
    if (measured === 0 && all.length > 0) return undefined;
    return { cpuPercent: Math.round(100 * cpu), memory };
  }

  /** Returns the CPU and memory use of each measured task, by `JOB/TASK`. */
  usedByTask(): Readonly<Record<string, Usage>> {
    const known = this.#current().filter(({ usage }) => usage !== undefined);
    return Object.fromEntries(known.map(({ task, usage }) => [task, usage!]));
  }

  #current(): CurrentRun[] {
    return this.#bySlot.filter((run) => run !== undefined);
  }

  /** Picks an ephemeral port that was free a moment ago. */
  findPort(slot: number): void {
    const server = createServer();
    const found = (port: number): void => {
      this.#enter(`port for slot ${slot}`, (worker, now) => worker.portFound?.(slot, port, now));
    };
    server.once('error', () => found(0));
    server.listen(0, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => found(port));
    });
  }

  kill(slot: number, reason: KillReason): void {
    this.#bySlot[slot]?.run?.kill(reason);
  }

  pause(slot: number): void {
    this.#bySlot[slot]?.run?.pause();
  }

  resume(slot: number): void {
    this.#bySlot[slot]?.run?.resume();
  }

  hasMemoryToLend(): boolean {
    return hasMemoryToLend(Math.max(0, ...this.#current().map(({ usage }) => usage?.memory ?? 0)));
  }

  #ended(slot: number, order: TaskOrder, current: CurrentRun, outcome: Outcome, runMs: number): void {
    if (current.folder !== undefined) removeExchanged(current.folder);
    this.#report(slot, current, 'taskEnded', (worker, now) => {
      // Deleted first, because the machine may immediately start the next task in the slot.
      this.#bySlot[slot] = undefined;
      this.#options.onRunEnded?.(order, outcome, runMs, now);
      const gpus = current.gpus.map((name) => name.slice(0, LIMITS.nameLengthMax));
      worker.taskEnded(slot, gpus.length === 0 ? outcome : { ...outcome, gpus }, runMs, now);
    });
  }

  /**
   * Reports an event unless the slot has another run by then: the event may wait in a queue, so this is checked late.
   */
  #report(
    slot: number,
    current: CurrentRun,
    event: string,
    entry: (worker: WorkerEntries, now: number) => void,
  ): void {
    this.#enter(`${event} in slot ${slot}`, (worker, now) => {
      if (this.#bySlot[slot] === current) entry(worker, now);
    });
  }
}

/**
 * Creates the folder for inputs from earlier stages and for the command's result, and sets the variables that name
 * the files.
 *
 * @returns the reason of a failure
 */
function exchangeFiles(
  lines: string | undefined,
  returns: boolean,
  order: MutableOrder,
  current: CurrentRun,
): string | undefined {
  if (lines === undefined && !returns) return undefined;
  try {
    const folder = mkdtempSync(join(tmpdir(), 'goshawk-task-'));
    current.folder = folder;
    order.folder = folder;
    if (returns) order.env.GOSHAWK_RESULT = resultFile(folder);
    if (lines === undefined) return undefined;
    const file = join(folder, INPUTS);
    writeFileSync(file, lines, { mode: 0o600 });
    order.env.GOSHAWK_INPUTS = file;
    return undefined;
  } catch (error) {
    return `the files of the task cannot be written: ${(error as Error).message}`;
  }
}

const INPUTS = 'inputs.jsonl';
const RESULT = 'result.json';

function resultFile(folder: string): string {
  return join(folder, RESULT);
}

/**
 * Calls back with a path of the folder that stays valid if it is renamed. A command under another account owns the
 * folder, so it may replace it by a link to a folder that only this process may read.
 *
 * @throws the system's error if it is no folder
 */
function inOwnFolder<T>(folder: string, use: (path: string) => T): T {
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const fixed = `/proc/self/fd/${descriptor}`;
    return use(existsSync(fixed) ? fixed : folder);
  } finally {
    closeSync(descriptor);
  }
}

/** Removes the folder. If it contains other files, `rm` removes it, because removal by path could follow new links. */
function removeExchanged(folder: string): void {
  try {
    inOwnFolder(folder, (path) => {
      for (const name of [INPUTS, RESULT]) rmSync(join(path, name), { force: true });
    });
    rmdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    spawn('rm', ['-rf', '--', folder], { stdio: 'ignore', detached: true })
      .on('error', () => {})
      .unref();
  }
}

/** Completes the outcome of a command with its result file. A sandbox has no such file: its executor reports the value. */
function withResultFile(outcome: RunOutcome, folder: string): RunOutcome {
  return withResult(outcome, () =>
    existsSync(resultFile(folder)) ? inOwnFolder(folder, (path) => readResult(resultFile(path))) : undefined,
  );
}

/** @throws Error if it is no file of the command alone, which may run under another account */
function readResult(file: string): TaskResult {
  const descriptor = openResult(file);
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) throw new Error('it is not a file');
    if (stat.nlink > 1) throw new Error('it is a link to another file');
    const { size } = stat;
    return size > LIMITS.resultBytesMax ? { size } : { size, content: readFileSync(descriptor) };
  } finally {
    closeSync(descriptor);
  }
}

function openResult(file: string): number {
  try {
    return openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const isLink = (error as NodeJS.ErrnoException).code === 'ELOOP';
    throw isLink ? new Error('it is a link to another file') : error;
  }
}

type MutableOrder = Omit<RunOrder, 'env' | 'folder'> & {
  readonly env: Record<string, string>;
  folder?: string;
};

/**
 * Returns the variables by which the tasks of a gang find each other, for example under torchrun or mpirun. IPv6 addresses
 * have no brackets, because programs look hosts up by these names.
 */
function gangEnvironment({ rank, ranks, hosts: given = [], port = 0 }: GangRank): Record<string, string> {
  const hosts = given.map((host) => host.replace(/^\[(.*)\]$/, '$1'));
  return {
    GOSHAWK_RANK: `${rank}`,
    GOSHAWK_RANKS: `${ranks}`,
    GOSHAWK_HOSTS: hosts.join(','),
    GOSHAWK_MASTER: `${hosts[0] ?? ''}:${port}`,
  };
}

/** Builds the order for the executor. The payload is not validated yet. */
function runOrder(
  { payload, jobId, task, attempt, execution = attempt, gang, user }: TaskOrder,
  run: string,
  gpus: string | undefined,
  traceparent: string | undefined,
  { cpu, memory }: Resources,
): MutableOrder | { readonly problem: string } {
  const parsed = parseWith(payloadSchemaOf(payload), payload);
  if (!parsed.success) {
    return {
      problem: `not a task, which is one of {sleep}, {exec}, {module}: ${describeIssue(parsed.error)}`,
    };
  }
  const env = {
    GOSHAWK_JOB: jobId,
    GOSHAWK_TASK: `${task}`,
    GOSHAWK_ATTEMPT: `${execution}`,
    GOSHAWK_RUN: run,
    ...(gang === undefined ? {} : gangEnvironment(gang)),
    ...(traceparent === undefined ? {} : { TRACEPARENT: traceparent }),
    // If GPUs are assigned, a task without one must see none.
    ...(gpus === undefined ? {} : { GOSHAWK_GPUS: gpus, CUDA_VISIBLE_DEVICES: gpus }),
  };
  const limits = { ...(cpu ? { cpu } : {}), ...(memory ? { memory } : {}) };
  const limited = cpu || memory ? { limits } : {};
  return { payload: parsed.data, env, ...limited, user, outputBytesMax: LIMITS.outputBytesMax };
}
