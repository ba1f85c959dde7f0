import {
  type Address,
  COMPLETED,
  type JobInput,
  type MessageOf,
  PRESETS,
  type TaskRange,
} from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DurableBench } from '../durable.fixture.js';
import { CENTRAL, CLIENT, W1, W2, welcome } from '../lone-scheduler.fixture.js';

const FORMER = 3 as Address;
const KILLED = { ...COMPLETED, kind: 'cancelled' as const };
const run = { exec: ['true'] };
const STAGES: JobInput = {
  stages: [
    { name: 'extract', tasks: { count: 4, run } },
    { name: 'train', after: ['extract'], tasks: { count: 3, run } },
  ],
};

function submitted(job: JobInput = { tasks: { count: 10, run } }): DurableBench {
  const bench = new DurableBench();
  bench.members(W1, W2);
  bench.submit(job);
  bench.commit();
  bench.take();
  return bench;
}

function cancel(bench: DurableBench, tasks: readonly TaskRange[], stage?: string) {
  bench.commit();
  bench.take();
  bench.receive(CLIENT, { type: 'cancelTasks', request: 7, id: 's-1', tasks, stage });
  bench.commit();
  const sent = bench.take();
  const answer = sent.find((message) => 'request' in message)!;
  const killed = sent.flatMap((message) => (message.type === 'cancelTask' ? [message.task] : []));
  return { answer, killed };
}

function states(bench: DurableBench): string {
  bench.commit();
  bench.take();
  const asked = { states: [], stage: undefined, from: 0, limit: 2_000 };
  bench.receive(CLIENT, { type: 'listTasks', request: 5, id: 's-1', ...asked });
  const { value } = bench.take().at(-1) as MessageOf<'taskPage'>;
  return value.tasks.map(({ state }) => state.slice(0, 2)).join(' ');
}

function detail(bench: DurableBench) {
  bench.commit();
  bench.take();
  bench.receive(CLIENT, { type: 'describeJob', request: 77, id: 's-1', spec: false });
  return bench.take().find((message) => message.type === 'jobDetail')!.value;
}

