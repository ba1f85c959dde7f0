import { bestConfiguration, type Configuration, weightOf } from './configurations.js';
import { type ServerClass, type ServerKind, ServerKinds, WHOLE_SERVER } from './server-kinds.js';

/**
 * The configuration of each server (§V-B): an empty one takes that of largest weight by the tasks that wait, and keeps to it
 * until it is empty again.
 */
export class ActiveConfigurations {
  readonly #shared: ServerKinds;
  /** Tasks that wait, by virtual queue. */
  readonly lengths: number[] = [];
  readonly #classOf: ((server: number) => ServerClass) | undefined;
  /** Where all servers are alike. */
  readonly #only: ServerKind;
  /** By server. */
  readonly #kinds: ServerKind[] = [];
  readonly #active: (Configuration | undefined)[] = [];

  /** @param classOf of servers that differ */
  constructor(j: number, classOf?: (server: number) => ServerClass) {
    this.#shared = new ServerKinds(j);
    this.#classOf = classOf;
    this.#only = this.#shared.kindOf(WHOLE_SERVER);
    this.widen(0);
  }

  /** There are queues of this family. */
  widen(family: number): void {
    while (this.lengths.length < 2 * this.#shared.j * (family + 1)) this.lengths.push(0);
  }

  /** A server takes work under this number, perhaps another one than before. */
  opened(server: number): void {
    if (this.#classOf === undefined) return;
    const serverClass = this.#classOf(server);
    this.#kinds[server] = this.#shared.kindOf(serverClass);
    this.widen(serverClass.family);
  }

  kindOf(server: number): ServerKind {
    if (this.#classOf === undefined) return this.#only;
    this.#kinds[server] ??= this.#shared.kindOf(this.#classOf(server));
    return this.#kinds[server];
  }

  /** The virtual queue of a task. @param size units of the largest server of the family */
  queueOf(size: number, family: number): number {
    return this.#shared.queueOf(size, family);
  }

  of(server: number): Configuration | undefined {
    return this.#active[server];
  }

  set(server: number, configuration: Configuration | undefined): void {
    this.#active[server] = configuration;
  }

  /** Without one though tasks run there: another central's. */
  choose(server: number, isEmpty: boolean): Configuration | undefined {
    if (isEmpty || this.#active[server] === undefined) this.#active[server] = this.#heaviest(server);
    return this.#active[server];
  }

  /** Its configuration weighs less than half of the largest (§VIII). */
  isPoor(server: number): boolean {
    const configuration = this.#active[server];
    const best = this.#heaviest(server);
    if (configuration === undefined || best === undefined) return false;
    return 2 * weightOf(configuration, this.lengths) < weightOf(best, this.lengths);
  }

  #heaviest(server: number): Configuration | undefined {
    return bestConfiguration(this.kindOf(server).configurations, this.lengths);
  }
}
