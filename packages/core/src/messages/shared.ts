/** Objects for numbers below this are cached. */
const SHARED = 1_024;

/**
 * Caches the objects for small numbers; they must not be modified. In a simulation most messages are
 * requests, refusals and empty answers that contain only a number.
 */
export function sharedByNumber<T>(make: (number: number) => T): (number: number) => T {
  const first = Array.from({ length: SHARED }, (_, number) => make(number));
  return (number) => (number < SHARED ? first[number]! : make(number));
}