describe('single tasks of a job that are cancelled', () => {
  test('never start, or are killed; the others continue, and the job ends as cancelled', () => {
    const bench = submitted();
    const [first, second] = [bench.ask(W1, 1)!, bench.ask(W2, 1)!];
    bench.end(W1, first);
    const { answer, killed } = cancel(bench, [
      { first: 0, last: 3 },
      { first: 7, last: 9 },
    ]);
    expect(answer).toMatchObject({
      type: 'tasksCancelled',
      value: { job: { state: 'running' }, cancelled: 5, killing: 1, ended: 1 },
    });
    expect(killed).toEqual([1]);
    bench.end(W2, second, KILLED);
    expect(states(bench)).toBe('co ca ca ca wa wa wa ca ca ca');
    for (let i = 0; i < 3; i++) bench.end(W1, bench.ask(W1, 1)!);
    expect(bench.ask(W1, 1)).toBeUndefined();
    expect(detail(bench)).toMatchObject({ state: 'cancelled', tasks: { completed: 4, cancelled: 6 } });
  });

  test('may be cancelled twice, with the same answer', () => {
    const bench = submitted();
    const range = { first: 2, last: 4 };
    const once = cancel(bench, [range]).answer;
    expect(cancel(bench, [range]).answer).toEqual(once);
    expect(bench.records.filter(({ kind }) => kind === 'tasksCancelled')).toMatchObject([{ tasks: [range] }]);
  });

  test('are not retried, however their attempts end', () => {
    const bench = submitted({ tasks: { count: 2, run }, retries: 5 });
    const ran = bench.ask(W1, 1)!;
    cancel(bench, [{ first: 0, last: 0 }]);
    bench.end(W1, ran, { ...COMPLETED, kind: 'failed', errorCode: 'exit', errorMessage: 'exit 1' });
    expect(states(bench)).toBe('fa wa');
    const other = submitted({ tasks: { count: 2, run }, retries: 5 });
    const lost = other.ask(W1, 1)!;
    cancel(other, [{ first: 0, last: 0 }]);
    other.end(W1, lost, { ...COMPLETED, kind: 'lost', errorCode: 'worker-stopped' });
    expect(states(other)).toBe('ca wa');
  });

  test('are repeated to their workers until they have ended', () => {
    const bench = submitted();
    const ran = bench.ask(W1, 1)!;
    bench.ask(W2, 1);
    cancel(bench, [{ first: ran.task, last: ran.task }]);
    bench.now = 5_000;
    bench.scheduler.wake('sweep', 0, bench.now);
    expect(bench.take().filter(({ type }) => type === 'cancelTask')).toMatchObject([{ task: ran.task }]);
  });

  test('of a stage end the stages after it', () => {
    const bench = submitted(STAGES);
    for (let i = 0; i < 3; i++) bench.end(W1, bench.ask(W1, 1)!);
    expect(cancel(bench, [], 'extract').answer).toMatchObject({ value: { cancelled: 1, ended: 3 } });
    expect(states(bench)).toBe('co co co ca ca ca ca');
    expect(detail(bench)).toMatchObject({ state: 'cancelled' });
  });

  test('that wait for another stage let the rest of their stage run', () => {
    const bench = submitted(STAGES);
    cancel(bench, [{ first: 5, last: 5 }], 'train');
    for (let i = 0; i < 4; i++) bench.end(W1, bench.ask(W1, 1)!);
    bench.commit();
    for (let i = 0; i < 2; i++) bench.end(W1, bench.ask(W1, 1, 1)!);
    expect(states(bench)).toBe('co co co co co ca co');
    expect(detail(bench)).toMatchObject({ state: 'cancelled' });
  });

  test('that do not exist, or belong to another stage, are refused without any cancellation', () => {
    const bench = submitted(STAGES);
    expect(cancel(bench, [{ first: 5, last: 7 }]).answer).toMatchObject({
      type: 'refused',
      code: 'unknown-task',
      message: 's-1 has no task 7',
      hint: 'its 7 tasks are 0 to 6, as `goshawk tasks` numbers them',
    });
    expect(cancel(bench, [{ first: 0, last: 1 }], 'train').answer).toMatchObject({
      message: 'stage "train" of s-1 has no task 0',
      hint: 'its 3 tasks are 4 to 6, as `goshawk tasks` numbers them',
    });
    expect(cancel(bench, [], 'trian').answer).toMatchObject({ code: 'unknown-stage' });
    expect(states(bench)).toBe('wa wa wa wa wa wa wa');
  });

  test('stay cancelled after a restart: running ones are killed, and the others start', () => {
    const before = submitted();
    const ran = before.ask(W1, 1)!;
    cancel(before, [{ first: 0, last: 4 }]);
    const bench = new DurableBench(before.inheritance([FORMER]), 20_000);
    bench.commit();
    bench.members(W1, W2);
    const { task, attempt } = ran;
    bench.receive(W1, {
      type: 'holding',
      audit: 0,
      tasks: [{ job: 1, task, attempt, elapsedMs: 9, match: undefined }],
    });
    bench.receive(W2, { type: 'holding', audit: 0, tasks: [] });
    bench.commit();
    expect(bench.take().filter(({ type }) => type === 'cancelTask')).toMatchObject([{ task, attempt }]);
    expect(states(bench)).toBe('ca ca ca ca ca wa wa wa wa wa');
    for (let i = 0; i < 5; i++) {
      bench.end(W2, bench.ask(W2, 1)!);
      bench.commit();
    }
    expect(detail(bench)).toMatchObject({ state: 'cancelled', tasks: { completed: 5, cancelled: 5 } });
  });

  test('that were the last ones end their job, even after a restart', () => {
    const before = submitted(STAGES);
    const ran = before.ask(W1, 1)!;
    cancel(before, [{ first: 0, last: 3 }]);
    const bench = new DurableBench(before.inheritance([FORMER]), 20_000);
    expect(detail(bench)).toMatchObject({ state: 'cancelled', tasks: { cancelled: 7 } });
    before.end(W1, ran, KILLED);
    expect(detail(before)).toMatchObject({ state: 'cancelled', tasks: { cancelled: 7 } });
  });

  test('are withdrawn from central if nothing else waits', () => {
    const bench = new DurableBench(undefined, 0, false);
    bench.receive(CENTRAL, welcome({ preset: { ...PRESETS.goshawk } }));
    bench.members(W1, W2);
    bench.submit({ estimate: '1m', tasks: { count: 3, run } });
    bench.commit();
    bench.receive(CENTRAL, {
      type: 'matched',
      job: 1,
      stage: 0,
      workers: [{ worker: W1, match: 1 }],
      noneWaiting: false,
      newcomers: undefined,
    });
    bench.take();
    bench.receive(CLIENT, {
      type: 'cancelTasks',
      request: 7,
      id: 's-1',
      tasks: [{ first: 1, last: 2 }],
      stage: undefined,
    });
    expect(bench.take().filter((message) => message.type === 'need')).toMatchObject([{ tasks: 0 }]);
  });
});

