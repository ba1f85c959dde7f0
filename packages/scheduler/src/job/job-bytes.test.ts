import type { JobInput } from '@goshawk/core';
import { expect, test } from 'vitest';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { W1 } from '../lone-scheduler.fixture.js';

test('the end of a task does not scan the other tasks of its job after a failure', () => {
  let looks = 0;
  const tasks: JobInput['tasks'] = Array.from({ length: 50 }, () => ({ exec: ['true'] }));
  const bench = new DurableBench();
  bench.members(W1);
  const job = bench.accept({ tasks });
  const list = job.spec.stages[0]!.tasks as { each: unknown[] };
  list.each = new Proxy(list.each, {
    get: (each, name) => {
      if (name === 'reduce' || name === 'length' || name === Symbol.iterator) looks++;
      return Reflect.get(each, name) as unknown;
    },
  });
  bench.end(W1, bench.ask(W1, 1)!, FAILED);
  for (let task = 0; task < 20; task++) bench.end(W1, bench.ask(W1, 1)!);
  expect(job.counts).toMatchObject({ completed: 20, failed: 1 });
  expect(looks).toBe(0);
});
