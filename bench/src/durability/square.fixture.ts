/** Squares the input of a task. */
export default function square(input: number): number {
  return input * input;
}
