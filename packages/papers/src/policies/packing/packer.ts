import type { Group } from './group.js';

/** A task of the group starts at the server. */
type Place = (group: Group, server: number) => void;

/**
 * A policy of packing over servers and groups of waiting tasks. Between two batches it hears what left, joined and
 * arrived; `run` is one batch: departures have freed room, arrivals are in the queue.
 */
export abstract class Packer {
  /** Tasks by server, those on their way included. */
  protected readonly jobs: number[] = [];
  readonly #isOpen: boolean[] = [];
  #freed: number[] = [];
  readonly #isFreed: boolean[] = [];
  #fresh: Group[] = [];
  #tasks = 0;
  #units = 0;
  #place: Place = () => {};

  /** Tasks that wait. */
  get tasks(): number {
    return this.#tasks;
  }

  /** Sum of their sizes. */
  get units(): number {
    return this.#units;
  }

  /** The server takes work, for the first time or again, or with more room. Counts as if something had left it. */
  open(server: number): void {
    this.jobs[server] ??= 0;
    if (this.#isOpen[server] !== true) {
      this.#isOpen[server] = true;
      this.opened(server);
    }
    this.free(server);
  }

  /** There is more room at the server, for whatever reason. */
  free(server: number): void {
    this.used(server, 0);
    this.#noteFreed(server);
  }

  /** There is less room at the server than what came and left says. */
  shrank(server: number): void {
    this.used(server, 0);
  }

  /** Nothing new starts there; what runs goes on. */
  close(server: number): void {
    if (this.#isOpen[server] !== true) return;
    this.#isOpen[server] = false;
    this.closed(server);
  }

  /** All tasks of the group wait from now on. */
  arrive(group: Group): void {
    this.#count(group, group.count);
    this.added(group);
    this.#fresh.push(group);
  }

  /** More tasks of a group that waits. */
  grow(group: Group, more: number): void {
    group.count += more;
    this.#count(group, more);
    this.grew(group, more);
    this.#fresh.push(group);
  }

  /** So many tasks of the group wait no more: they have started, or will not run. */
  withdraw(group: Group, count: number): void {
    group.count -= count;
    this.#count(group, -count);
    this.grew(group, -count);
    if (group.count === 0) this.removed(group);
  }

  /** A task of this size has left the server. */
  depart(server: number, size: number): void {
    this.jobs[server]!--;
    this.used(server, -size);
    this.#noteFreed(server);
  }

  /** A task of this size runs at the server, and was not placed by this policy. */
  found(server: number, size: number): void {
    this.jobs[server] = (this.jobs[server] ?? 0) + 1;
    this.used(server, size);
  }

  /** Tasks at the server, those on their way included. */
  tasksAt(server: number): number {
    return this.jobs[server] ?? 0;
  }

  /** Those that something has left since the last batch. */
  get freedServers(): readonly number[] {
    return this.#freed;
  }

  /** One batch. */
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
   * @param freed open servers that something has left since the last batch, in order of number
   * @param fresh groups with new arrivals, in order of arrival; some may wait no more
   */
  protected abstract pack(freed: readonly number[], fresh: readonly Group[]): void;
  protected abstract opened(server: number): void;
  protected abstract closed(server: number): void;
  /** A task of this size has come to the server, or left it if negative; 0: its room has changed for another reason. */
  protected abstract used(server: number, size: number): void;
  protected abstract added(group: Group): void;
  /** The group that goes on waiting has more tasks, or fewer. */
  protected grew(_group: Group, _more: number): void {}
  /** Nothing of the group waits any more. */
  protected abstract removed(group: Group): void;

  protected isOpen(server: number): boolean {
    return this.#isOpen[server] === true;
  }

  protected put(group: Group, server: number): void {
    this.jobs[server]!++;
    // Books have it by then: rooms of several resources are theirs.
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
