import type { Group } from './group.js';

/** Starts a task of the group at the server. */
type Place = (group: Group, server: number) => void;

/**
 * A packing policy over servers and groups of waiting tasks. Between batches it receives departures, new servers and
 * arrivals; `run` is one batch.
 */
export abstract class Packer {
  /** Number of tasks by server, including those in flight. */
  protected readonly jobs: number[] = [];
  readonly #isOpen: boolean[] = [];
  #freed: number[] = [];
  readonly #isFreed: boolean[] = [];
  #fresh: Group[] = [];
  #tasks = 0;
  #units = 0;
  #place: Place = () => {};

  /** Number of waiting tasks. */
  get tasks(): number {
    return this.#tasks;
  }

  /** Sum of the sizes of waiting tasks. */
  get units(): number {
    return this.#units;
  }

  /** Opens or reopens the server, which counts as a departure. */
  open(server: number): void {
    this.jobs[server] ??= 0;
    if (this.#isOpen[server] !== true) {
      this.#isOpen[server] = true;
      this.opened(server);
    }
    this.free(server);
  }

  /** Records that the server has more room, for any reason. */
  free(server: number): void {
    this.used(server, 0);
    this.#noteFreed(server);
  }

  /** Records that the server has less room than arrivals and departures imply. */
  shrank(server: number): void {
    this.used(server, 0);
  }

  /** Closes the server: running tasks continue, and no new task starts. */
  close(server: number): void {
    if (this.#isOpen[server] !== true) return;
    this.#isOpen[server] = false;
    this.closed(server);
  }

  /** Adds a group, all of whose tasks wait. */
  arrive(group: Group): void {
    this.#count(group, group.count);
    this.added(group);
    this.#fresh.push(group);
  }

  /** Adds tasks to a waiting group. */
  grow(group: Group, more: number): void {
    group.count += more;
    this.#count(group, more);
    this.grew(group, more);
    this.#fresh.push(group);
  }

  /** Removes tasks that no longer wait from the group: they started, or will not run. */
  withdraw(group: Group, count: number): void {
    group.count -= count;
    this.#count(group, -count);
    this.grew(group, -count);
    if (group.count === 0) this.removed(group);
  }

  /** Removes a task of this size from the server. */
  depart(server: number, size: number): void {
    this.jobs[server]!--;
    this.used(server, -size);
    this.#noteFreed(server);
  }

  /** Adds a running task of this size that this policy has not placed. */
  found(server: number, size: number): void {
    this.jobs[server] = (this.jobs[server] ?? 0) + 1;
    this.used(server, size);
  }

  /** Number of tasks at the server, including those in flight. */
  tasksAt(server: number): number {
    return this.jobs[server] ?? 0;
  }

  /** Servers with departures since the last batch. */
  get freedServers(): readonly number[] {
    return this.#freed;
  }

  /** Processes one batch: passes the departures and arrivals since the last one to `pack`. */
  run(place: Place): void {
    this.#place = place;
    const freed: number[] = [];
    for (const server of this.#freed) {
      this.#isFreed[server] = false;
      if (this.#isOpen[server] === true) freed.push(server);
    }
    if (freed.length > 1) freed.sort((a, b) => a - b);
    const fresh = this.#fresh;
    if (fresh.length > 1) fresh.sort((a, b) => a.sequence - b.sequence);
    this.#freed = [];
    this.#fresh = [];
    this.pack(freed, fresh);
  }

  /**
   * @param freed open servers with departures since the last batch, in order of number
   * @param fresh groups with new arrivals, in order of arrival; some may no longer wait
   */
  protected abstract pack(freed: readonly number[], fresh: readonly Group[]): void;
  protected abstract opened(server: number): void;
  protected abstract closed(server: number): void;
  /** Called when a task of this size joins the server, or leaves it (negative); 0: another change of its room. */
  protected abstract used(server: number, size: number): void;
  protected abstract added(group: Group): void;
  /** Called when the number of tasks of a waiting group has changed. */
  protected grew(_group: Group, _more: number): void {}
  /** Called when no task of the group waits any longer. */
  protected abstract removed(group: Group): void;

  protected isOpen(server: number): boolean {
    return this.#isOpen[server] === true;
  }

  protected put(group: Group, server: number): void {
    this.jobs[server]!++;
    // `#place` updates the books. It runs before `used`, which reads the room of several resources from the
    // books.
    this.#place(group, server);
    this.used(server, group.size);
    this.withdraw(group, 1);
  }

  #noteFreed(server: number): void {
    if (this.#isFreed[server] === true) return;
    this.#isFreed[server] = true;
    this.#freed.push(server);
  }

  #count({ size }: Group, more: number): void {
    this.#tasks += more;
    this.#units += more * size;
  }
}
