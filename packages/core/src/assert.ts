/** Thrown when a machine contradicts itself: always a bug of ours, never a peer's. */
export class InvariantError extends Error {
  override name = 'InvariantError';
}

/** `what` should contain both values, so that the message alone explains the failure. */
export function invariant(condition: boolean, what: string | (() => string)): asserts condition {
  if (!condition) throw new InvariantError(typeof what === 'string' ? what : what());
}
