import { grown } from '@goshawk/core';
import { BestFit, type BestFitOptions } from './best-fit.js';
import { bestConfiguration, type Configuration, weightOf } from './configurations.js';
import type { Fit } from './fit.js';
import { sizesOf } from './partition.js';
import { ServerKinds } from './server-kinds.js';
import type { Waiting } from './waiting.js';

export interface VirtualQueuesBestFitOptions extends BestFitOptions {
  readonly j: number;
  /** The server has 2^-shift of the capacity that sizes are relative to. */
  readonly shiftOf?: (server: number) => number;
  /** `serverOrder`: all servers in order of number take what they can, as in the paper. An oracle for tests. */
  readonly arrivals?: 'bestFit' | 'serverOrder';
}

/**
 * VQS-BF (§VI): a server's configuration comes first, without a reservation; best fit from all queues fills the rest. A new
 * arrival goes where it fits best; an empty server chooses a configuration first.
 */
export class VirtualQueuesBestFit extends BestFit {
  readonly #kinds: ServerKinds;
  readonly #bounds: readonly { readonly above: number; readonly upTo: number }[];
  readonly #arrivals: 'bestFit' | 'serverOrder';
  readonly #shiftOf: ((server: number) => number) | undefined;
  /** Tasks that wait, by type. */
  readonly #lengths: number[];
  readonly #configurations: (Configuration | undefined)[] = [];
  /** Tasks by type, of each server in turn. */
  #held = new Uint32Array(0);

  constructor(fitFor: (waiting: Waiting) => Fit, options: VirtualQueuesBestFitOptions) {
    super(fitFor, options);
    const { j } = options;
    this.#kinds = new ServerKinds(j);
    this.#bounds = Array.from({ length: 2 * j }, (_, type) => sizesOf(type, j));
    this.#lengths = new Array<number>(2 * j).fill(0);
    this.#arrivals = options.arrivals ?? 'bestFit';
    this.#shiftOf = options.shiftOf;
  }

  /** Tasks that wait, by type. */
  get lengths(): readonly number[] {
    return this.#lengths;
  }

  configurationOf(server: number): Configuration | undefined {
    return this.#configurations[server];
  }

  /** What the server was waiting for when another set of books knew it. */
  configure(server: number, configuration: Configuration): void {
    this.#configurations[server] = configuration;
  }

  protected override pack(freed: readonly number[], fresh: readonly number[]): void {
    for (const server of freed) {
      if (this.jobs[server] === 0) this.#configurations[server] = undefined;
    }
    if (this.#arrivals === 'bestFit') return super.pack(freed, fresh);
    for (let server = 0; server < this.jobs.length; server++) {
      if (this.isOpen(server)) this.fill(server);
    }
  }

  protected override fill(server: number): void {
    const configuration = this.#configure(server);
    // A task of several resources may fit a server whose types are all smaller.
    if (configuration !== undefined) {
      const { large, largeType, filler, fillers } = configuration;
      if (large === 1) this.#putLargest(server, largeType);
      while (this.#held[this.#heldAt(server, filler)]! < fillers && this.#putLargest(server, filler));
    }
    super.fill(server);
  }

  protected override send(group: number, server: number): void {
    if (this.jobs[server] === 0) this.fill(server);
    else super.send(group, server);
  }

  protected override isInefficient(server: number): boolean {
    const configuration = this.#configurations[server];
    const best = bestConfiguration(this.#listOf(server), this.#lengths);
    if (configuration === undefined || best === undefined) return false;
    return 2 * weightOf(configuration, this.#lengths) < weightOf(best, this.#lengths);
  }

  protected override opened(server: number): void {
    this.#widen(server);
    super.opened(server);
  }

  protected override left(server: number, size: number): void {
    this.#held[this.#heldAt(server, this.#typeOf(size))]!--;
    super.left(server, size);
  }

  protected override came(server: number, size: number): void {
    this.#widen(server);
    this.#held[this.#heldAt(server, this.#typeOf(size))]!++;
    super.came(server, size);
  }

  protected override added(group: number, count: number): void {
    this.grew(group, count);
    super.added(group, count);
  }

  protected override grew(group: number, more: number): void {
    this.#lengths[this.#typeOf(this.waiting.size[group]!)]! += more;
  }

  /** An empty server chooses; so does one whose tasks are another central's. */
  #configure(server: number): Configuration | undefined {
    if (this.jobs[server] === 0 || this.#configurations[server] === undefined) {
      this.#configurations[server] = bestConfiguration(this.#listOf(server), this.#lengths);
    }
    return this.#configurations[server];
  }

  #putLargest(server: number, type: number): boolean {
    if (this.#lengths[type] === 0) return false;
    const { above, upTo } = this.#bounds[type]!;
    const group = this.fit.largestOf(server, above, upTo);
    if (group < 0) return false;
    this.put(group, server);
    return true;
  }

  #listOf(server: number): readonly Configuration[] {
    return this.#kinds.kindOf({ family: 0, shift: this.#shiftOf?.(server) ?? 0 }).configurations;
  }

  #heldAt(server: number, type: number): number {
    return server * this.#lengths.length + type;
  }

  #widen(server: number): void {
    const end = this.#heldAt(server + 1, 0);
    if (end > this.#held.length) this.#held = grown(this.#held, end);
  }

  #typeOf(size: number): number {
    return this.#kinds.queueOf(size, 0);
  }
}
