import type { Group } from './group.js';

/**
 * Finds which task fits where. One resource is searched in order of size (`ScalarFit`); several have no order
 * (`VectorFit`).
 */
export interface Fit {
  /** The server opens with its present room. */
  open(server: number): void;
  close(server: number): void;
  /** The group starts or stops waiting. */
  add(group: Group): void;
  remove(group: Group): void;
  /**
   * Tasks of this many units were added to the server, or removed if negative; 0: its room changed for another
   * reason.
   */
  used(server: number, size: number): void;
  /** Server for a task of the group by the policy's rule; −1: none. */
  serverFor(group: Group): number;
  /** The group that a server with room takes first, the oldest among equals. */
  groupFor(server: number): Group | undefined;
  /** The largest group that fits with a size above the first bound and up to the second. */
  largestOf(server: number, above: number, upTo: number): Group | undefined;
}
