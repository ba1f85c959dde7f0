import { readdirSync, readFileSync } from 'node:fs';
import { processNumbers } from '@goshawk/core/system';
import { RECORD_VARIABLE } from './process-groups.js';
import { type ProcessIdentity, processIdentity, signal } from './process-identity.js';

/** Searches take at most this part of the time: one reads the state of each process, which takes about 15 µs. */
const PAUSE_FACTOR = 50;
/** How often the search is repeated at most when this process ends, because processes may fork before they are killed. */
const FINAL_SEARCHES = 20;

/**
 * Kills processes of ended commands that have left their process group (`setsid`, daemons). It finds them by a variable in the
 * environment, so a process that clears its environment before it is found escapes, unless a cgroup or a sandbox holds it.
 * Without /proc it finds none.
 */
export class RunLeftovers {
  readonly #marker: string;
  readonly #isLive: (run: number) => boolean;
  /** Processes by pid, and the command that started each; undefined: none. */
  #known = new Map<number, Known>();
  #timer: NodeJS.Timeout | undefined;
  #nextAt = 0;

  /** @param isLive whether the command with this number runs */
  constructor(recordId: string, isLive: (run: number) => boolean) {
    this.#marker = `${RECORD_VARIABLE}=${recordId}`;
    this.#isLive = isLive;
  }

  /** Call when a command has ended. Ends of many commands share a search. */
  runEnded(): void {
    this.#timer ??= setTimeout(() => this.#search(), Math.max(0, this.#nextAt - performance.now())).unref();
  }

  /** Kills what all commands have left, now. */
  endAll(): void {
    clearTimeout(this.#timer);
    for (let search = 0; search < FINAL_SEARCHES && this.#killEnded(() => false); search++);
  }

  #search(): void {
    this.#timer = undefined;
    const began = performance.now();
    const hasKilled = this.#killEnded(this.#isLive);
    const now = performance.now();
    this.#nextAt = now + PAUSE_FACTOR * (now - began);
    if (hasKilled) this.runEnded();
  }

  /** @returns whether any process was killed */
  #killEnded(isLive: (run: number) => boolean): boolean {
    let hasKilled = false;
    const found = new Map<number, Known>();
    for (const pid of allProcesses()) {
      const identity = processIdentity(pid);
      if (identity === undefined || pid === process.pid) continue;
      let known = this.#known.get(pid);
      if (known?.start !== identity.start) known = this.#read(identity);
      if (known === undefined) continue;
      found.set(pid, known);
      const { run } = known;
      if (run !== undefined && !isLive(run)) hasKilled = killIfSame(known) || hasKilled;
    }
    this.#known = found;
    return hasKilled;
  }

  /** @returns undefined if the process is about to become a command, or has ended */
  #read({ pid, start }: ProcessIdentity): Known | undefined {
    let environment: string;
    try {
      environment = `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EACCES' ? { pid, start, run: undefined } : undefined;
    }
    const at = environment.indexOf(`\0${this.#marker}`);
    if (at < 0) return environment.length > 1 ? { pid, start, run: undefined } : undefined;
    const [, run] = /^\/(\d+)\0/.exec(environment.slice(at + 1 + this.#marker.length)) ?? [];
    return run === undefined ? undefined : { pid, start, run: Number(run) };
  }
}

interface Known extends ProcessIdentity {
  /** Undefined: no command of this spawner has started it. */
  readonly run: number | undefined;
}

/** The value of the variable for a command: the record and the number of the command. */
export function markerOf(recordId: string, run: number): string {
  return `${recordId}/${run}`;
}

function killIfSame({ pid, start }: ProcessIdentity): boolean {
  return processIdentity(pid)?.start === start && signal(pid, 'SIGKILL');
}

function allProcesses(): readonly number[] {
  try {
    return processNumbers(readdirSync('/proc'));
  } catch {
    return [];
  }
}
