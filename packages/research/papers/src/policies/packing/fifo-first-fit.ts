import { ArrivalOrder } from './arrival-order.js';
import type { Fit } from './fit.js';
import type { Group } from './group.js';
import { Packer } from './packer.js';

/**
 * FIFO-FF (§VII-B). The oldest task starts on the first server where it fits. A task that fits nowhere blocks
 * the rest.
 */
export class FifoFirstFit extends Packer {
  readonly #fit: Fit;
  readonly #order = new ArrivalOrder();

  constructor(fit: Fit) {
    super();
    this.#fit = fit;
  }

  /** The group that blocks the rest; undefined: none waits. */
  head(): Group | undefined {
    return this.#order.head();
  }

  protected pack(): void {
    for (let head = this.#order.head(); head !== undefined; head = this.#order.head()) {
      const server = this.#fit.serverFor(head);
      if (server < 0) return;
      this.put(head, server);
    }
  }

  protected opened(server: number): void {
    this.#fit.open(server);
  }

  protected closed(server: number): void {
    this.#fit.close(server);
  }

  protected used(server: number, size: number): void {
    this.#fit.used(server, size);
  }

  protected added(group: Group): void {
    this.#order.add(group);
  }

  protected removed(group: Group): void {
    this.#order.remove(group);
  }
}
