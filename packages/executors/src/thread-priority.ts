import { readFileSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { limitIn } from './proc-limits.js';

const { PRIORITY_LOW, PRIORITY_HIGHEST } = constants.priority;
/** Bit of the capability to raise priorities in `CapEff`. */
const CAP_SYS_NICE = 23n;

/** The priority of one thread of this process. Without effect where the kernel would not raise it again. */
export class ThreadPriority {
  #thread: number | undefined;
  #usual = 0;
  #isLow = false;

  /** @param thread number of the thread in the kernel; undefined once it has ended */
  of(thread: number | undefined): void {
    this.#thread = undefined;
    if (thread === undefined) return;
    this.#usual = getPriority();
    if (!mayRaiseTo(this.#usual)) return;
    this.#thread = thread;
    if (this.#isLow) this.setLow(true);
  }

  setLow(isLow: boolean): void {
    this.#isLow = isLow;
    if (this.#thread === undefined) return;
    try {
      setPriority(this.#thread, isLow ? PRIORITY_LOW : this.#usual);
    } catch {
      this.#thread = undefined; // it has ended
    }
  }
}

let maximum: number | undefined;

/** Whether this process may raise the priority of its threads to this niceness. */
function mayRaiseTo(niceness: number): boolean {
  maximum ??= highestNiceness();
  return niceness >= maximum;
}

/** Returns the lowest niceness that this process may set, which is the highest priority. */
function highestNiceness(): number {
  try {
    const [, capabilities] =
      /^CapEff:\s+([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'latin1')) ?? [];
    if (((BigInt(`0x${capabilities}`) >> CAP_SYS_NICE) & 1n) === 1n) return PRIORITY_HIGHEST;
    const soft = limitIn(readFileSync('/proc/self/limits', 'latin1'), 'Max nice priority')?.soft;
    return soft === 'unlimited' ? PRIORITY_HIGHEST : 20 - Number(soft ?? 0);
  } catch {
    return PRIORITY_LOW + 1; // not Linux, where threads have no separate priorities
  }
}
