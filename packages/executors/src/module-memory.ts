import { MEMORY_CHECK_MS, MEMORY_GRACE_MS, MEMORY_SHARE_MAX } from './limits.js';
import type { ThreadLink } from './thread-link.js';

/**
 * Limits the memory of modules outside of the heap, such as Buffers, which V8 does not limit. Otherwise one module
 * could crash its worker with all other tasks. Threads report their usage. A thread that computes cannot answer, so
 * the growth of the process counts instead.
 */
export class ModuleMemory {
  readonly #bytesMax: number;
  readonly #running: () => readonly ThreadLink[];
  #timer: NodeJS.Timeout | undefined;
  #bytesBefore = 0;
  /** Memory of the process above which a running module is ended. */
  readonly #processBytesMax: number;
  #graceUntil = 0;

  /**
   * @param heapMiBMax also the limit outside of the heap
   * @param allowedBytes memory that this process may use
   */
  constructor(heapMiBMax: number, allowedBytes: number, running: () => readonly ThreadLink[]) {
    this.#processBytesMax = MEMORY_SHARE_MAX * allowedBytes;
    this.#bytesMax = heapMiBMax * 1024 * 1024;
    this.#running = running;
  }

  /** Starts the checks, because a module starts. */
  watch(): void {
    if (this.#timer !== undefined) return;
    this.#bytesBefore = process.memoryUsage.rss();
    this.#timer = setInterval(() => this.#check(), MEMORY_CHECK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #check(): void {
    const running = this.#running();
    if (running.length === 0) return this.close();
    for (const thread of running) {
      if (thread.externalBytes > this.#bytesMax) thread.outOfMemory(this.#message());
      else thread.measure();
    }
    const bytes = process.memoryUsage.rss();
    const now = performance.now();
    // Even if every heap is full, the memory beyond these is outside of the heaps.
    const isOver = bytes - this.#bytesBefore > this.#bytesMax * (1 + running.length);
    if (now < this.#graceUntil || !(isOver || bytes > this.#processBytesMax)) return;
    const unresponsive = running.filter(({ isUnresponsive }) => isUnresponsive);
    if (unresponsive.length === 0) return;
    // End the run that started last: the others started while there was room.
    unresponsive
      .reduce((last, thread) => (thread.startedAt > last.startedAt ? thread : last))
      .outOfMemory(this.#message());
    this.#graceUntil = now + MEMORY_GRACE_MS;
  }

  #message(): string {
    const limit = `${Math.round(this.#bytesMax / (1024 * 1024))} MiB`;
    return `the module used more memory outside of the heap (Buffers) than the limit of ${limit} per module`;
  }
}
