import { type ChildProcess, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Joint limits of a command and its children. */
export interface TaskLimits {
  /** CPUs. */
  readonly cpu?: number;
  /** Bytes, without swap. */
  readonly memory?: number;
}

const CONTROLLERS = ['cpu', 'memory'];
/** Limits fork bombs, if the parent delegates the controller. */
const PIDS = 'pids';
const PIDS_MAX = 4_096;
const PREFIX = 'goshawk-';
const PERIOD_US = 100_000;
/** Minimum that the kernel accepts. */
const QUOTA_MIN_US = 1_000;
/** Share of CPUs of a paused and of a running command, among those of its parent: `cpu.weight`, or `cpu.shares` of version 1. */
const SHARES = [
  { file: 'cpu.weight', paused: 1, running: 100 },
  { file: 'cpu.shares', paused: 2, running: 1_024 },
] as const;
/** A cgroup can be removed once its last process has been reaped. */
const [REMOVE_PAUSE_MS, REMOVE_TRIES] = [50, 40];

/**
 * Prepares a cgroup (version 2) to contain one cgroup for each command.
 *
 * @param folder of the cgroup; it has no processes, and this process may write to it
 * @throws Error with one line that says what is missing
 */
export function prepareCgroup(folder: string): void {
  const controllers = withExplainedErrors(
    () => readFileSync(join(folder, 'cgroup.controllers'), 'utf8').split(/\s+/),
    () => `${folder} is not the folder of a cgroup (version 2)`,
  );
  const missing = CONTROLLERS.filter((name) => !controllers.includes(name));
  if (missing.length > 0)
    throw new Error(`the cgroup ${folder} lacks ${missing.join(' and ')}: enable them in its parent`);
  const wanted = controllers.includes(PIDS) ? [...CONTROLLERS, PIDS] : CONTROLLERS;
  withExplainedErrors(
    () => writeFileSync(join(folder, 'cgroup.subtree_control'), wanted.map((name) => `+${name}`).join(' ')),
    ({ code, message }) =>
      code === 'EBUSY'
        ? `the cgroup ${folder} contains processes: use an empty one`
        : `the cgroup ${folder} cannot be written to: ${message}`,
  );
  removeEmpty(folder);
  const trial = join(folder, `${PREFIX}trial-${process.pid}`);
  withExplainedErrors(
    () => {
      mkdirSync(trial);
      execFileSync('/bin/sh', ['-c', 'echo $$ > "$0"', join(trial, 'cgroup.procs')], { stdio: 'pipe' });
    },
    ({ message }) => `no process can be moved into the cgroup ${folder}: ${message.split('\n').at(-1)}`,
  );
  rmdirSync(trial);
}

/** Removes the cgroups of dead processes. */
function removeEmpty(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(PREFIX)) continue;
    try {
      rmdirSync(join(folder, name));
    } catch {
      // The cgroup still has processes.
    }
  }
}

function withExplainedErrors<T>(act: () => T, explained: (error: NodeJS.ErrnoException) => string): T {
  try {
    return act();
  } catch (error) {
    throw new Error(explained(error as NodeJS.ErrnoException), { cause: error });
  }
}

/** Moves this process into a separate cgroup, a sibling of the cgroups of commands. */
export function enterOwnCgroup(folder: string): string {
  const own = join(folder, `${PREFIX}spawner-${process.pid}`);
  moveTo(own);
  return own;
}

function moveTo(cgroup: string): void {
  mkdirSync(cgroup, { recursive: true });
  writeFileSync(join(cgroup, 'cgroup.procs'), `${process.pid}`);
}

/** A fault of the worker rather than of a task. */
export class CgroupError extends Error {}

/**
 * The cgroup of one command. This process enters it to fork, and leaves it before its limits are set, so that nothing
 * that the command starts is ever outside of it.
 */
export class TaskCgroup {
  readonly #folder: string;
  /** Whether this process is in the cgroup, and therefore must not kill it. */
  #isEntered = false;

  /** @param name unique among running commands */
  constructor(parent: string, name: string) {
    this.#folder = join(parent, `${PREFIX}${name}`);
  }

