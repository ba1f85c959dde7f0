import { Waiting } from './waiting.js';

/** A task of the group starts at the server. */
type Place = (group: number, server: number) => void;

/**
 * A policy of packing over servers and groups of waiting tasks. Between two batches it hears what left, joined and
 * arrived; `run` is one batch: departures have freed room, arrivals are in the queue.
 */
export abstract class Packer {
  readonly waiting = new Waiting();
  /** Tasks by server, those on their way included. */
  protected readonly jobs: number[] = [];
  readonly #isOpen: boolean[] = [];
  #freed: number[] = [];
  readonly #isFreed: boolean[] = [];
  #fresh: number[] = [];
  #isReturned = false;
  #place: Place = () => {};

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
    this.freed(server);
    if (this.#isFreed[server] === true) return;
    this.#isFreed[server] = true;
    this.#freed.push(server);
  }

  /** There is less room at the server than what came and left says. */
  shrank(_server: number): void {}

  /** Nothing new starts there; what runs goes on. */
  close(server: number): void {
    if (this.#isOpen[server] !== true) return;
    this.#isOpen[server] = false;
    this.closed(server);
  }

  /**
   * @param size units, 1 at least
   * @param sequence of tasks that come back: refused, or lost with their server
   * @param tag whatever stands for the group elsewhere
   * @returns their group
   */
  arrive(size: number, count = 1, sequence?: number, family = 0, tag?: unknown): number {
    let group = sequence === undefined ? undefined : this.waiting.groupOf(sequence);
    if (group === undefined) {
      group = this.waiting.add(size, count, family, sequence, tag);
      this.added(group, count);
    } else {
      this.waiting.grow(group, count);
      this.grew(group, count);
    }
    this.#isReturned ||= sequence !== undefined;
    this.#fresh.push(group);
    return group;
  }

  /** So many tasks of the group wait no more, and do not run. */
  withdraw(group: number, count: number): void {
    this.#shrink(group, count);
  }

  /** A task of this size has left the server. */
  depart(server: number, size: number): void {
    this.jobs[server]!--;
    this.free(server);
    this.left(server, size);
  }

  /** A task of this size runs at the server, and was not placed by this policy. */
  found(server: number, size: number): void {
    this.jobs[server] = (this.jobs[server] ?? 0) + 1;
    this.came(server, size);
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
    this.#freed = [];
    this.#fresh = [];
    if (this.#isReturned) {
      const { sequence } = this.waiting;
      fresh.sort((a, b) => sequence[a]! - sequence[b]!);
      this.#isReturned = false;
    }
    this.pack(freed, fresh);
  }

  /**
   * @param freed open servers that something has left since the last batch, in order of number
   * @param fresh groups with new arrivals, in order of arrival; some may wait no more
   */
  protected abstract pack(freed: readonly number[], fresh: readonly number[]): void;
  protected freed(_server: number): void {}
  protected abstract opened(server: number): void;
  protected abstract closed(server: number): void;
  /** `left` and `came`: a task of this size has left the server, or has come there. */
  protected abstract left(server: number, size: number): void;
  protected abstract came(server: number, size: number): void;
  protected abstract added(group: number, count: number): void;
  /** The group that goes on waiting has more tasks, or fewer. */
  protected grew(_group: number, _more: number): void {}
  /** Before the group is forgotten. */
  protected abstract removed(group: number): void;

  protected isOpen(server: number): boolean {
    return this.#isOpen[server] === true;
  }

  protected put(group: number, server: number): void {
    this.jobs[server]!++;
    // Books have it by then: rooms of several resources are theirs.
    this.#place(group, server);
    this.came(server, this.waiting.size[group]!);
    this.#shrink(group, 1);
  }

  #shrink(group: number, count: number): void {
    this.grew(group, -count);
    if (this.waiting.count[group] === count) this.removed(group);
    this.waiting.grow(group, -count);
  }
}
