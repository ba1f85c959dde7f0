import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** Path of the built command. */
export const GOSHAWK = fileURLToPath(new URL('../bin/goshawk.js', import.meta.url));

/** A daemon as a real process. */
export interface Daemon {
  readonly endpoint: string;
  readonly pid: number;
  /** Resolves with the exit code, or with the signal that ended the process. */
  readonly ended: Promise<number | NodeJS.Signals>;
  signal(name: NodeJS.Signals): void;
  /** Kills it like a crash, and resolves when it is gone. */
  kill(): Promise<void>;
}

/** Number of workers `w0`, `w1`, …, and of workers per process. */
interface Workers {
  readonly workers: number;
  readonly workersPerProcess: number;
}

/** The daemons of a cluster, which exit with this process, and a folder for their files. */
export class Daemons {
  folder: string;
  /** URL of central once it has started. */
  url: string;
  readonly all: Daemon[] = [];

  constructor(folder: string, url = '') {
    this.folder = folder;
    this.url = url;
  }

  /**
   * Starts a daemon and waits until it is up.
   *
   * @param name name of its log, which is appended to
   * @param args arguments of the command, such as `['scheduler', '--name', 's0']`
   * @param environment additions to this process's environment, of which the user's settings are removed
   * @param nodeArgs arguments of Node.js
   */
  async start(
    name: string,
    args: readonly string[],
    environment: NodeJS.ProcessEnv = {},
    nodeArgs: readonly string[] = [],
  ): Promise<Daemon> {
    const logFile = this.#logFileOf(name);
    mkdirSync(dirname(logFile), { recursive: true });
    const inherited = Object.entries(process.env).filter(([variable]) => !/^(GOSHAWK|OTEL)_/.test(variable));
    const stderr = openSync(logFile, 'a');
    const child = spawn(process.execPath, [...nodeArgs, GOSHAWK, ...args, '--json', '--with-parent'], {
      stdio: ['pipe', 'pipe', stderr],
      env: { ...Object.fromEntries(inherited), ...environment },
    });
    closeSync(stderr);
    const gone = once(child, 'exit');
    const why = () => `${logFile} says why`;
    const { endpoint } = await firstLine<{ endpoint: string }>(child, args[0] ?? 'a daemon', why);
    const daemon: Daemon = {
      endpoint,
      pid: child.pid!,
      ended: gone.then(([code, signal]) => (signal ?? code ?? 1) as number | NodeJS.Signals),
      signal: (signal) => void child.kill(signal),
      kill: async () => {
        child.kill('SIGKILL');
        await gone;
      },
    };
    this.all.push(daemon);
    return daemon;
  }

  /** Starts central, at the endpoint of the previous central if there was one. */
  async startCentral(args: readonly string[] = [], ...how: How): Promise<Daemon> {
    const bind = this.url === '' ? 'tcp://127.0.0.1:0' : this.url;
    const central = await this.start('central', ['central', '--bind', bind, ...args], ...how);
    this.url = central.endpoint;
    return central;
  }

  /** Starts a scheduler with a journal in a folder of its name. */
  startScheduler(name: string, args: readonly string[] = [], ...how: How): Promise<Daemon> {
    return this.start(name, ['scheduler', ...this.#memberArgs(name), ...args], ...how);
  }

  /** Starts a worker with its data in a folder of its name. */
  startWorker(name: string, args: readonly string[] = [], ...how: How): Promise<Daemon> {
    return this.start(name, ['worker', ...this.#memberArgs(name), ...withCpus(args)], ...how);
  }

  /** Starts all workers, one process after another. */
  async startWorkers(workers: Workers, args: readonly string[] = []): Promise<void> {
    for (const first of firstOfEach(workers)) await this.startWorkersFrom(first, workers, args);
  }

  /** Starts the process with the workers from `first` on. */
  startWorkersFrom(
    first: number,
    { workers, workersPerProcess }: Workers,
    args: readonly string[] = [],
  ): Promise<Daemon> {
    const count = Math.min(workersPerProcess, workers - first);
    const numbers = ['--numbered', '--workers', `${count}`, '--first-number', `${first}`];
    const shares = ['--memory-shares', `${workers}`];
    const name = `w${first}`;
    return this.start(name, [
      'worker',
      ...this.#memberArgs('w', name),
      ...numbers,
      ...shares,
      ...withCpus(args),
    ]);
  }

  /** Starts a small cluster except for its schedulers. */
  async startCentralAndWorkers(workers = 4): Promise<void> {
    await this.startCentral();
    await this.startWorkers({ workers, workersPerProcess: workers }, ['--cpus', '4']);
  }

  logOf(name: string): string {
    return readFileSync(this.#logFileOf(name), 'utf8');
  }

  /** Returns the HTTP address that a daemon started with `WITH_HTTP` writes to its log. */
  async httpAddressOf(name: string): Promise<string> {
    for (;;) {
      const door = /.*"url":"(http:[^"]+)"/s.exec(this.logOf(name))?.[1];
      if (door !== undefined) return door;
      await setTimeout(20);
    }
  }

  /** Kills all daemons like a crash, the last one first. */
  async stop(): Promise<void> {
    for (const daemon of this.all.splice(0).reverse()) await daemon.kill();
    this.url = '';
  }

  #logFileOf(name: string): string {
    return join(this.folder, 'logs', `${name}.log`);
  }

  #memberArgs(name: string, folder = name): string[] {
    return ['--name', name, '--central-url', this.url, '--data-folder', join(this.folder, folder)];
  }
}

/** Environment and arguments of Node.js for `start`. */
type How = [environment?: NodeJS.ProcessEnv, nodeArgs?: readonly string[]];

export const WITH_HTTP = ['--http', '127.0.0.1:0'] as const;

/** Adds one CPU per worker unless stated, so that tests do not depend on the machine. */
function withCpus(args: readonly string[]): readonly string[] {
  return args.some((arg) => arg === '--cpus' || arg === '--cpus') ? args : [...args, '--cpus', '1'];
}

/** Returns the number of the first worker of each process. */
export function firstOfEach({ workers, workersPerProcess }: Workers): number[] {
  return Array.from({ length: Math.ceil(workers / workersPerProcess) }, (_, at) => at * workersPerProcess);
}

/**
 * Returns the startup message of a process started with `--json`.
 *
 * @param why returns the reason if it does not start
 * @throws if it exits first
 */
export function firstLine<T>(child: ChildProcess, name: string, why: () => string): Promise<T> {
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout! }).once('line', (line) => resolve(JSON.parse(line)));
    // Unlike `exit`, `close` follows the last output.
    child.once('close', () => reject(new Error(`${name} did not start: ${why()}`)));
  });
}
