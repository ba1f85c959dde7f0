import {
  type Address,
  COMPLETED,
  type Member,
  type Message,
  type MessageOf,
  NO_RESOURCES,
  PRESETS,
  parseJobSpec,
  whyTooLarge,
} from '@goshawk/core';
import { expect, test } from 'vitest';
import { Members } from '../cluster/members.js';
import type { Job } from '../job/job.js';
import { CENTRAL, joined, loneScheduler, W1, W2, welcome } from '../lone-scheduler.fixture.js';

// Costs are counted as visited tasks and workers, because times are unreliable on a busy machine.

/** Counts accesses to tasks of the job from now on. */
function watched({ tasks }: Job): { looks: number } {
  const count = { looks: 0 };
  const counting = <T extends object>(column: T): T =>
    new Proxy(column, {
      get: (target, key) => {
        count.looks++;
        return Reflect.get(target, key);
      },
      set: (target, key, value) => Reflect.set(target, key, value),
    });
  const { workerOf } = tasks;
  const counted = (task: number) => {
    count.looks++;
    return workerOf.call(tasks, task);
  };
  Object.assign(tasks, { states: counting(tasks.states), workerOf: counted });
  return count;
}

function cluster(workers: readonly Address[] = [W1], policy: 'goshawk' | 'central' = 'goshawk') {
  const sent: Message[] = [];
  const scheduler = loneScheduler({}, { send: (_, message) => void sent.push(message) });
  scheduler.start(0);
  scheduler.receive(CENTRAL, welcome({ preset: { ...PRESETS[policy] }, policy }), 0);
  scheduler.receive(CENTRAL, joined(1, workers, 4), 0);
  return { scheduler, sent };
}

const many = parseJobSpec({ tasks: { count: 50_000, run: { sleep: '1s' } }, estimate: '1s' });

test('the cost of a lost worker depends only on its tasks', () => {
  const [first, second] = [100, 101] as [Address, Address];
  const { scheduler } = cluster([first, second]);
  const job = scheduler.submit(many, undefined, 0);
  const workers = [{ worker: first, match: 1 }];
  const matched = { job: job.number, stage: 0, workers, noneWaiting: undefined, newcomers: undefined };
  scheduler.receive(CENTRAL, { type: 'matched', ...matched }, 1);
  const count = watched(job);
  const lose = (worker: Address, version: number): void => {
    const change = { changed: [], left: [worker], owners: [], ownersVersion: 0, silentMs: undefined };
    scheduler.receive(CENTRAL, { type: 'members', version, since: version - 1, ...change }, 2);
  };
  lose(second, 2);
  expect(count.looks).toBe(0);
  lose(first, 3);
  expect(count.looks).toBeLessThan(50);
});

test('neither a lost worker nor a heartbeat visits jobs that only wait', () => {
  const { scheduler, sent } = cluster([W1, W2]);
  const one = parseJobSpec({ tasks: { count: 1, run: { sleep: '1s' } }, estimate: '1s' });
  const jobs = Array.from({ length: 10 }, () => scheduler.submit(one, undefined, 0));
  const workers = [{ worker: W1, match: 1 }];
  const matched = { job: jobs[0]!.number, stage: 0, workers, noneWaiting: undefined, newcomers: undefined };
  scheduler.receive(CENTRAL, { type: 'matched', ...matched }, 1);
  let visits = 0;
  for (const job of jobs.slice(1)) {
    const { tasks } = job;
    const visited = <T>(value: T): T => {
      visits++;
      return value;
    };
    const { batches } = job;
    Object.defineProperty(job, 'batches', { get: () => visited(batches) });
    Object.defineProperty(job, 'hasPendingPredecessors', { get: () => visited(false) });
    Object.defineProperty(tasks, 'notStartedCount', { get: () => visited(1) });
  }
  const change = { changed: [], left: [W2], owners: [], ownersVersion: 0, silentMs: undefined };
  scheduler.receive(CENTRAL, { type: 'members', version: 2, since: 1, ...change }, 2);
  sent.length = 0;
  scheduler.wake('heartbeat', 0, 3);
  expect(sent).toContainEqual(expect.objectContaining({ type: 'heartbeat', busy: 10, queued: 9 }));
  expect(visits).toBe(0);
});

test('tasks that wait for central again are named once, and not with all others that wait', () => {
  const { scheduler, sent } = cluster([W1, W2], 'central');
  const tasks = { count: 2_000, run: { sleep: '1s' } } as const;
  const job = scheduler.submit(parseJobSpec({ tasks, estimate: '1s' }), undefined, 0);
  const named = () => sent.splice(0).flatMap((message) => (message.type === 'place' ? message.tasks : []));
  const all = named();
  expect(all).toHaveLength(2_000);
  const at = all.slice(0, 300).map((of) => ({ ...of, worker: W2 }));
  scheduler.receive(CENTRAL, { type: 'placed', job: job.number, at }, 1);
  const change = { changed: [], left: [W2], owners: [], ownersVersion: 0, silentMs: undefined };
  scheduler.receive(CENTRAL, { type: 'members', version: 2, since: 1, ...change }, 2);
  expect(named()).toEqual(at.map(({ task }) => ({ task, attempt: 2 })));
});

