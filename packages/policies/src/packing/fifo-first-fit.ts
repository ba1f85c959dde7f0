import { ArrivalOrder } from './arrival-order.js';
import type { Fit } from './fit.js';
import { Packer } from './packer.js';
import type { Waiting } from './waiting.js';

/** FIFO-FF (§VII-B): the oldest task on the first server that fits; one that fits nowhere blocks the rest. */
export class FifoFirstFit extends Packer {
  readonly #fit: Fit;
  readonly #order = new ArrivalOrder(this.waiting);

  constructor(fitFor: (waiting: Waiting) => Fit) {
    super();
    this.#fit = fitFor(this.waiting);
  }

  /** The group that blocks the rest; −1: nothing waits. */
  head(): number {
    return this.#order.head();
  }

  protected pack(): void {
    for (let head = this.#order.head(); head >= 0; head = this.#order.head()) {
      const server = this.#fit.serverFor(head);
      if (server < 0) return;
      this.put(head, server);
    }
  }

  protected override freed(server: number): void {
    this.#fit.refresh(server);
  }

  override shrank(server: number): void {
    this.#fit.refresh(server);
  }

  protected opened(server: number): void {
    this.#fit.open(server);
  }

  protected closed(server: number): void {
    this.#fit.close(server);
  }

  protected left(server: number, size: number): void {
    this.#fit.give(server, size);
  }

  protected came(server: number, size: number): void {
    this.#fit.take(server, size);
  }

  protected added(group: number): void {
    this.#order.add(group);
  }

  protected removed(group: number): void {
    this.#order.remove(group);
  }
}
