import type { Group } from './group.js';

/**
 * Index of servers and waiting groups that finds which task fits where. `ScalarFit` searches one resource in
 * order of size. `VectorFit` searches several resources, which have no such order.
 */
export interface Fit {
  /** Adds a server with its present room. */
  open(server: number): void;
  close(server: number): void;
  /** Adds a group that starts to wait. */
  add(group: Group): void;
  remove(group: Group): void;
  /**
   * Updates the room of a server.
   *
   * @param size units of the added tasks, negative if removed; 0: the room changed for another reason
   */
  used(server: number, size: number): void;
  /** Server for a task of the group by the policy's rule; −1: none. */
  serverFor(group: Group): number;
  /** The group that a server with room takes first, the oldest among equals. */
  groupFor(server: number): Group | undefined;
  /** The largest group that fits and has a size above the first bound and up to the second. */
  largestOf(server: number, above: number, upTo: number): Group | undefined;
}
