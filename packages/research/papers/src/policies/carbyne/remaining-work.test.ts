import { PolicyBench } from '@goshawk/policies/testing';
import { expect, test } from 'vitest';
import { addPapers } from '../../index.js';

addPapers();

test('the remaining work of a job depends on when its tasks started, even if that is learned later', () => {
  const bench = new PolicyBench('srtf', 1, { options: { quantumMs: 0 } });
  bench.report(1, { tasks: 0, jobTasks: 1, estimateMs: 100 });
  bench.report(2, { tasks: 1, estimateMs: 150 });
  bench.report(1, { tasks: 1, estimateMs: 100 });
  bench.now = 500;
  const run = bench.books.adoptRun(bench.stage(1), bench.worker(0), 500)!;
  bench.settle();
  // Its worker reports a longer run time than the books had.
  run.startedAt = 0;
  bench.end(1);
  expect(bench.take()).toEqual([1]);
});
