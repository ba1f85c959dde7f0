import { PRESETS } from '@goshawk/core';
import { expect, test } from 'vitest';
import { DurableBench } from '../durable.fixture.js';
import { CENTRAL, CLIENT, NO_LIMITS, W1, welcome } from '../lone-scheduler.fixture.js';

test('a task that its worker has not confirmed is resent, but not after its job was cancelled', () => {
  const bench = new DurableBench(undefined, 0, false);
  bench.receive(CENTRAL, welcome({ preset: { ...PRESETS.goshawk } }));
  bench.members(W1);
  bench.submit({ tasks: [{ sleep: 1 }] });
  bench.commit();
  const match = { worker: W1, match: 7 };
  bench.receive(CENTRAL, {
    type: 'matched',
    noneWaiting: undefined,
    newcomers: undefined,
    job: 1,
    stage: 0,
    workers: [match],
  });
  const toWorker = () => bench.take().flatMap(({ type }) => (/^run$|^cancelTask$/.test(type) ? [type] : []));
  expect(toWorker()).toEqual(['run']);
  bench.receive(CENTRAL, { type: 'checkMatch', job: 1, ...match });
  expect(toWorker()).toEqual(['run']);
  bench.receive(CLIENT, { type: 'cancelJob', request: 5, id: 's-1' });
  bench.receive(CENTRAL, { type: 'checkMatch', job: 1, ...match });
  bench.commit();
  expect(toWorker()).toEqual(['cancelTask']);
});

test('the need of a job is repeated at once when central learns that a match was lost', () => {
  const bench = new DurableBench(undefined, 0, false);
  bench.receive(CENTRAL, welcome({ preset: { ...PRESETS.goshawk } }));
  bench.members(W1);
  bench.submit({ tasks: [{ sleep: 1 }] });
  bench.commit();
  expect(bench.take().map(({ type }) => type)).toContain('need');
  // Central has matched the task, and the message did not arrive.
  bench.receive(CENTRAL, { type: 'checkMatch', job: 1, worker: W1, match: 7 });
  expect(bench.take()).toMatchObject([
    { type: 'unused', worker: W1, match: 7 },
    { type: 'need', job: 1, tasks: 1 },
  ]);
});

test.each([
  ['is returned to central', [], [{ type: 'unused', worker: W1, match: 7 }]],
  ['is forgotten while central does not know the scheduler', [{ type: 'notRegistered' }], []],
] as const)('the match of a borrower that its worker has declined %s', (_, before, unused) => {
  const bench = new DurableBench(undefined, 0, false);
  bench.receive(CENTRAL, welcome({ preset: { ...PRESETS.goshawk } }));
  bench.members(W1);
  const { number: job } = bench.accept({ tasks: [{ sleep: 1 }] });
  const workers = [{ worker: W1, match: 7, borrows: { lenders: [3], atMostMs: 1_000 } }];
  const matched = { type: 'matched', noneWaiting: undefined, newcomers: undefined } as const;
  bench.receive(CENTRAL, { ...matched, job, stage: 0, workers });
  bench.commit();
  for (const message of before) bench.receive(CENTRAL, message);
  bench.take();
  bench.receive(W1, { type: 'declined', job, stage: 0, probes: 0, placed: { task: 0, attempt: 1 } });
  bench.commit();
  expect(bench.take().filter(({ type }) => type === 'unused')).toEqual(unused);
});

test('a run has the expected run time of its task, if there is an estimate or a guess from history', () => {
  const bench = new DurableBench(undefined, 0, false);
  bench.receive(CENTRAL, welcome({ preset: { ...PRESETS.goshawk } }));
  bench.members(W1);
  const job = bench.accept({ tasks: { count: 3, run: { sleep: 50 } } });
  const expected = (match: number) => {
    bench.take();
    const workers = [{ worker: W1, match }];
    bench.receive(CENTRAL, {
      type: 'matched',
      noneWaiting: undefined,
      newcomers: undefined,
      job: job.number,
      stage: 0,
      workers,
    });
    return bench.take().find(({ type }) => type === 'run');
  };
  expect(expected(1)).toMatchObject({ expectedMs: undefined, execution: undefined });
  job.estimate.restore({ guessMs: 50 });
  expect(expected(2)).toMatchObject({ expectedMs: 50 });
  job.estimate.restore({ estimateMs: 80 });
  expect(expected(3)).toMatchObject({ expectedMs: 80 });
});

test('a run has no expected run time if its user has a limit: its slot counts until it has ended', () => {
  const bench = new DurableBench(undefined, 0, false);
  bench.receive(CENTRAL, welcome({ preset: { ...PRESETS.goshawk } }));
  bench.members(W1);
  const holders = [
    { ...NO_LIMITS, holder: 'ann', waiting: 9 },
    { ...NO_LIMITS, holder: 'ben', project: 'lab' },
    { ...NO_LIMITS, holder: '@lab', cpus: 2 },
  ];
  bench.receive(CENTRAL, { type: 'limits', holders, elsewhere: [], projectsElsewhere: [], part: undefined });
  const expected = (user: string, match: number) => {
    const job = bench.accept({ user, estimate: '50ms', tasks: [{ sleep: 50 }] });
    bench.take();
    const workers = [{ worker: W1, match }];
    const matched = { job: job.number, stage: 0, workers, noneWaiting: undefined, newcomers: undefined };
    bench.receive(CENTRAL, { type: 'matched', ...matched });
    return bench.take().find(({ type }) => type === 'run');
  };
  expect(expected('ann', 1)).toMatchObject({ expectedMs: 50 });
  expect(expected('ben', 2)).toMatchObject({ expectedMs: undefined });
});
