/** Numbers below this share what is made of them. */
const SHARED = 1_024;

/**
 * Caches objects for the first numbers; they must not be changed. In a simulation, most messages are
 * requests, refusals and empty answers that carry only a number.
 */
export function sharedByNumber<T>(make: (number: number) => T): (number: number) => T {
  const first = Array.from({ length: SHARED }, (_, number) => make(number));
  return (number) => (number < SHARED ? first[number]! : make(number));
}
