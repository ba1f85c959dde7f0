/** A task's work. */
export default function square(input: number): number {
  return input * input;
}
