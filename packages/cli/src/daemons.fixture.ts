import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The command, as it is built. */
export const GOSHAWK = fileURLToPath(new URL('../bin/goshawk.js', import.meta.url));

/** One of Goshawk's processes, as real as it gets. */
export interface Daemon {
  readonly endpoint: string;
  readonly pid: number;
  /** Resolves with how it ended: an exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  signal(name: NodeJS.Signals): void;
  /** Ends it as a crash would, and returns when it is gone. */
  kill(): Promise<void>;
}

/** Workers `w0`, `w1`, …, so many a process. */
interface Workers {
  readonly workers: number;
  readonly workersPerProcess: number;
}

/** The daemons of a cluster, which end with this process, and a folder for all that they write. */
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
   * @param name of its log, which goes on where it was
   * @param args of the command, such as `['scheduler', '--name', 's0']`
   * @param environment beside that of this process, of which it does not get the user's settings
   * @param nodeArgs of Node
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

  /** At the endpoint of the one before, where there was one. */
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
    return this.start(name, ['worker', ...this.#memberArgs(name), ...args], ...how);
  }

  /** All of them, one process after another. */
  async startWorkers(workers: Workers, args: readonly string[] = []): Promise<void> {
    for (const first of firstOfEach(workers)) await this.startWorkersFrom(first, workers, args);
  }

  /** The process that has the workers from this one on. */
  startWorkersFrom(
    first: number,
    { workers, workersPerProcess }: Workers,
    args: readonly string[] = [],
  ): Promise<Daemon> {
    const count = Math.min(workersPerProcess, workers - first);
    const numbers = ['--numbered', '--workers', `${count}`, '--first-number', `${first}`];
    const shares = ['--memory-shares', `${workers}`];
    const name = `w${first}`;
    return this.start(name, ['worker', ...this.#memberArgs('w', name), ...numbers, ...shares, ...args]);
  }

  /** All of a small cluster but its schedulers. */
  async startCentralAndWorkers(workers = 4): Promise<void> {
    await this.startCentral();
    await this.startWorkers({ workers, workersPerProcess: workers }, ['--slots', '4']);
  }

  logOf(name: string): string {
    return readFileSync(this.#logFileOf(name), 'utf8');
  }

  /** The HTTP door of a daemon that was started with `WITH_HTTP`, as it says in its log. */
  async doorOf(name: string): Promise<string> {
    for (;;) {
      const door = /.*"url":"(http:[^"]+)"/s.exec(this.logOf(name))?.[1];
      if (door !== undefined) return door;
      await setTimeout(20);
    }
  }

  /** Ends all as a crash would, the last one first. */
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

/** Environment and arguments of Node, as `start` has them. */
type How = [environment?: NodeJS.ProcessEnv, nodeArgs?: readonly string[]];

export const WITH_HTTP = ['--http', '127.0.0.1:0'] as const;

/** The first worker of each process. */
export function firstOfEach({ workers, workersPerProcess }: Workers): number[] {
  return Array.from({ length: Math.ceil(workers / workersPerProcess) }, (_, at) => at * workersPerProcess);
}

/**
 * Returns the startup message of a process started with `--json`.
 * @param why it did not start
 * @throws if it exits first
 */
export function firstLine<T>(child: ChildProcess, name: string, why: () => string): Promise<T> {
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout! }).once('line', (line) => resolve(JSON.parse(line)));
    // Not at its exit: by now all that it wrote was read.
    child.once('close', () => reject(new Error(`${name} did not start: ${why()}`)));
  });
}
