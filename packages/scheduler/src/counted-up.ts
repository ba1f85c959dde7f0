/** Counts one more of the task. @returns how many there are */
export function countedUp(counts: Map<number, number>, task: number): number {
  const count = (counts.get(task) ?? 0) + 1;
  counts.set(task, count);
  return count;
}
