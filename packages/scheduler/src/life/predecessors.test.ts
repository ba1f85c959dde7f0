import type { Address, JobInput, MessageOf } from '@goshawk/core';
import { beforeEach, describe, expect, test } from 'vitest';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { CENTRAL, CLIENT, W1, W2 } from '../lone-scheduler.fixture.js';

const FORMER = 3 as Address;
const [OTHER, SUCCESSOR] = [21, 22] as [Address, Address];
const ONE: JobInput = { tasks: [{ sleep: 1 }] };

let bench: DurableBench;
let submitted: number;

function benched(of: DurableBench): DurableBench {
  of.members(W1, W2);
  of.commit();
  of.take();
  return of;
}

beforeEach(() => {
  bench = benched(new DurableBench());
  submitted = 0;
});

/** @returns the id of the job */
function submit(job: JobInput): string {
  submitted++;
  bench.submit(job, `k${submitted}`, submitted);
  bench.commit();
  return `s-${submitted}`;
}

function detail(id: string) {
  bench.commit();
  bench.receive(CLIENT, { type: 'describeJob', request: 77, id, spec: false });
  return bench.take().find((message) => message.type === 'jobDetail')!.value;
}

function retry(id: string): void {
  const choice = { failedOnly: undefined, tasks: undefined, asNew: undefined };
  bench.receive(CLIENT, {
    type: 'retryJob',
    request: 50,
    key: `again ${bench.records.length}`,
    id,
    ...choice,
  });
  bench.commit();
}

function why(id: string) {
  bench.receive(CLIENT, { type: 'explainJob', request: 78, id, task: undefined });
  return bench.take().find((message) => message.type === 'jobExplanation')!.value;
}

function run(job: number, outcome?: typeof FAILED): void {
  bench.end(W1, bench.ask(W1, job)!, outcome);
  bench.commit();
}

/** Restarts the process, which finds all records. */
function restart(): void {
  bench.commit();
  const next = new DurableBench(bench.inheritance([FORMER]), 1_000);
  bench = benched(next);
  for (const from of [W1, W2]) bench.receive(from, { type: 'holding', audit: 0, tasks: [] });
  bench.now += 1_000;
  wake();
  bench.commit();
}

function wake(): void {
  bench.scheduler.wake('predecessors', 0, bench.now);
  bench.scheduler.checkInvariants();
}

function sent<T extends 'awaitJobs' | 'seekOwner' | 'probe' | 'jobFates'>(type: T): MessageOf<T>[] {
  return bench.take().filter((message) => message.type === type) as unknown as MessageOf<T>[];
}

function reportFate(id: string, state: MessageOf<'jobFates'>['fates'][number]['state'], from = OTHER): void {
  bench.receive(from, { type: 'jobFates', fates: [{ id, state, tasks: 10, ended: 4 }], user: undefined });
  bench.commit();
}

function ownerIs(owner: Address | undefined, gone = false): void {
  bench.receive(CENTRAL, { type: 'ownerIs', tag: 'x1', owner, gone });
}