  /**
   * Forks in the cgroup.
   *
   * @param home cgroup of this process
   * @throws CgroupError, and the errors of `fork`; nothing runs then
   */
  forking(fork: () => ChildProcess, limits: TaskLimits, home: string): ChildProcess {
    this.#isEntered = true;
    this.#try(() => moveTo(this.#folder));
    let child: ChildProcess | undefined;
    try {
      child = fork();
    } finally {
      this.#try(() => {
        moveTo(home);
        this.#isEntered = false;
        this.#limit(limits);
      }, child?.pid);
    }
    return child;
  }

  #try(act: () => void, pid?: number): void {
    try {
      act();
    } catch (error) {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
      this.remove();
      throw new CgroupError(`cannot create a cgroup for the task: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }

  #limit({ cpu, memory }: TaskLimits): void {
    if (existsSync(join(this.#folder, 'pids.max'))) this.#write('pids.max', `${PIDS_MAX}`);
    if (cpu !== undefined) {
      const quota = Math.max(QUOTA_MIN_US, Math.round(cpu * PERIOD_US));
      this.#write('cpu.max', `${quota} ${PERIOD_US}`);
    }
    if (memory === undefined) return;
    this.#write('memory.oom.group', '1');
    // A kernel may have no swap accounting.
    if (readdirSync(this.#folder).includes('memory.swap.max')) this.#write('memory.swap.max', '0');
    this.#write('memory.max', `${Math.floor(memory)}`);
  }

  /**
   * Gives its processes a hundredth of the usual share of CPUs, or the usual share again.
   *
   * @returns false if the kernel cannot
   */
  setPaused(isPaused: boolean): boolean {
    return SHARES.some(({ file, paused, running }) => {
      try {
        this.#write(file, `${isPaused ? paused : running}`);
        return true;
      } catch {
        return false;
      }
    });
  }

  /** Peak memory of all its processes together. Bytes; undefined before Linux 5.19. */
  get peakBytes(): number | undefined {
    try {
      return Number(readFileSync(join(this.#folder, 'memory.peak'), 'utf8'));
    } catch {
      return undefined;
    }
  }

  /** Processor time so far of all its processes, in ms; undefined if the kernel does not report it. */
  get cpuMs(): number | undefined {
    try {
      const [, us] = /^usage_usec (\d+)$/m.exec(readFileSync(join(this.#folder, 'cpu.stat'), 'utf8')) ?? [];
      return us === undefined ? undefined : Number(us) / 1_000;
    } catch {
      return undefined;
    }
  }

  /** Memory in use, and processor time so far, of all its processes; undefined if the kernel does not report both. */
  get usage(): { readonly cpuMs: number; readonly memory: number } | undefined {
    try {
      const read = (file: string) => readFileSync(join(this.#folder, file), 'utf8');
      const { cpuMs } = this;
      if (cpuMs === undefined) return undefined;
      // Excludes the cache of inactive files, which the kernel drops when memory is short.
      const [, droppable] = /^inactive_file (\d+)$/m.exec(read('memory.stat')) ?? [];
      const memory = Math.max(0, Number(read('memory.current')) - Number(droppable ?? 0));
      return { cpuMs, memory };
    } catch {
      return undefined;
    }
  }

  /** Whether the OOM killer ended any of its processes. */
  get ranOutOfMemory(): boolean {
    try {
      return /^oom_kill [1-9]/m.test(readFileSync(join(this.#folder, 'memory.events'), 'utf8'));
    } catch {
      return false;
    }
  }

  /** Kills all its processes, including those that left the command's process group. */
  kill(): void {
    if (this.#isEntered) return;
    try {
      this.#write('cgroup.kill', '1');
    } catch {
      // The cgroup is gone, or the kernel is older than 5.14.
    }
  }

  /** Kills all its processes and removes it. */
  remove(): void {
    this.kill();
    this.#removeEmpty(REMOVE_TRIES);
  }

  #removeEmpty(tries: number): void {
    try {
      rmdirSync(this.#folder);
    } catch {
      if (tries > 0) setTimeout(() => this.#removeEmpty(tries - 1), REMOVE_PAUSE_MS).unref();
    }
  }

  #write(file: string, text: string): void {
    writeFileSync(join(this.#folder, file), text);
  }
}
