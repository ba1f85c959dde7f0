import { expect, test } from 'vitest';
import { DurableBench } from '../durable.fixture.js';
import { CLIENT, W1 } from '../lone-scheduler.fixture.js';

/** Key of the timer for prompt updates. */
const PROMPT = 'progress 1';

function watchedJob(tasks: number): DurableBench {
  const bench = new DurableBench();
  bench.members(W1);
  bench.submit({ tasks: { count: tasks, run: { sleep: 1 } } });
  bench.commit();
  bench.receive(CLIENT, { type: 'watchJob', request: 9, id: 's-1', detail: false, soon: true });
  wake(bench);
  bench.take();
  return bench;
}

function wake(bench: DurableBench): void {
  bench.now = Math.max(bench.now, bench.timers.get(PROMPT)!);
  bench.timers.delete(PROMPT);
  bench.scheduler.wake('progress', 1, bench.now);
}

test('a client that reads results hears of a single one at once, and not of starts', () => {
  const bench = watchedJob(3);
  bench.now += 1_000;
  const started = bench.ask(W1, 1)!;
  expect(bench.timers.has(PROMPT)).toBe(false);
  bench.end(W1, started);
  bench.commit();
  expect(bench.timers.get(PROMPT)).toBe(bench.now);
  wake(bench);
  expect(bench.take().filter(({ type }) => type === 'jobProgress')).toMatchObject([{ request: 9 }]);
});

test('results that follow within 10 ms are reported together', () => {
  const bench = watchedJob(4);
  bench.now += 1_000;
  const firstAt = bench.now;
  bench.end(W1, bench.ask(W1, 1)!);
  wake(bench);
  for (let task = 0; task < 2; task++) {
    bench.now += 2;
    bench.end(W1, bench.ask(W1, 1)!);
  }
  expect(bench.timers.get(PROMPT)).toBe(firstAt + 10);
});
