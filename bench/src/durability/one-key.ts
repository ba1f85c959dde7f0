import { connect } from '@goshawk/client';
import type { Daemons } from '../daemons.js';

interface OneKeyReport {
  readonly keys: number;
  /** Keys that created more than one job. */
  readonly doubled: readonly string[];
}

/** Submits each key from two clients at once. The cluster must already have its schedulers. */
export async function oneKeyTwoClients(daemons: Daemons, times: number): Promise<OneKeyReport> {
  await using first = await connect(daemons.url);
  await using second = await connect(daemons.url);
  const doubled: string[] = [];
  for (let time = 0; time < times; time++) {
    const key = `twice-${time}`;
    const submission = { name: 'twice', key, tasks: { count: 1, run: { sleep: 1 } } };
    const [a, b] = await Promise.all([first.submit(submission), second.submit(submission)]);
    if (a.id !== b.id) doubled.push(key);
  }
  return { keys: times, doubled };
}
