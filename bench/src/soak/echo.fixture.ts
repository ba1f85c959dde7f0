/** Returns a result that identifies the task. */
export default function echo(input: number): number {
  return input;
}
