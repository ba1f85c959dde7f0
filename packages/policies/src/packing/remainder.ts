/** Of a whole number up to 2^53. The engine's own `%` calls a function for numbers of more than 32 bits. */
export function remainder(number: number, powerOfTwo: number): number {
  return number - Math.floor(number / powerOfTwo) * powerOfTwo;
}
