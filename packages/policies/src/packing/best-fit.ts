import type { Fit } from './fit.js';
import { Packer } from './packer.js';
import type { Waiting } from './waiting.js';

/** What is stalled starts nothing until it is empty (§VIII). */
export interface BestFitOptions {
  readonly stall?: boolean;
  /** Units by server. */
  readonly capacityOf: (server: number) => number;
}

/**
 * BF-J/S (§IV-A): a server that something has left takes the largest task that fits, again and again; then each new
 * arrival goes where it fits best. After each batch the smallest waiting task is larger than the largest room.
 */
export class BestFit extends Packer {
  protected readonly fit: Fit;
  readonly #options: BestFitOptions;
  readonly #isStalled: boolean[] = [];
  readonly #used: number[] = [];
  /** Of the servers that are open. */
  #capacity = 0;

  constructor(fitFor: (waiting: Waiting) => Fit, options: BestFitOptions) {
    super();
    this.fit = fitFor(this.waiting);
    this.#options = options;
  }

  isStalled(server: number): boolean {
    return this.#isStalled[server] === true;
  }

  protected pack(freed: readonly number[], fresh: readonly number[]): void {
    for (const server of freed) {
      if (!this.#stalls(server) && this.waiting.tasks > 0) this.fill(server);
    }
    for (const group of fresh) {
      while (this.waiting.count[group]! > 0) {
        const server = this.fit.serverFor(group);
        if (server < 0) break;
        this.send(group, server);
      }
    }
  }

  /** What a server takes that something has left, or that is empty. */
  protected fill(server: number): void {
    for (;;) {
      const group = this.fit.groupFor(server);
      if (group < 0) return;
      this.put(group, server);
    }
  }

  /** A new arrival has its server. */
  protected send(group: number, server: number): void {
    this.put(group, server);
  }

  /** Less than half full while more waits than all servers hold. */
  protected isInefficient(server: number): boolean {
    const capacity = this.#options.capacityOf(server);
    return 2 * this.#used[server]! < capacity && this.waiting.units > this.#capacity;
  }

  protected override freed(server: number): void {
    this.fit.refresh(server);
  }

  override shrank(server: number): void {
    this.fit.refresh(server);
  }

  protected opened(server: number): void {
    this.#used[server] ??= 0;
    this.#capacity += this.#options.capacityOf(server);
    if (!this.isStalled(server)) this.fit.open(server);
  }

  protected closed(server: number): void {
    this.#capacity -= this.#options.capacityOf(server);
    this.fit.close(server);
  }

  protected left(server: number, size: number): void {
    this.#used[server]! -= size;
    this.fit.give(server, size);
  }

  protected came(server: number, size: number): void {
    this.#used[server] = (this.#used[server] ?? 0) + size;
    this.fit.take(server, size);
  }

  protected added(group: number, _count: number): void {
    this.fit.add(group);
  }

  protected removed(group: number): void {
    this.fit.remove(group);
  }

  #stalls(server: number): boolean {
    if (this.#options.stall !== true) return false;
    const before = this.isStalled(server);
    const stalls = this.jobs[server]! > 0 && (before || this.isInefficient(server));
    if (stalls === before) return stalls;
    this.#isStalled[server] = stalls;
    if (stalls) this.fit.close(server);
    else this.fit.open(server);
    return stalls;
  }
}
