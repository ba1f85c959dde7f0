import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const GOSHAWK = fileURLToPath(new URL('../bin/goshawk.js', import.meta.url));

export interface Finished {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningGoshawk {
  readonly pid: number;
  readonly finished: Promise<Finished>;
  kill(signal: NodeJS.Signals): void;
  /** What it has written to stderr so far. */
  stderr(): string;
  /** Resolves when something on stderr matches. Rejects when it ends before. */
  says(pattern: RegExp): Promise<void>;
}

/** Starts the built command as a process of its own, without the settings of whoever runs the tests. */
export function startGoshawk(args: readonly string[], environment: NodeJS.ProcessEnv = {}): RunningGoshawk {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('GOSHAWK_'));
  const child = spawn(process.execPath, [GOSHAWK, ...args], {
    env: { ...Object.fromEntries(inherited), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const written = { stdout: '', stderr: '' };
  const listeners = new Set<() => void>();
  child.stdout.on('data', (bytes: Buffer) => {
    written.stdout += bytes.toString();
  });
  child.stderr.on('data', (bytes: Buffer) => {
    written.stderr += bytes.toString();
    for (const look of [...listeners]) look();
  });
  const finished = new Promise<Finished>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exitCode) => resolve({ exitCode, ...written }));
  });
  return {
    pid: child.pid!,
    finished,
    kill: (signal) => void child.kill(signal),
    stderr: () => written.stderr,
    says: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!pattern.test(written.stderr)) return;
          listeners.delete(look);
          resolve();
        };
        listeners.add(look);
        look();
        void finished.then(() => reject(new Error(`ended without saying ${pattern}: ${written.stderr}`)));
      }),
  };
}

export function runGoshawk(args: readonly string[], environment?: NodeJS.ProcessEnv): Promise<Finished> {
  return startGoshawk(args, environment).finished;
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
