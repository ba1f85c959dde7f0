/**
 * Sizes and types of tasks (Psychas and Ghaderi, INFOCOM 2019, §V-A, eq. 6). A size is an integer number of
 * units, because rounding errors in sums of floating-point shares would change types.
 */

/** Units of a server: 3·2^11·5^5. Exact for multiples of 1e-5, and for 2/3·2^-m and 2^-m up to m = 11. */
export const CAPACITY = 19_200_000;

/** Rounding tolerance of a product that should be an integer number of units. */
const ROUNDING = 1e-6;

/** Maximum of the default J. Sizes below 2^-J belong to the last type. */
export const J_MAX = 8;

/**
 * @param share of a server, above 0
 * @returns units, at least 1; above CAPACITY if the task fits no server
 */
export function sizeOf(share: number): number {
  return Math.max(1, Math.ceil(share * CAPACITY - ROUNDING));
}

/**
 * Type of partition I: 2m for (2/3·2^-m, 2^-m] of a server, 2m + 1 for (1/2·2^-m, 2/3·2^-m]. Sizes below these
 * intervals up to m = J − 1 have the last type, 2J − 1.
 *
 * @param size units, 1 to CAPACITY
 * @param j J: there are 2J types
 */
export function typeOf(size: number, j: number): number {
  let m = Math.clz32(size) - Math.clz32(CAPACITY);
  if (size << m > CAPACITY) m--;
  if (m >= j) return 2 * j - 1;
  return 3 * (size << m) <= 2 * CAPACITY ? 2 * m + 1 : 2 * m;
}

/** Size range of a type, in units: lower bound exclusive, upper bound inclusive. */
export function sizesOf(type: number, j: number): { readonly above: number; readonly upTo: number } {
  const largest = CAPACITY / 2 ** (type >> 1);
  const cut = Math.floor((2 * largest) / 3);
  if (type % 2 === 0) return { above: cut, upTo: Math.floor(largest) };
  return { above: type === 2 * j - 1 ? 0 : Math.floor(largest / 2), upTo: cut };
}

/** Reserved size of a task in VQS, in units: its size, but at least 2^-J of a server. */
export function reservedSize(size: number, j: number): number {
  return Math.max(size, Math.ceil(CAPACITY / 2 ** j));
}

/** The smallest J, 2 to J_MAX, with 2^-J at most this size. */
export function jFor(size: number): number {
  let j = 2;
  while (j < J_MAX && size * 2 ** j < CAPACITY) j++;
  return j;
}
