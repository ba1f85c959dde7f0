import type { Environment, Millis } from '@goshawk/core';
import type { WorkerTimer } from './contract.js';
import type { Slots } from './slots.js';

/** Sends what tasks print to their owners while they run: now and then, and at once when there is much of it. */
export class Printing {
  readonly #env: Environment<WorkerTimer>;
  readonly #slots: Slots;

  constructor(env: Environment<WorkerTimer>, slots: Slots) {
    this.#env = env;
    this.#slots = slots;
  }

  /** @param dueAt when it is to be sent at the latest */
  append(slot: number, stream: 'stdout' | 'stderr', bytes: Uint8Array, dueAt: Millis): void {
    if (!this.#slots.isRunning(slot)) return;
    const output = this.#slots.outputOf(slot);
    if (output.isEmpty) this.#env.setTimer('output', slot, dueAt);
    output.append(stream, bytes);
    if (output.isFull) this.flush(slot);
  }

  flush(slot: number): void {
    const running = this.#slots.runningAt(slot);
    if (running?.output === undefined || running.output.isEmpty) return;
    let offset = running.output.sentBytes;
    for (const chunk of running.output.take()) {
      const { job, task, attempt } = running;
      this.#env.send(running.owner, { type: 'output', job, task, attempt, offset, chunk });
      offset += chunk.bytes.length;
    }
    this.#env.clearTimer('output', slot);
  }
}
