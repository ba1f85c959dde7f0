import type { Group } from './group.js';

/** Which task fits where. One resource is searched in order (`ScalarFit`); of several there is no order (`VectorFit`). */
export interface Fit {
  /** The server takes work, with the room that it has. */
  open(server: number): void;
  close(server: number): void;
  /** The group begins to wait, or waits no more. */
  add(group: Group): void;
  remove(group: Group): void;
  /** Tasks of so many units have come to the server, or left it if negative; 0: it has another room for another reason. */
  used(server: number, size: number): void;
  /** Server for a task of the group by the policy's rule; −1: it fits nowhere. */
  serverFor(group: Group): number;
  /** The group that a server with room takes first, the oldest of equals. */
  groupFor(server: number): Group | undefined;
  /** The largest group that fits of those with a size above the one, and at most the other. */
  largestOf(server: number, above: number, upTo: number): Group | undefined;
}
