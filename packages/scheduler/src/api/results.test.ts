import { type Address, COMPLETED, type JobInput, type MessageOf, type Outcome } from '@goshawk/core';
import { beforeEach, describe, expect, test } from 'vitest';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { CLIENT, W1, W2 } from '../lone-scheduler.fixture.js';

let bench: DurableBench;

beforeEach(() => {
  bench = benched(new DurableBench());
});

function benched(of: DurableBench): DurableBench {
  of.members(W1, W2);
  of.commit();
  of.take();
  return of;
}

function submit(job: JobInput): void {
  bench.submit(job);
  bench.commit();
  bench.take();
}

function run(outcome: Outcome = COMPLETED, stage = 0): void {
  bench.end(W1, bench.ask(W1, 1, stage)!, outcome);
  bench.commit();
  bench.take();
}

function read(order: MessageOf<'readResults'>['order'], from = 0, id = 's-1') {
  bench.receive(CLIENT, { type: 'readResults', request: 5, id, from, order });
  return bench.take().find((message) => message.type === 'resultPage')?.value;
}

function restart(): void {
  bench = benched(new DurableBench(bench.inheritance([3 as Address]), 1_000));
  for (const from of [W1, W2]) bench.receive(from, { type: 'holding', audit: 0, tasks: [] });
  bench.commit();
  bench.take();
}

const value = (of: unknown): Outcome => ({ ...COMPLETED, value: of });
const MODULES: JobInput = { tasks: [1, 2, 3].map((input) => ({ module: '/m.js', input })) };

describe('results of a job', () => {
  test('are a value or an error of each task while the job runs, after its end and after a restart', () => {
    submit(MODULES);
    run(value('one'));
    run({ ...FAILED, exitCode: 3 });
    const running = read('index')!.tasks!;
    expect(running).toMatchObject([
      { task: 0, state: 'completed', value: 'one', attempt: 1 },
      { task: 1, state: 'failed', code: 'exit', message: 'exit 1', exitCode: 3, attempt: 1 },
      { task: 2, state: 'waiting', attempt: 0 },
    ]);
    expect(running.map(({ code }) => code)).toEqual([undefined, 'exit', undefined]);
    run(value(null));
    const ended = read('index');
    restart();
    expect(read('index')).toEqual(ended);
  });

  test('by index stop at the first task that has not ended; in order of ends they do not', () => {
    submit(MODULES);
    const [first, second] = [bench.ask(W1, 1)!, bench.ask(W2, 1)!];
    bench.end(W2, second, value(2));
    bench.commit();
    bench.take();
    expect(read('prefix')!.tasks).toEqual([]);
    expect(read('ended')!.tasks).toMatchObject([{ task: 1, value: 2 }]);
    bench.end(W1, first, value(1));
    bench.commit();
    bench.take();
    expect(read('prefix')!.tasks).toMatchObject([{ task: 0 }, { task: 1 }]);
    expect(read('ended', 1)!.tasks).toMatchObject([{ task: 0, value: 1 }]);
    restart();
    expect(read('ended')!.tasks).toMatchObject([{ task: 1 }, { task: 0 }]);
  });

  test('are sent once they are durable, so that a restart does not revoke them', () => {
    submit(MODULES);
    bench.end(W1, bench.ask(W1, 1)!, value(1));
    expect(read('ended')).toBeUndefined();
    bench.commit();
    expect(bench.take()).toMatchObject([
      { type: 'confirm' },
      { type: 'resultPage', value: { tasks: [{ task: 0, value: 1 }] } },
    ]);
  });

  test.each(['index', undefined] as const)(
    'of an ended job are sent once its end is durable (%s)',
    (order) => {
      submit({ tasks: [{ module: '/m.js' }] });
      bench.end(W1, bench.ask(W1, 1)!, value(1));
      bench.take();
      expect(read(order)).toBeUndefined();
      bench.commit();
      expect(bench.take().map(({ type }) => type)).toContain('resultPage');
      // Results of ended jobs can be read while other records wait for the disk, or it is full.
      bench.submit(MODULES, 'other');
      expect(read(order)).toBeDefined();
      bench.scheduler.journalChanged({ kind: 'stopped', message: 'the disk is full' }, bench.now);
      expect(read(order)).toBeDefined();
    },
  );

  test('give the reason why tasks never ran: a cancelled job, or a failed earlier stage', () => {
    const stages = [
      { name: 'a', tasks: [{ sleep: 1 }] },
      { name: 'b', after: ['a'], tasks: [{ sleep: 1 }] },
    ];
    submit({ stages });
    run(FAILED);
    expect(read('index')!.tasks).toMatchObject([
      { stage: 'a', state: 'failed' },
      {
        stage: 'b',
        state: 'cancelled',
        code: 'cancelled',
        message: 'an earlier stage that it depends on did not complete',
      },
    ]);
    bench.submit(MODULES, 'other');
    bench.receive(CLIENT, { type: 'cancelJob', request: 8, id: 's-2' });
    bench.commit();
    expect(read('index', 0, 's-2')!.tasks!.map(({ message }) => message)).toEqual(
      Array(3).fill('the job was cancelled'),
    );
  });

  test('give the reason why single tasks did not run, also after a retry of others', () => {
    submit(MODULES);
    bench.receive(CLIENT, {
      type: 'cancelTasks',
      request: 8,
      id: 's-1',
      tasks: [{ first: 1, last: 2 }],
      stage: undefined,
    });
    run(value(1));
    bench.commit();
    const reasons = () => read('index')!.tasks!.map(({ message }) => message);
    expect(reasons()).toEqual([undefined, 'the task was cancelled', 'the task was cancelled']);
    bench.retry([{ first: 1, last: 1 }]);
    bench.commit();
    expect(reasons()).toEqual([undefined, undefined, 'the task was cancelled']);
    bench.take();
    bench.receive(CLIENT, { type: 'explainJob', request: 10, id: 's-1', task: 2 });
    const explained = bench.take().find((message) => message.type === 'jobExplanation');
    expect(explained?.value.task).toMatchObject({ state: 'cancelled', error: 'the task was cancelled' });
    const page = { states: [], stage: undefined, from: 2, limit: 1 };
    bench.receive(CLIENT, { type: 'listTasks', request: 11, id: 's-1', ...page });
    const listed = bench.take().find((message) => message.type === 'taskPage');
    expect(listed?.value.tasks).toMatchObject([{ index: 2, error: 'the task was cancelled' }]);
  });

  test('of commands are exit codes, and the files that they write', () => {
    const command = { exec: ['true'], cwd: '/work', stdout: 'out/{index}.{attempt}', stderr: '/err' };
    submit({ tasks: { count: 1, run: command } });
    run();
    expect(read('index')!.tasks).toMatchObject([
      { state: 'completed', exitCode: 0, stdout: '/work/out/0.1', stderr: '/err' },
    ]);
  });

  test('are paged in each order, from the end of the last page', () => {
    const tasks = 20_000;
    submit({ tasks: { count: tasks, run: { sleep: 1 } } });
    bench.receive(CLIENT, { type: 'cancelJob', request: 8, id: 's-1' });
    bench.commit();
    for (const order of ['index', 'prefix', 'ended'] as const) {
      const seen: number[] = [];
      for (let from: number | undefined = 0; from !== undefined; ) {
        // Long enough for the budget of queries.
        bench.now += 1_000;
        const page: MessageOf<'resultPage'>['value'] = read(order, from)!;
        seen.push(...page.tasks!.map(({ task }) => task));
        from = page.next;
      }
      expect(seen).toEqual(Array.from({ length: tasks }, (_, task) => task));
    }
  });
});
