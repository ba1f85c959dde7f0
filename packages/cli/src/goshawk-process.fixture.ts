import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

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
  /** The first line of stdout, as soon as it is there. Rejects when it ends before. */
  readonly firstLine: Promise<string>;
  /** Returns its stderr so far. */
  stderr(): string;
  /** Resolves when something on stderr matches. Rejects when it ends before. */
  says(pattern: RegExp): Promise<void>;
}

export interface ProcessOptions {
  readonly cwd?: string;
  /** Input on stdin; none by default. */
  readonly input?: string | Uint8Array;
  /** A file that stderr goes to, instead of being kept. */
  readonly stderrTo?: string;
}

/** Starts the built command as a process of its own, without the settings of the tests' user. */
export function startGoshawk(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  { cwd, input, stderrTo }: ProcessOptions = {},
): RunningGoshawk {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('GOSHAWK_'));
  const stderr = stderrTo === undefined ? 'pipe' : openSync(stderrTo, 'a');
  const child = spawn(process.execPath, [GOSHAWK, ...args], {
    env: { ...Object.fromEntries(inherited), ...environment },
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
  // Not everybody wants it.
  firstLine.catch(() => {});
  return {
    pid: child.pid!,
    finished,
    kill: (signal) => void child.kill(signal),
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

/** Whether a process runs; one that has ended and that nobody has reaped does not. Linux only. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}

/** Processes whose parent a process is, with their command lines. Linux only. */
export function childrenOf(pid: number): { pid: number; command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        // The second field is a name in brackets, which may hold anything; the parent is the second after it.
        const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
        if (parent !== pid) return [];
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return [{ pid: Number(name), command }];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    });
}
