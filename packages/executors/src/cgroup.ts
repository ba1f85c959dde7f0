import { type ChildProcess, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Joint limits of a command and its children. */
export interface TaskLimits {
  /** In processors. */
  readonly cpu?: number;
  /** Bytes, without swap. */
  readonly memory?: number;
}

const CONTROLLERS = ['cpu', 'memory'];
/** Bounds what a fork bomb takes, where the parent passes it on. */
const PIDS = 'pids';
const PIDS_MAX = 4_096;
const PREFIX = 'goshawk-';
const PERIOD_US = 100_000;
/** The least that the kernel takes. */
const QUOTA_MIN_US = 1_000;
/** A cgroup goes when its last process has been reaped. */
const [REMOVE_PAUSE_MS, REMOVE_TRIES] = [50, 40];

/**
 * Makes a cgroup (version 2) ready to have one cgroup for each command below it.
 *
 * @param folder of the cgroup; it has no processes of its own, and this process may write to it
 * @throws Error with one line that says what is missing
 */
export function prepareCgroup(folder: string): void {
  const controllers = attempt(
    () => readFileSync(join(folder, 'cgroup.controllers'), 'utf8').split(/\s+/),
    () => `${folder} is not the folder of a cgroup (version 2)`,
  );
  const missing = CONTROLLERS.filter((name) => !controllers.includes(name));
  if (missing.length > 0)
    throw new Error(`the cgroup ${folder} lacks ${missing.join(' and ')}: enable them in its parent`);
  const wanted = controllers.includes(PIDS) ? [...CONTROLLERS, PIDS] : CONTROLLERS;
  attempt(
    () => writeFileSync(join(folder, 'cgroup.subtree_control'), wanted.map((name) => `+${name}`).join(' ')),
    ({ code, message }) =>
      code === 'EBUSY'
        ? `the cgroup ${folder} contains processes: give an empty one`
        : `the cgroup ${folder} cannot be written to: ${message}`,
  );
  removeEmpty(folder);
  const trial = join(folder, `${PREFIX}trial-${process.pid}`);
  attempt(
    () => {
      mkdirSync(trial);
      execFileSync('/bin/sh', ['-c', 'echo $$ > "$0"', join(trial, 'cgroup.procs')], { stdio: 'pipe' });
    },
    ({ message }) => `no process can be moved into the cgroup ${folder}: ${message.split('\n').at(-1)}`,
  );
  rmdirSync(trial);
}

/** Removes cgroups of processes that died. */
function removeEmpty(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(PREFIX)) continue;
    try {
      rmdirSync(join(folder, name));
    } catch {
      // Somebody is in it.
    }
  }
}

function attempt<T>(act: () => T, explained: (error: NodeJS.ErrnoException) => string): T {
  try {
    return act();
  } catch (error) {
    throw new Error(explained(error as NodeJS.ErrnoException), { cause: error });
  }
}

/** The cgroup in which a process waits between its forks: below the same parent as those of commands. */
export function enterOwnCgroup(folder: string): string {
  const own = join(folder, `${PREFIX}spawner-${process.pid}`);
  moveTo(own);
  return own;
}

function moveTo(cgroup: string): void {
  mkdirSync(cgroup, { recursive: true });
  writeFileSync(join(cgroup, 'cgroup.procs'), `${process.pid}`);
}

/** The worker's fault, and no task's. */
export class CgroupError extends Error {}

/**
 * The cgroup of one command. This process goes into it to fork, and leaves it before it has limits: so nothing that the
 * command starts is ever outside of it.
 */
export class TaskCgroup {
  readonly #folder: string;
  /** This process is in it, and ends nothing there: itself neither. */
  #isOurs = false;

  /** @param name of its own among commands that run */
  constructor(parent: string, name: string) {
    this.#folder = join(parent, `${PREFIX}${name}`);
  }

  /**
   * Forks in the cgroup.
   *
   * @param home of this process
   * @throws CgroupError, and what `fork` throws; nothing runs then
   */
  forking(fork: () => ChildProcess, limits: TaskLimits, home: string): ChildProcess {
    this.#isOurs = true;
    this.#try(() => moveTo(this.#folder));
    let child: ChildProcess | undefined;
    try {
      child = fork();
    } finally {
      this.#try(() => {
        moveTo(home);
        this.#isOurs = false;
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
    // A kernel may be without swap.
    if (readdirSync(this.#folder).includes('memory.swap.max')) this.#write('memory.swap.max', '0');
    this.#write('memory.max', `${Math.floor(memory)}`);
  }

  /** Most memory that its processes had together. Bytes; undefined where the kernel does not say (before 5.19). */
  get peakBytes(): number | undefined {
    try {
      return Number(readFileSync(join(this.#folder, 'memory.peak'), 'utf8'));
    } catch {
      return undefined;
    }
  }

  /** Whether the kernel ended its processes for want of memory. */
  get ranOutOfMemory(): boolean {
    try {
      return /^oom_kill [1-9]/m.test(readFileSync(join(this.#folder, 'memory.events'), 'utf8'));
    } catch {
      return false;
    }
  }

  /** Ends all that is in it, also what has left the command's process group. */
  kill(): void {
    if (this.#isOurs) return;
    try {
      this.#write('cgroup.kill', '1');
    } catch {
      // It is gone, or the kernel is older than 5.14.
    }
  }

  /** Ends all that is in it, and removes it. */
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
