import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The command, as it is built. */
export const GOSHAWK = fileURLToPath(new URL('../../packages/cli/bin/goshawk.js', import.meta.url));

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

/**
 * Starts a daemon and waits until it is up. It ends with this process.
 *
 * @param args of the command, such as `['scheduler', '--name', 's0']`
 * @param logs a folder; the log of each name goes on where it was
 * @param environment all of it
 */
export async function startDaemon(
  name: string,
  args: readonly string[],
  logs: string,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Daemon> {
  mkdirSync(logs, { recursive: true });
  const log = openSync(join(logs, `${name}.log`), 'a');
  const child = spawn(process.execPath, [GOSHAWK, ...args, '--json', '--with-parent'], {
    stdio: ['pipe', 'pipe', log],
    env: environment,
  });
  closeSync(log);
  const gone = once(child, 'exit');
  const { endpoint } = await firstLine<{ endpoint: string }>(child, name, 'its log');
  const ended = gone.then(([code, signal]) => (signal ?? code ?? 1) as number | NodeJS.Signals);
  return {
    endpoint,
    pid: child.pid!,
    ended,
    signal: (signal) => void child.kill(signal),
    kill: async () => {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

/**
 * What a process that was told `--json` says when it is up.
 *
 * @param log where it says why it did not start
 * @throws when it ends before
 */
export function firstLine<T>(child: ChildProcess, name: string, log: string): Promise<T> {
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout! }).once('line', (line) => resolve(JSON.parse(line)));
    // Not at its exit: by now all that it wrote was read.
    child.once('close', () => reject(new Error(`${name} did not start; ${log} says why`)));
  });
}