describe('a job with a predecessor at the same scheduler', () => {
  test.each([
    ['after', 'completed', undefined, 'waiting'],
    ['after', 'failed', FAILED, 'waiting'],
    ['afterOk', 'completed', undefined, 'waiting'],
    ['afterOk', 'failed', FAILED, 'held'],
  ] as const)('with %s: when that has %s', (kind, _state, outcome, then) => {
    submit(ONE);
    bench.take();
    const held = submit({ ...ONE, [kind]: ['s-1'] });
    expect(sent('probe')).toEqual([]);
    expect(bench.ask(W2, 2)).toBeUndefined();
    run(1, outcome);
    expect(detail(held).state).toBe('waiting');
    if (then === 'held') {
      expect(why(held)).toMatchObject({ after: [{ id: 's-1', state: 'failed', ok: true }] });
      expect(bench.ask(W2, 2)).toBeUndefined();
      return;
    }
    run(2);
    expect(detail(held)).toMatchObject({ state: 'completed', after: undefined });
  });

  test('shows its predecessor, and looks for no workers', () => {
    submit({ tasks: { count: 5, run: { sleep: 1 } } });
    run(1);
    bench.ask(W1, 1);
    const held = submit({ ...ONE, after: ['s-1'], afterOk: ['s-1', 'x1-4'] });
    const before = { state: 'running', tasks: 5, ended: 1, ok: true, id: 's-1' };
    const checkMatch = { state: 'unknown', tasks: 0, ended: 0, ok: true, id: 'x1-4' };
    expect(why(held)).toMatchObject({
      waiting: [{ reason: 'other-job', tasks: 1 }],
      after: [before, checkMatch],
      probesOut: 0,
    });
    expect(detail(held)).toMatchObject({ state: 'waiting', after: [before, checkMatch] });
  });

  test('starts at once if the predecessor has ended, and is cancelled if it is unknown', () => {
    submit(ONE);
    run(1);
    const held = submit({ ...ONE, afterOk: ['s-1'] });
    run(2);
    expect(detail(held).state).toBe('completed');
    const lost = submit({ ...ONE, afterOk: ['s-99'] });
    expect(detail(lost)).toMatchObject({
      state: 'cancelled',
      cancelReason: 'it depended on the completion of s-99, which is unknown',
    });
  });

  test('can be cancelled, which holds a chain of 10,000 successors', () => {
    submit(ONE);
    for (let job = 2; job <= 10_000; job++) bench.accept({ ...ONE, afterOk: [`s-${job - 1}`] });
    bench.commit();
    bench.take();
    bench.receive(CLIENT, { type: 'cancelJob', request: 99, id: 's-2' });
    expect(detail('s-2').cancelReason).toBeUndefined();
    expect(detail('s-3')).toMatchObject({ state: 'waiting', after: [{ id: 's-2', state: 'cancelled' }] });
    expect(bench.scheduler.activeJobs).toBe(9_999);
  });

  test('has the same stages and pilots as without a predecessor', () => {
    submit(ONE);
    const stages = [
      { name: 'a', tasks: { count: 2, run: { sleep: 1 } } },
      { name: 'b', after: ['a'], tasks: [{ sleep: 1 }] },
    ];
    const held = submit({ stages, after: ['s-1'] });
    run(1);
    run(2);
    expect(bench.ask(W1, 2, 1)).toBeUndefined();
    run(2);
    bench.end(W1, bench.ask(W1, 2, 1)!);
    expect(detail(held).state).toBe('completed');
  });

  test('is held if the predecessor fails, through restarts, and continues after its successful retry', () => {
    submit(ONE);
    const held = submit({ ...ONE, afterOk: ['s-1'] });
    run(1, FAILED);
    restart();
    expect(detail(held)).toMatchObject({ state: 'waiting', after: [{ id: 's-1', state: 'failed' }] });
    retry('s-1');
    run(1, FAILED);
    expect(detail(held).state).toBe('waiting');
    retry('s-1');
    restart();
    run(1);
    run(2);
    expect(detail(held).state).toBe('completed');
  });

  test('can be cancelled while held, and is held again after a retry', () => {
    submit(ONE);
    const held = submit({ ...ONE, afterOk: ['s-1'] });
    run(1, FAILED);
    bench.receive(CLIENT, { type: 'cancelJob', request: 99, id: held });
    expect(detail(held).state).toBe('cancelled');
    retry(held);
    expect(bench.ask(W1, 2)).toBeUndefined();
    retry('s-1');
    run(1);
    run(2);
    expect(detail(held).state).toBe('completed');
  });

  test('runs if it was cancelled just before its start, and is retried', () => {
    submit(ONE);
    const held = submit({ ...ONE, afterOk: ['s-1'] });
    bench.end(W1, bench.ask(W1, 1)!);
    bench.receive(CLIENT, { type: 'cancelJob', request: 99, id: held });
    bench.commit();
    retry(held);
    run(2);
    expect(detail(held).state).toBe('completed');
  });

  test('does not keep a scheduler from draining while only a retry could release it', () => {
    let isDrained = false;
    bench = benched(
      new DurableBench(
        undefined,
        0,
        true,
        {},
        {
          drained() {
            isDrained = true;
          },
        },
      ),
    );
    submit(ONE);
    const held = submit({ ...ONE, afterOk: ['s-1'] });
    submit({ ...ONE, after: [held] });
    bench.scheduler.drain();
    expect(isDrained).toBe(false);
    run(1, FAILED);
    expect(isDrained).toBe(true);
  });

  test('is held after a restart unless all predecessors had ended', () => {
    submit(ONE);
    submit(ONE);
    submit({ ...ONE, afterOk: ['s-1', 's-2'] });
    run(1);
    restart();
    expect(detail('s-3').after?.map(({ id }) => id)).toEqual(['s-2']);
    expect(bench.ask(W1, 3)).toBeUndefined();
    run(2);
    run(3);
    expect(detail('s-3').state).toBe('completed');
  });

  test('starts after a restart if the end of its predecessor was the last record', () => {
    submit(ONE);
    submit({ ...ONE, afterOk: ['s-1'] });
    bench.end(W1, bench.ask(W1, 1)!);
    const passed = bench.records.findIndex(({ kind }) => kind === 'passed');
    bench.records.length = passed;
    restart();
    run(2);
    expect(detail('s-2').state).toBe('completed');
  });

  test('starts once the end is durable, and keeps running after a restart', () => {
    submit(ONE);
    submit({ ...ONE, after: ['s-1'] });
    bench.end(W1, bench.ask(W1, 1)!);
    expect(bench.ask(W2, 2)).toBeUndefined();
    bench.commit();
    const { task, attempt } = bench.ask(W2, 2)!;
    bench = benched(new DurableBench(bench.inheritance([FORMER]), 1_000));
    bench.receive(W1, { type: 'holding', audit: 0, tasks: [] });
    const elapsedMs = 10;
    bench.receive(W2, {
      type: 'holding',
      audit: 0,
      tasks: [{ job: 2, task, attempt, elapsedMs, match: undefined }],
    });
    expect(bench.take().filter(({ type }) => type === 'cancelTask')).toEqual([]);
    expect(detail('s-2').state).toBe('running');
  });
});

