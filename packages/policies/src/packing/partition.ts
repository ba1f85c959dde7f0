/**
 * Sizes and types of tasks (Psychas and Ghaderi, INFOCOM 2019, §V-A, eq. 6). A size is an integer number of units:
 * sums of floating-point shares drift, and a drift misplaces tasks.
 */

/** Units of a server: 3·2^11·5^5. Exact for multiples of 1e-5, and for 2/3·2^-m and 2^-m up to m = 11. */
export const CAPACITY = 19_200_000;

/** What rounding of a product may add to an exact number of units. */
const ROUNDING = 1e-6;

/**
 * @param share of a server, above 0
 * @returns units, 1 at least; above CAPACITY where the task fits no server
 */
export function sizeOf(share: number): number {
  return Math.max(1, Math.ceil(share * CAPACITY - ROUNDING));
}

/**
 * Type of partition I: 2m for (2/3·2^-m, 2^-m] of a server, 2m + 1 for (1/2·2^-m, 2/3·2^-m]. All of at most
 * 2^-(J-1)·2/3 are of the last type, 2J − 1.
 *
 * @param size units, 1 to CAPACITY
 * @param j J: there are 2J types
 */
export function typeOf(size: number, j: number): number {
  let m = Math.clz32(size) - Math.clz32(CAPACITY);
  if (size * 2 ** m > CAPACITY) m--;
  if (m >= j) return 2 * j - 1;
  return 3 * size * 2 ** m <= 2 * CAPACITY ? 2 * m + 1 : 2 * m;
}

/** What VQS counts and reserves for a task: its size, and 2^-J of a server at least. Units. */
export function reservedSize(size: number, j: number): number {
  return Math.max(size, Math.ceil(CAPACITY / 2 ** j));
}
