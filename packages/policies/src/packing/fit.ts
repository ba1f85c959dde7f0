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
  holds(server: number, group: number): boolean;
  /** Where a task of the group goes by the rule of the policy; −1: it fits nowhere. */
  serverFor(group: number): number;
  /** The largest group that fits the server, the oldest of equals; −1: none. Bounds are of sizes: above, at most. */
  largestFor(server: number, above: number, upTo: number): number;
}
