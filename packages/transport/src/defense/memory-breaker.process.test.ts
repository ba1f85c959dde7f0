import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { memoryReader, threadsAlive } from './memory-breaker.js';

// A separate process, because the measurement covers the whole process.
const MEBI = 1024 * 1024;

test.runIf(process.platform === 'linux')('the memory of JavaScript in this process is accounted for', () => {
  const read = memoryReader()!;
  const before = read();
  const kept = Buffer.alloc(100 * MEBI, 1);
  const after = read();
  expect(after.accounted - before.accounted).toBeGreaterThan(90 * MEBI);
  expect(after.resident - before.resident).toBeGreaterThan(90 * MEBI);
  expect(kept).toHaveLength(100 * MEBI);
});

test('threads count from their start to their end', async () => {
  const before = threadsAlive();
  const thread = new Worker('', { eval: true });
  expect(threadsAlive()).toBe(before + 1);
  await new Promise((resolve) => thread.once('exit', resolve));
  expect(threadsAlive()).toBe(before);
});
