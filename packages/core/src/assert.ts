/** Thrown when a machine contradicts itself: always a bug of ours, never a peer's. */
export class InvariantError extends Error {
  override name = 'InvariantError';
}

/** `what` should name both values, so that the line alone tells what happened. */
export function invariant(condition: boolean, what: string | (() => string)): asserts condition {
  if (!condition) throw new InvariantError(typeof what === 'string' ? what : what());
}
