import { isAlive, type ProcessIdentity, processesOutsideGroup, signal } from './process-identity.js';

/**
 * Time (ms) after which processes outside of the command's group are stopped, too. Finding them scans all processes of the
 * machine, which a shorter pause is not worth.
 */
const SCAN_AFTER_MS = 50;
/** A process that is not stopped yet may start others during a scan. */
const SCANS_MAX = 10;

/** A command that SIGSTOP has stopped, until `resume`. */
export class StoppedCommand {
  readonly #leader: number;
  readonly #outside: ProcessIdentity[] = [];
  readonly #timer: NodeJS.Timeout;

  /** @param leader the leader of the command's process group */
  constructor(leader: number) {
    this.#leader = leader;
    signal(-leader, 'SIGSTOP');
    this.#timer = setTimeout(() => this.#stopOthers(), SCAN_AFTER_MS).unref();
  }

  resume(): void {
    clearTimeout(this.#timer);
    // Children first: a shell with job control must not see that they were stopped.
    for (const process of this.#outside) if (isAlive(process)) signal(process.pid, 'SIGCONT');
    signal(-this.#leader, 'SIGCONT');
  }

  #stopOthers(): void {
    const known = new Set<number>();
    for (let scans = 0; scans < SCANS_MAX; scans++) {
      const found = processesOutsideGroup(this.#leader).filter(({ pid }) => !known.has(pid));
      if (found.length === 0) return;
      for (const process of found) {
        known.add(process.pid);
        if (signal(process.pid, 'SIGSTOP')) this.#outside.push(process);
      }
    }
  }
}
