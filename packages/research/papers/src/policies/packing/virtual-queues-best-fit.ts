import { grown } from '@goshawk/core';
import { BestFit, type BestFitOptions } from './best-fit.js';
import { ActiveConfigurations, type Configuration, type ServerClass } from './configurations.js';
import type { Fit } from './fit.js';
import type { Group } from './group.js';
import { sizesOf } from './partition.js';

interface VirtualQueuesBestFitOptions extends BestFitOptions {
  readonly j: number;
  /** Classes of servers, if these differ; all are in one family. */
  readonly classOf?: (server: number) => ServerClass;
  /**
   * `serverOrder`: servers in order of number take all tasks that fit, as in the paper. For tests and cases.
   */
  readonly arrivals?: 'bestFit' | 'serverOrder';
}

/**
 * VQS-BF (§VI). A server first serves its configuration, without a reservation. Best fit from all queues
 * fills the rest. A new arrival goes where it fits best, and an empty server first chooses a configuration.
 */
export class VirtualQueuesBestFit extends BestFit {
  readonly configurations: ActiveConfigurations;
  readonly #bounds: readonly { readonly above: number; readonly upTo: number }[];
  readonly #arrivals: 'bestFit' | 'serverOrder';
  /** Number of tasks by server, then by type. */
  #held = new Uint32Array(0);

  constructor(fit: Fit, options: VirtualQueuesBestFitOptions) {
    super(fit, options);
    const { j } = options;
    this.configurations = new ActiveConfigurations(j, options.classOf);
    this.#bounds = Array.from({ length: 2 * j }, (_, type) => sizesOf(type, j));
    this.#arrivals = options.arrivals ?? 'bestFit';
  }

  /** Sets the configuration of the server when the state is rebuilt. */
  configure(server: number, configuration: Configuration): void {
    this.configurations.set(server, configuration);
  }

  protected override pack(freed: readonly number[], fresh: readonly Group[]): void {
    for (const server of freed) {
      if (this.jobs[server] === 0) this.configurations.set(server, undefined);
    }
    if (this.#arrivals === 'bestFit') return super.pack(freed, fresh);
    for (let server = 0; server < this.jobs.length; server++) {
      if (this.isOpen(server)) this.fill(server);
    }
  }

  protected override fill(server: number): void {
    const configuration = this.configurations.choose(server, this.jobs[server] === 0);
    // Without a configuration for the waiting types, best fit still applies: a task with several resources
    // may fit.
    if (configuration !== undefined) {
      const { large, largeType, filler, fillers } = configuration;
      if (large === 1) this.#putLargest(server, largeType);
      while (this.#held[this.#heldAt(server, filler)]! < fillers && this.#putLargest(server, filler));
    }
    super.fill(server);
  }

  protected override send(group: Group, server: number): void {
    if (this.jobs[server] === 0) this.fill(server);
    else super.send(group, server);
  }

  protected override isInefficient(server: number): boolean {
    return this.configurations.isPoor(server);
  }

  protected override opened(server: number): void {
    this.configurations.opened(server);
    super.opened(server);
  }

  protected override used(server: number, size: number): void {
    this.#widen(server);
    if (size !== 0) this.#held[this.#heldAt(server, this.#typeOf(Math.abs(size)))]! += Math.sign(size);
    super.used(server, size);
  }

  protected override added(group: Group): void {
    this.grew(group, group.count);
    super.added(group);
  }

  protected override grew({ size }: Group, more: number): void {
    this.configurations.lengths[this.#typeOf(size)]! += more;
  }

  #putLargest(server: number, type: number): boolean {
    if (this.configurations.lengths[type] === 0) return false;
    const { above, upTo } = this.#bounds[type]!;
    const group = this.fit.largestOf(server, above, upTo);
    if (group === undefined) return false;
    this.put(group, server);
    return true;
  }

  #heldAt(server: number, type: number): number {
    return server * this.#bounds.length + type;
  }

  #widen(server: number): void {
    const end = this.#heldAt(server + 1, 0);
    if (end > this.#held.length) this.#held = grown(this.#held, end);
  }

  #typeOf(size: number): number {
    return this.configurations.queueOf(size, 0);
  }
}
