/** A task's work, by whose result one can see that it is this task's. */
export default function echo(input: number): number {
  return input;
}
