/** Which task fits where. One resource is searched in order (`ScalarFit`); of several there is no order (`VectorFit`). */
export interface Fit {
  /** The server takes work, with the room that it has. */
  open(server: number): void;
  close(server: number): void;
  /** The group begins to wait, or waits no more. */
  add(group: number): void;
  remove(group: number): void;
  /** A task of this size has come to the server, or has left it. */
  take(server: number, size: number): void;
  give(server: number, size: number): void;
  /** The server may have more room than what came and left says, or less. */
  refresh(server: number): void;
  /** Where a task of the group goes by the rule of the policy; −1: it fits nowhere. */
  serverFor(group: number): number;
  /** The group that a server with room takes first, the oldest of equals; −1: none fits. */
  groupFor(server: number): number;
  /** The largest group that fits of those with a size above the one, and at most the other; −1: none fits. */
  largestOf(server: number, above: number, upTo: number): number;
}
