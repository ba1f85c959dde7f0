/** Numbers below this share what is made of them. */
const SHARED = 1_024;

/**
 * What is made of a number, made once for each of the first ones and never changed. In a simulation requests, refusals and
 * empty answers that say no more than a number are most of all messages.
 */
export function sharedByNumber<T>(make: (number: number) => T): (number: number) => T {
  const first = Array.from({ length: SHARED }, (_, number) => make(number));
  return (number) => (number < SHARED ? first[number]! : make(number));
}
