import { execFileSync } from 'node:child_process';
import { closeSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { LOGIN_OPEN_FILES } from './limits.js';
import { limitIn } from './proc-limits.js';

/** Descriptors that the spawner needs per command, and for itself. */
const [PER_RUN, OWN] = [3, 64];

/** Returns the soft and hard limit of open files of a process; undefined if unknown or unlimited. */
function openFilesLimit(pid: number | 'self'): { readonly soft: number; readonly hard: string } | undefined {
  try {
    const { soft, hard } = limitIn(readFileSync(`/proc/${pid}/limits`, 'latin1'), 'Max open files')!;
    return soft === 'unlimited' ? undefined : { soft: Number(soft), hard };
  } catch {
    return undefined;
  }
}

/**
 * Returns the soft limit for commands. Node raises that of its process to the hard limit, which breaks `select`, and nothing tells
 * what it was. So it is that of the nearest ancestor that is not Node, if this process has inherited its hard limit, and
 * otherwise that of a login: under a service manager, in a container, or after `prlimit`. undefined: not Linux.
 */
export function inheritedOpenFiles(): number | undefined {
  try {
    const node = readlinkSync('/proc/self/exe');
    let pid = process.ppid;
    while (pid > 1 && exeOf(pid) === node) pid = parentOf(pid);
    const theirs = pid > 1 ? openFilesLimit(pid) : undefined;
    return theirs !== undefined && theirs.hard === openFilesLimit('self')?.hard
      ? theirs.soft
      : LOGIN_OPEN_FILES;
  } catch {
    return undefined;
  }
}

/** Flag of descriptors that programs do not inherit. */
const O_CLOEXEC = 0o2_000_000;

/**
 * Closes descriptors of the process that started the worker. Node.js keeps only the low ones from commands, which may
 * belong to another account; its own are all marked.
 *
 * @param from the first descriptor to close
 */
export function closeInherited(from: number): void {
  let names: string[] = [];
  try {
    names = readdirSync('/proc/self/fd');
  } catch {
    // Without /proc, inherited descriptors are unknown.
  }
  for (const name of names) {
    if (Number(name) < from) continue;
    try {
      const [, flags] = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'latin1')) ?? [];
      if (flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0) closeSync(Number(name));
    } catch {
      // This descriptor was used to read the list, and is already closed.
    }
  }
}

function exeOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    // The process belongs to another user.
    return undefined;
  }
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))![1]);
}

/**
 * Gives commands the soft limit of open files that a shell would give them. The limit also applies to this process,
 * so it is raised when more commands run than it permits.
 */
export class OpenFiles {
  #soft = Number.POSITIVE_INFINITY;
  readonly #hard: string;

  /** @param soft undefined: unchanged */
  constructor(soft: number | undefined) {
    const now = openFilesLimit('self');
    this.#hard = now?.hard ?? '';
    if (soft !== undefined && now !== undefined && soft < now.soft && soft >= OWN + PER_RUN) this.#set(soft);
  }

  /** Raises the limit if needed for one more command. */
  makeRoom(running: number): void {
    if (PER_RUN * (running + 1) + OWN <= this.#soft) return;
    this.#set(Number.POSITIVE_INFINITY);
  }

  #set(soft: number): void {
    const limit = `--nofile=${Number.isFinite(soft) ? soft : this.#hard}:${this.#hard}`;
    this.#soft = soft;
    try {
      execFileSync('prlimit', ['--pid', `${process.pid}`, limit], { stdio: 'ignore' });
    } catch {
      // Without prlimit (util-linux), commands inherit the limit that Node raised.
      this.#soft = Number.POSITIVE_INFINITY;
    }
  }
}