test('the cost of a repeated report depends only on the tasks of its worker', () => {
  const { scheduler, sent } = cluster();
  const job = scheduler.submit(many, undefined, 0);
  const workers = [{ worker: W1, match: 1 }];
  const matched = { job: job.number, stage: 0, workers, noneWaiting: undefined, newcomers: undefined };
  scheduler.receive(CENTRAL, { type: 'matched', ...matched }, 1);
  let report = 0;
  const endOf = ({ task, attempt }: MessageOf<'run'>, ask: number): MessageOf<'ended'> =>
    ({
      type: 'ended',
      report: ++report,
      job: job.number,
      task,
      attempt,
      outcome: COMPLETED,
      runMs: 1,
      output: [],
      outputBytes: 0,
      ask,
    }) as unknown as MessageOf<'ended'>;
  const runs = () => sent.splice(0).filter((message) => message.type === 'run');
  const first = endOf(runs()[0]!, 1);
  scheduler.receive(W1, first, 2);
  for (const run of runs()) scheduler.receive(W1, endOf(run, 0), 3);
  const count = watched(job);
  scheduler.receive(W1, first, 4);
  expect(count.looks).toBeLessThan(50);
});

test('unanswered needs of a large backlog are repeated in several sweeps', () => {
  const { scheduler, sent } = cluster();
  const one = parseJobSpec({ tasks: [{ sleep: '1ms' }], estimate: '1ms' });
  const jobs = Array.from({ length: 6_000 }, () => scheduler.submit(one, undefined, 0).number);
  const swept = (now: number) => {
    sent.length = 0;
    scheduler.receive(
      CENTRAL,
      { type: 'heartbeatAck', version: 1, ownersVersion: 0, matching: true, waiting: undefined },
      now,
    );
    scheduler.wake('sweep', 0, now);
    return sent.flatMap((message) => (message.type === 'need' ? [message.job] : []));
  };
  const first = swept(6_000);
  expect(first).toHaveLength(5_000);
  const second = swept(7_000);
  expect([...first, ...second].sort((a, b) => a - b)).toEqual(jobs);
});

test('in a large backlog only the oldest jobs probe while central is silent, and all of them in turn', () => {
  const { scheduler, sent } = cluster();
  const one = parseJobSpec({ tasks: [{ sleep: '1ms' }], estimate: '1ms' });
  const jobs = Array.from({ length: 3_000 }, () => scheduler.submit(one, undefined, 0));
  const probing = () =>
    new Set(sent.splice(0).flatMap((message) => (message.type === 'probe' ? [message.job] : [])));
  probing();
  scheduler.disconnected(CENTRAL, 1);
  const first = probing();
  expect([first.size, Math.max(...first)]).toEqual([100, jobs[99]!.number]);
  scheduler.receive(CENTRAL, { ...joined(2, []), since: 1, left: [] } as Message, 2);
  const late = scheduler.submit(one, undefined, 2);
  expect(probing()).toEqual(new Set());
  for (const job of jobs.slice(0, 2_950)) scheduler.cancel(job, 3);
  scheduler.wake('heartbeat', 0, 4);
  expect([...probing()].sort((a, b) => a - b)).toEqual(
    [...jobs.slice(2_950), late].map(({ number }) => number),
  );
});

test('the backlog of a user does not keep another one from probing while central is silent', () => {
  const { scheduler, sent } = cluster();
  const one = { ...parseJobSpec({ tasks: [{ sleep: '1ms' }], estimate: '1ms' }), user: 'ann' };
  for (let i = 0; i < 3_000; i++) scheduler.submit(one, undefined, 0);
  const before = scheduler.submit({ ...one, user: 'bob' }, undefined, 0).number;
  const probing = () =>
    new Set(sent.splice(0).flatMap((message) => (message.type === 'probe' ? [message.job] : [])));
  probing();
  scheduler.disconnected(CENTRAL, 1);
  expect(probing()).toContain(before);
  const after = scheduler.submit({ ...one, user: 'bob' }, undefined, 2).number;
  expect(probing()).toEqual(new Set([after]));
});

test('the cost of workers does not depend on earlier addresses', () => {
  const members = new Members();
  const from = 5_000_000;
  const changed = Array.from(
    { length: 50 },
    (_, i): Member => ({
      ...(joined(1, [(from + i) as Address]) as MessageOf<'members'>).changed[0]!,
      capacity: { memory: 1 },
    }),
  );
  members.apply({
    type: 'members',
    version: 1,
    since: 0,
    changed,
    left: [],
    owners: [],
    ownersVersion: 0,
    silentMs: undefined,
  });
  let looked = 0;
  for (const _ of members.all()) looked++;
  expect([looked, members.size]).toEqual([50, 50]);
});

test('a requirement that no worker meets is searched once until the workers change', () => {
  const members = new Members();
  const apply = (version: number, address: number): void => {
    const message = joined(version, [address as Address]) as MessageOf<'members'>;
    members.apply({ ...message, since: version - 1 });
  };
  let asked = 0;
  const all = members.all.bind(members);
  members.all = () => {
    asked++;
    return all();
  };
  apply(1, 1);
  for (let i = 0; i < 10; i++) expect(whyTooLarge(members, { memory: 5 })).toMatch(/no worker has/);
  expect(asked).toBe(1);
  apply(2, 2);
  whyTooLarge(members, { memory: 5 });
  expect([asked, whyTooLarge(members, NO_RESOURCES)]).toEqual([2, undefined]);
});
