import { allowedBytes, MEMORY_CALM_MS, MEMORY_LOOK_MS, MEMORY_SHARE_MAX } from './limits.js';
import type { ThreadLink } from './thread-link.js';

/**
 * Watches what modules take outside of the heap, such as Buffers, which V8 does not bound: without it one module ends its
 * worker, and the tasks beside it. Threads say what they have; one that computes says nothing, so the growth of the
 * process tells then.
 */
export class ModuleMemory {
  readonly #bytesMax: number;
  readonly #running: () => readonly ThreadLink[];
  #timer: NodeJS.Timeout | undefined;
  #bytesBefore = 0;
  #calmUntil = 0;

  /** @param heapMiBMax a module may have as much outside of the heap */
  constructor(heapMiBMax: number, running: () => readonly ThreadLink[]) {
    this.#bytesMax = heapMiBMax * 1024 * 1024;
    this.#running = running;
  }

  /** A module starts. */
  watch(): void {
    if (this.#timer !== undefined) return;
    this.#bytesBefore = process.memoryUsage.rss();
    this.#timer = setInterval(() => this.#look(), MEMORY_LOOK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const running = this.#running();
    if (running.length === 0) return this.close();
    for (const thread of running) {
      if (thread.externalBytes > this.#bytesMax) thread.outgrown(this.#message());
      else thread.measure();
    }
    const bytes = process.memoryUsage.rss();
    const now = performance.now();
    // Each may have a full heap, so what is beyond all of them is outside.
    const isOver = bytes - this.#bytesBefore > this.#bytesMax * (1 + running.length);
    if (now < this.#calmUntil || !(isOver || bytes > MEMORY_SHARE_MAX * allowedBytes())) return;
    const deaf = running.filter(({ isDeaf }) => isDeaf);
    if (deaf.length === 0) return;
    // The others have been there while there was room.
    deaf
      .reduce((last, thread) => (thread.startedAt > last.startedAt ? thread : last))
      .outgrown(this.#message());
    this.#calmUntil = now + MEMORY_CALM_MS;
  }

  #message(): string {
    const limit = `${Math.round(this.#bytesMax / (1024 * 1024))} MiB`;
    return `the module used more memory outside of the heap (Buffers) than the limit of ${limit} per module`;
  }
}
