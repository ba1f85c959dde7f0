import type { Fit } from './fit.js';
import type { Group } from './group.js';
import { Packer } from './packer.js';

export interface BestFitOptions {
  /** Whether a poorly used server starts no tasks until it is empty (§VIII). */
  readonly stall?: boolean;
  /** Capacity in units, by server. */
  readonly capacityOf: (server: number) => number;
}

/**
 * BF-J/S (§IV-A). A server with a departure takes the largest task that fits, repeatedly. Then each new
 * arrival goes to the server where it fits best. After each batch, no waiting task fits any room.
 */
export class BestFit extends Packer {
  protected readonly fit: Fit;
  readonly #options: BestFitOptions;
  readonly #isStalled: boolean[] = [];
  readonly #used: number[] = [];
  /** Total capacity of open servers. */
  #capacity = 0;

  constructor(fit: Fit, options: BestFitOptions) {
    super();
    this.fit = fit;
    this.#options = options;
  }

  protected pack(freed: readonly number[], fresh: readonly Group[]): void {
    for (const server of freed) {
      if (!this.#stalls(server) && this.tasks > 0) this.fill(server);
    }
    for (const group of fresh) {
      while (group.count > 0) {
        const server = this.fit.serverFor(group);
        if (server < 0) break;
        this.send(group, server);
      }
    }
  }

  /** Fills a server that had a departure or is empty. */
  protected fill(server: number): void {
    for (let group = this.fit.groupFor(server); group !== undefined; group = this.fit.groupFor(server))
      this.put(group, server);
  }

  /** Starts a newly arrived task on the server. */
  protected send(group: Group, server: number): void {
    this.put(group, server);
  }

  /** Whether the server is less than half full while the waiting work exceeds the capacity of all servers. */
  protected isInefficient(server: number): boolean {
    const capacity = this.#options.capacityOf(server);
    return 2 * this.#used[server]! < capacity && this.units > this.#capacity;
  }

  protected opened(server: number): void {
    this.#used[server] ??= 0;
    this.#capacity += this.#options.capacityOf(server);
    if (!this.#isStalled[server]) this.fit.open(server);
  }

  protected closed(server: number): void {
    this.#capacity -= this.#options.capacityOf(server);
    this.fit.close(server);
  }

  protected used(server: number, size: number): void {
    this.#used[server] = (this.#used[server] ?? 0) + size;
    this.fit.used(server, size);
  }

  protected added(group: Group): void {
    this.fit.add(group);
  }

  protected removed(group: Group): void {
    this.fit.remove(group);
  }

  #stalls(server: number): boolean {
    if (this.#options.stall !== true) return false;
    const before = this.#isStalled[server] === true;
    const stalls = this.jobs[server]! > 0 && (before || this.isInefficient(server));
    if (stalls === before) return stalls;
    this.#isStalled[server] = stalls;
    if (stalls) this.fit.close(server);
    else this.fit.open(server);
    return stalls;
  }
}