describe('a job with a predecessor at another scheduler', () => {
  test('asks central for the owner, asks the owner, and starts on its answer', () => {
    const held = submit({ ...ONE, afterOk: ['x1-7'] });
    expect(sent('seekOwner')).toMatchObject([{ tag: 'x1' }]);
    ownerIs(OTHER);
    expect(sent('awaitJobs')).toMatchObject([{ ids: ['x1-7'] }]);
    reportFate('x1-7', 'running');
    expect(why(held).after).toEqual([{ id: 'x1-7', state: 'running', tasks: 10, ended: 4, ok: true }]);
    reportFate('x1-7', 'completed');
    reportFate('x1-7', 'failed');
    run(1);
    expect(detail(held).state).toBe('completed');
    bench.now += 60_000;
    wake();
    expect(sent('awaitJobs')).toEqual([]);
  });

  test('repeats unanswered requests, and asks the next owner that central names', () => {
    submit({ ...ONE, after: ['x1-7'] });
    ownerIs(OTHER);
    bench.take();
    const asked: number[] = [];
    for (; bench.now < 60_000; bench.now += 1_000) {
      wake();
      if (sent('awaitJobs').length > 0) asked.push(bench.now);
    }
    expect(asked.length).toBeGreaterThan(4);
    expect(asked.length).toBeLessThan(9);
    ownerIs(SUCCESSOR);
    expect(sent('awaitJobs')).toHaveLength(1);
    reportFate('x1-7', 'failed', SUCCESSOR);
    run(1);
    expect(detail('s-1').state).toBe('completed');
  });

  test('waits while the owner is away, and considers it lost after ten minutes', () => {
    const ok = submit({ ...ONE, afterOk: ['x1-7'] });
    const any = submit({ ...ONE, after: ['x1-8'] });
    for (; bench.now <= 300_000; bench.now += 1_000) {
      wake();
      if (sent('seekOwner').length > 0) ownerIs(undefined);
    }
    expect(detail(ok).state).toBe('waiting');
    const from = bench.now;
    for (; bench.now <= from + 630_000; bench.now += 5_000) {
      wake();
      if (sent('seekOwner').length > 0) ownerIs(undefined, true);
      if (bench.now < from + 600_000) expect(detail(ok).state).toBe('waiting');
    }
    expect(detail(ok)).toMatchObject({ state: 'cancelled', cancelReason: /x1-7/ });
    run(2);
    expect(detail(any).state).toBe('completed');
  });

  test('shares one request among 10,000 waiting jobs, at a limited rate', () => {
    for (let job = 1; job <= 10_000; job++) bench.accept({ ...ONE, after: [`x1-${job}`] });
    bench.commit();
    bench.take();
    ownerIs(OTHER);
    expect(sent('awaitJobs').map(({ ids }) => ids.length)).toEqual([10_000]);
    reportFate('x1-5000', 'completed');
    run(5_000);
    expect(bench.scheduler.activeJobs).toBe(9_999);
  });
});

describe('jobs with successors', () => {
  const ask = (ids: string[]) => bench.receive(OTHER, { type: 'awaitJobs', ids, user: undefined });

  test('are reported at once, and again once their end is durable', () => {
    submit(ONE);
    ask(['s-1', 's-9']);
    expect(sent('jobFates')).toMatchObject([
      {
        fates: [
          { id: 's-1', state: 'waiting', tasks: 1 },
          { id: 's-9', state: 'unknown' },
        ],
      },
    ]);
    bench.end(W1, bench.ask(W1, 1)!);
    expect(sent('jobFates')).toEqual([]);
    bench.commit();
    expect(sent('jobFates')).toMatchObject([{ fates: [{ id: 's-1', state: 'completed', ended: 1 }] }]);
    ask(['s-1']);
    expect(sent('jobFates')).toMatchObject([{ fates: [{ state: 'completed' }] }]);
  });

  test('are known after a restart', () => {
    submit(ONE);
    run(1, FAILED);
    restart();
    ask(['s-1']);
    expect(sent('jobFates')).toMatchObject([{ fates: [{ state: 'failed' }] }]);
  });
});