describe('jobs cancelled by a query', () => {
  const bulk = (bench: DurableBench, filters: Partial<MessageOf<'cancelJobs'>>, request = 50) => {
    bench.commit();
    bench.take();
    const all = {
      states: [],
      user: undefined,
      name: undefined,
      from: 0,
      dryRun: false,
      ids: undefined,
      ...filters,
    };
    bench.receive(CLIENT, { type: 'cancelJobs', request, ...all } as MessageOf<'cancelJobs'>);
    bench.commit();
    return bench.take().find((message) => 'request' in message)!;
  };

  function several(): DurableBench {
    const bench = submitted({ name: 'etl-1', user: 'ann', tasks: { count: 2, run } });
    bench.submit({ name: 'etl-2', user: 'bob', tasks: { count: 1, run } }, 'k2', 2);
    bench.submit({ name: 'train', user: 'ann', tasks: { count: 3, run } }, 'k3', 3);
    bench.commit();
    bench.ask(W1, 1);
    return bench;
  }

  test('match all conditions, and are counted', () => {
    const bench = several();
    const counts = (jobs: number, waiting: number, running: number) => ({
      type: 'jobsCancelled',
      value: { jobs, waiting, running },
    });
    expect(bulk(bench, { name: 'etl-*', dryRun: true }, 50)).toMatchObject(counts(2, 2, 1));
    expect(bulk(bench, { states: ['running'], dryRun: true }, 51)).toMatchObject(counts(1, 1, 1));
    expect(bench.scheduler.activeJobs).toBe(3);
    const done = counts(1, 1, 1);
    expect(bulk(bench, { name: 'etl-*', user: 'ann' }, 52)).toMatchObject(done);
    // The answer was lost, and the request comes again.
    expect(bulk(bench, { name: 'etl-*', user: 'ann' }, 52)).toMatchObject(done);
    expect(bulk(bench, {}, 53)).toMatchObject(counts(2, 4, 0));
    expect(bulk(bench, {}, 54)).toMatchObject(counts(0, 0, 0));
  });

  test('after a dry run are those that it found, whatever matches later', () => {
    const change = fc.constantFrom('submit', 'start', 'end', 'cancel', 'hold', 'retry');
    fc.assert(
      fc.property(fc.array(change, { maxLength: 12 }), fc.constantFrom('*', 'etl-*'), (changes, name) => {
        const bench = several();
        const found = bulk(bench, { name, dryRun: true }, 60) as MessageOf<'jobsCancelled'>;
        const { ids, jobs } = found.value;
        expect(ids).toHaveLength(jobs);
        let request = 100;
        const started: MessageOf<'run'>[] = [];
        for (const each of changes) {
          request++;
          if (each === 'submit') bench.submit({ name: 'etl-9', tasks: [run] }, `k${request}`, request);
          if (each === 'start') started.push(...[bench.ask(W1, 3)].filter((one) => one !== undefined));
          if (each === 'end' && started.length > 0) bench.end(W1, started.pop()!);
          const id = `s-${1 + (request % 3)}`;
          if (each === 'cancel') bench.receive(CLIENT, { type: 'cancelJob', request, id });
          if (each === 'hold')
            bench.receive(CLIENT, { type: 'updateJob', request, id, held: true, priority: undefined });
          if (each === 'retry') bench.retry(undefined, 's-1');
          bench.commit();
        }
        const active = (request: number) =>
          (bulk(bench, { dryRun: true }, request) as MessageOf<'jobsCancelled'>).value.ids;
        const before = new Set(active(200));
        const done = bulk(bench, { ids }, 201) as MessageOf<'jobsCancelled'>;
        expect(done.value.jobs).toBe(ids.filter((id) => before.has(id)).length);
        expect(active(202)).toEqual([...before].filter((id) => !ids.includes(id)));
      }),
      { seed: 3 },
    );
  });

  test('in an ended state are refused', () => {
    expect(bulk(several(), { states: ['failed'] })).toMatchObject({ type: 'refused', code: 'bad-state' });
  });

  test('are cancelled in several requests if needed', () => {
    const bench = submitted({ tasks: { count: 1, run } });
    for (let job = 2; job <= 501; job++) bench.submit({ tasks: { count: 1, run } }, `k${job}`, job);
    expect(bulk(bench, {}, 600)).toMatchObject({ value: { jobs: 500, next: 501 } });
    expect(bulk(bench, { from: 501 as MessageOf<'cancelJobs'>['from'] }, 601)).toMatchObject({
      value: { jobs: 1, next: undefined },
    });
    expect(bench.scheduler.activeJobs).toBe(0);
  });
});
