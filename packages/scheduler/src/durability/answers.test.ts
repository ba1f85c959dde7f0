import { type JobInput, type JournalState, type Message, type MessageOf, PENDING_CODE } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { CLIENT, W1 } from '../lone-scheduler.fixture.js';

type Change = Extract<
  Message,
  {
    type: 'submit' | 'appendTasks' | 'retryJob' | 'cancelJob' | 'cancelTasks' | 'cancelJobs' | 'updateJob';
  }
>;

/** s-1 can run, s-2 fails, s-3 is on hold, s-4 is open. */
const JOBS: readonly JobInput[] = [
  { tasks: [{ sleep: 1 }, { sleep: 1 }, { sleep: 1 }] },
  { tasks: [{ sleep: 1 }] },
  { tasks: [{ sleep: 1 }], hold: true },
  { tasks: [{ sleep: 1 }], open: 3_600_000 },
];

const retry = { failedOnly: undefined, tasks: undefined };
const append = { id: 's-4', first: 1, common: {}, each: [{ sleep: 2 }], digest: 'two tasks', taken: 0 };
const selection = { states: [], user: undefined, name: undefined, from: 0 } as const;

/** A request of each kind, by name. */
const CHANGES: Readonly<Record<string, (request: number) => Change>> = {
  submit: (request) => ({ type: 'submit', request, key: 'new', spec: JOBS[0]! }),
  retry: (request) => ({ type: 'retryJob', request, key: 'r', id: 's-2', ...retry, asNew: undefined }),
  'retry --as-new': (request) => ({ type: 'retryJob', request, key: 'n', id: 's-2', ...retry, asNew: true }),
  cancel: (request) => ({ type: 'cancelJob', request, id: 's-1' }),
  'cancel of tasks': (request) => ({
    ...{ type: 'cancelTasks', request, id: 's-1' },
    ...{ tasks: [{ first: 1, last: 2 }], stage: undefined },
  }),
  'cancel of many': (request) => ({
    type: 'cancelJobs',
    request,
    ...selection,
    dryRun: false,
    ids: undefined,
  }),
  hold: (request) => ({ type: 'updateJob', request, id: 's-1', held: true, priority: undefined }),
  release: (request) => ({ type: 'updateJob', request, id: 's-3', held: false, priority: undefined }),
  update: (request) => ({ type: 'updateJob', request, id: 's-1', held: undefined, priority: 'high' }),
  append: (request) => ({ type: 'appendTasks', request, ...append, close: false }),
  close: (request) => ({ type: 'appendTasks', request, ...append, each: [], close: true }),
};

const STALLS: readonly JournalState[] = [
  { kind: 'away', message: 'postgres does not answer' },
  { kind: 'stopped', message: 'the disk is full' },
  { kind: 'full', message: 'the disk is almost full' },
];

/** A scheduler with the jobs, all of it written. */
function prepared(isShared: boolean): DurableBench {
  const bench = new DurableBench(undefined, 0, true, isShared ? { epoch: 1 } : {});
  bench.members(W1);
  for (const [index, spec] of JOBS.entries()) bench.submit(spec, `k${index}`, index + 1);
  bench.commit();
  bench.end(W1, bench.ask(W1, 2)!, FAILED);
  bench.commit();
  bench.take();
  return bench;
}

const REQUEST = 100;

function answers(bench: DurableBench): Message[] {
  return bench.take().filter((message) => 'request' in message && message.request === REQUEST);
}

/** Everything that the request could change. */
function state(bench: DurableBench): unknown {
  const jobs = [1, 2, 3, 4, 5].map((number) => {
    bench.receive(CLIENT, { type: 'describeJob', request: 99, id: `s-${number}`, spec: false });
    return bench.take().find((message) => 'request' in message && message.request === 99);
  });
  return JSON.stringify([jobs, bench.records.length]);
}

describe.each(STALLS)('while the journal is $kind', (stall) => {
  test.each(
    Object.keys(CHANGES).flatMap((kind) => [true, false].map((isShared) => [kind, isShared] as const)),
  )('%s is refused only if it has no effect (shared journal: %s)', (kind, isShared) => {
    // When the stall begins, and how often the client repeats the request, before and after.
    fc.assert(
      fc.property(fc.nat(2), fc.integer({ min: 1, max: 3 }), fc.boolean(), (before, after, runs) => {
        const bench = prepared(isShared);
        const ask = () => bench.receive(CLIENT, CHANGES[kind]!(REQUEST));
        const asked = state(bench);
        for (let copy = 0; copy < before; copy++) ask();
        bench.scheduler.journalChanged(stall, bench.now);
        // Tasks that the request has started may end meanwhile.
        const released = runs && kind === 'release' ? bench.ask(W1, 3) : undefined;
        if (released !== undefined) bench.end(W1, released);
        let wasPending = false;
        let isOver = false;
        for (let copy = 0; copy < after; copy++) {
          ask();
          for (const answer of answers(bench)) {
            if (answer.type !== 'refused') throw new Error(`${answer.type}, although nothing is written`);
            wasPending ||= answer.code === PENDING_CODE;
            // The client gives up after these, so a late copy must have no effect either.
            isOver ||= answer.code !== PENDING_CODE && answer.retryMs === undefined;
            if (answer.code !== PENDING_CODE) expect([answer, state(bench)]).toEqual([answer, asked]);
          }
        }
        bench.scheduler.journalChanged({ kind: 'open' }, bench.now);
        const hadEffect = state(bench) !== asked;
        bench.commit();
        answers(bench);
        ask();
        bench.commit();
        const last = answers(bench).at(-1);
        // Once the journal is back, a repeated request has effect, and is answered.
        expect(last).toMatchObject({ request: REQUEST });
        expect(last!.type === 'refused').toBe(isOver);
        if (stall.kind !== 'full') expect(hadEffect).toBe(wasPending);
        expect(state(bench) === asked).toBe(isOver);
      }),
      { numRuns: 20, seed: 75 },
    );
  });
});

test('a question about results that are not written yet is refused, and is not called pending', () => {
  const bench = prepared(false);
  bench.scheduler.journalChanged(STALLS[0]!, bench.now);
  bench.receive(CLIENT, CHANGES.cancel!(1));
  bench.take();
  bench.receive(CLIENT, { type: 'readResults', request: REQUEST, id: 's-1', from: 0, order: undefined });
  expect((answers(bench)[0] as MessageOf<'refused'>).code).toBe('journal-unavailable');
});
