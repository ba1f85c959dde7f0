import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The command, as it is built. */
export const GOSHAWK = fileURLToPath(new URL('../bin/goshawk.js', import.meta.url));

/** One of Goshawk's processes, as real as it gets. */
export interface Daemon {
  readonly endpoint: string;
  readonly pid: number;
  /** Lines of its log so far; none where they go to a file. */
  readonly log: readonly string[];
  /** Resolves with how it ended: an exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  signal(name: NodeJS.Signals): void;
  /** Ends it as a crash would, and returns when it is gone. */
  kill(): Promise<void>;
}

export interface DaemonOptions {
  /** All of it. Default: that of this process. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Of Node. */
  readonly nodeArgs?: readonly string[];
  /** A file to which its log is added; otherwise it is kept here. */
  readonly logFile?: string;
  /** Gets each line of a log that is kept here. */
  readonly onLine?: (line: string) => void;
}

/**
 * Starts a daemon and waits until it is up. It ends with this process.
 *
 * @param args of the command, such as `['scheduler', '--name', 's0']`
 */
export async function startDaemon(args: readonly string[], options: DaemonOptions = {}): Promise<Daemon> {
  const { environment = process.env, nodeArgs = [], logFile, onLine } = options;
  if (logFile !== undefined) mkdirSync(dirname(logFile), { recursive: true });
  const stderr = logFile === undefined ? 'pipe' : openSync(logFile, 'a');
  const child = spawn(process.execPath, [...nodeArgs, GOSHAWK, ...args, '--json', '--with-parent'], {
    stdio: ['pipe', 'pipe', stderr],
    env: environment,
  });
  if (stderr !== 'pipe') closeSync(stderr);
  const log: string[] = [];
  if (child.stderr !== null) {
    createInterface({ input: child.stderr }).on('line', (line) => {
      log.push(line);
      onLine?.(line);
    });
  }
  const gone = once(child, 'exit');
  const why = () => (logFile === undefined ? log.join('\n') : `${logFile} says why`);
  const { endpoint } = await firstLine<{ endpoint: string }>(child, args[0] ?? 'a daemon', why);
  const ended = gone.then(([code, signal]) => (signal ?? code ?? 1) as number | NodeJS.Signals);
  return {
    endpoint,
    pid: child.pid!,
    log,
    ended,
    signal: (signal) => void child.kill(signal),
    kill: async () => {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

/** As `startDaemon`, with an HTTP server on loopback. @returns `url` of the door as well */
export async function startDaemonWithHttp(
  args: readonly string[],
  options: DaemonOptions = {},
): Promise<Daemon & { readonly url: string }> {
  let opened: (url: string) => void;
  const url = new Promise<string>((resolve) => {
    opened = resolve;
  });
  const daemon = await startDaemon([...args, '--http', '127.0.0.1:0'], {
    ...options,
    onLine: (line) => {
      const found = /"url":"(http:[^"]+)"/.exec(line)?.[1];
      if (found !== undefined) opened(found);
      options.onLine?.(line);
    },
  });
  return { ...daemon, url: await url };
}

/**
 * What a process that was told `--json` says when it is up.
 *
 * @param why it did not start
 * @throws when it ends before
 */
export function firstLine<T>(child: ChildProcess, name: string, why: () => string): Promise<T> {
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout! }).once('line', (line) => resolve(JSON.parse(line)));
    // Not at its exit: by now all that it wrote was read.
    child.once('close', () => reject(new Error(`${name} did not start: ${why()}`)));
  });
}
