import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { hasExited, parseProcessStat, processNumbers } from '@goshawk/core';

const GOSHAWK = fileURLToPath(new URL('../bin/goshawk.js', import.meta.url));

export interface Finished {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stdoutBytes: Buffer;
  readonly stderr: string;
}

export interface RunningGoshawk {
  readonly pid: number;
  readonly finished: Promise<Finished>;
  kill(signal: NodeJS.Signals): void;
  /** First line of stdout. Rejects if the process exits before. */
  readonly firstLine: Promise<string>;
  /** Returns stdout so far. */
  stdout(): string;
  /** Returns stderr so far. */
  stderr(): string;
  /** Resolves when stderr matches. Rejects if the process exits before. */
  says(pattern: RegExp): Promise<void>;
}

export interface ProcessOptions {
  readonly cwd?: string;
  /** Input on stdin; none by default. */
  readonly input?: string | Uint8Array;
  /** File for stderr, which is then not recorded. */
  readonly stderrTo?: string;
  /** Existing folder that becomes a disk of 8 MiB for this process, which is full for a journal. See `canMount`. */
  readonly smallDisk?: string;
}

/** Whether this user may mount a disk in a namespace. Linux only. */
export function canMount(): boolean {
  return spawnSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs none /mnt']).status === 0;
}

const ON_SMALL_DISK = 'mount -t tmpfs -o size=8m none "$0" && exec "$@"';

/** The default depends on the accounts of the machine. */
function pinned(args: readonly string[]): NodeJS.ProcessEnv {
  return args.includes('up') ? { GOSHAWK_SECURE: 'false' } : {};
}

/** Starts the built command as a separate process, without the settings of the user who runs the tests. */
export function startGoshawk(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  { cwd, input, stderrTo, smallDisk }: ProcessOptions = {},
): RunningGoshawk {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('GOSHAWK_'));
  const stderr = stderrTo === undefined ? 'pipe' : openSync(stderrTo, 'a');
  const line = [process.execPath, GOSHAWK, ...args];
  const [program = '', ...rest] =
    smallDisk === undefined ? line : ['unshare', '-rm', 'sh', '-c', ON_SMALL_DISK, smallDisk, ...line];
  const child = spawn(program, rest, {
    env: { ...Object.fromEntries(inherited), ...pinned(args), ...environment },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', stderr],
    cwd,
  });
  if (stderr !== 'pipe') closeSync(stderr);
  child.stdin?.end(input);
  const written = { stdout: Buffer.alloc(0), stderr: '' };
  const listeners = new Set<() => void>();
  child.stdout!.on('data', (bytes: Buffer) => {
    written.stdout = Buffer.concat([written.stdout, bytes]);
    for (const look of [...listeners]) look();
  });
  child.stderr?.on('data', (bytes: Buffer) => {
    written.stderr += bytes.toString();
    for (const look of [...listeners]) look();
  });
  const finished = new Promise<Finished>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exitCode) => {
      const { stdout, stderr } = written;
      resolve({ exitCode, stdout: stdout.toString(), stdoutBytes: stdout, stderr });
    });
  });
  const when = <T>(find: () => T | undefined, what: string): Promise<T> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = find();
        if (found === undefined) return;
        listeners.delete(look);
        resolve(found);
      };
      listeners.add(look);
      look();
      void finished.then(() => reject(new Error(`ended without ${what}: ${written.stderr}`)), reject);
    });
  const firstLine = when(() => {
    const newline = written.stdout.indexOf('\n');
    return newline < 0 ? undefined : written.stdout.subarray(0, newline).toString();
  }, 'a line');
  // Not every test uses it.
  firstLine.catch(() => {});
  return {
    pid: child.pid!,
    finished,
    kill: (signal) => void child.kill(signal),
    stdout: () => written.stdout.toString(),
    stderr: () => written.stderr,
    firstLine,
    says: async (pattern) => {
      await when(() => (pattern.test(written.stderr) ? true : undefined), `saying ${pattern}`);
    },
  };
}

export function runGoshawk(
  args: readonly string[],
  environment?: NodeJS.ProcessEnv,
  options?: ProcessOptions,
): Promise<Finished> {
  return startGoshawk(args, environment, options).finished;
}

/** Reports whether a process runs; zombies do not. Linux only. */
export function isRunning(pid: number): boolean {
  try {
    return !hasExited(parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'utf8')));
  } catch {
    return false;
  }
}

/** Returns the children of a process, with their command lines. Linux only. */
export function childrenOf(pid: number): { pid: number; command: string }[] {
  return processNumbers(readdirSync('/proc')).flatMap((child) => {
    try {
      const { parent } = parseProcessStat(readFileSync(`/proc/${child}/stat`, 'utf8'));
      if (parent !== pid) return [];
      const command = readFileSync(`/proc/${child}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return [{ pid: child, command }];
    } catch {
      // The process has exited.
      return [];
    }
  });
}
