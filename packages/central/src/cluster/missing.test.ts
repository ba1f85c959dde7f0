import {
  type Address,
  DEFAULT_POLICY,
  LIVE_TIMINGS,
  LOST_WORKERS_MS,
  type Message,
  type MessageOf,
  type Millis,
} from '@goshawk/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Central } from '../central.js';
import type { ClusterEvent } from '../contract.js';
import { registration } from '../messages.fixture.js';

const { heartbeatMs, leaseMs } = LIVE_TIMINGS;
const [A, B, B2, CLIENT, W, W2] = [1, 2, 4, 3, 11, 12] as Address[] as [
  Address,
  Address,
  Address,
  Address,
  Address,
  Address,
];

class Bench {
  readonly events: ClusterEvent[] = [];
  readonly rolledBack: string[] = [];
  now: Millis = 0;
  #leaseAt = Number.POSITIVE_INFINITY;
  readonly #alive = new Set<Address>();
  readonly #said: { to: Address; message: Message }[] = [];
  readonly #central: Central;

  constructor(expectedSchedulers: string[] = []) {
    this.#central = new Central(
      {
        name: 'central',
        self: 9 as Address,
        settings: { policy: DEFAULT_POLICY, timings: LIVE_TIMINGS },
        expectedSchedulers,
      },
      {
        random: () => 0.5,
        send: (to, message) => void this.#said.push({ to, message }),
        setTimer: (timer, _key, at) => {
          if (timer === 'lease') this.#leaseAt = at;
        },
        clearTimer() {},
        nameOf: (address) => `tcp://host${address}:1!p/0`,
        eventOccurred: (event) => void this.events.push(event),
        journalRolledBack: (scheduler) => void this.rolledBack.push(scheduler),
      },
    );
    this.#central.start(0);
  }

  receive(from: Address, message: Message): void {
    this.#central.receive(from, message, this.now);
  }

  enlist(
    from: Address,
    name: string,
    tag: string,
    epoch = 1,
    previousIncarnations: readonly Address[] = [],
    adopted = false,
  ): void {
    const more = { endpoint: '', durable: true, draining: false, http: undefined, adopted };
    this.receive(from, { type: 'enlist', name, tag, epoch, previousIncarnations, ...more });
    this.#alive.add(from);
  }

  remember(from: Address, schedulers: MessageOf<'remember'>['schedulers'], workers: string[] = []): void {
    this.receive(from, { type: 'remember', schedulers, workers });
  }

  /** Returns the names that central asks a scheduler to remember. */
  sentTo(scheduler: Address) {
    this.#said.length = 0;
    this.#central.wake('publish', 0, this.now);
    return this.#said.flatMap(({ to, message }) =>
      to === scheduler && message.type === 'remember' ? message.schedulers.map(({ name }) => name) : [],
    );
  }

  takeOverRefusal(scheduler: string) {
    return this.ask('refused', { type: 'takeOverFrom', request: 1, scheduler });
  }

  register(from: Address, name: string): void {
    this.receive(from, registration(name));
    this.#alive.add(from);
  }

  silence(...those: Address[]): void {
    for (const each of those) this.#alive.delete(each);
  }

  explainLoss(worker: string, address: string, why: string): void {
    this.#central.explainLoss(worker, address, why);
  }

  sees(from: Address, ...names: string[]): void {
    const journals = names.map((name) => ({ name, tag: `tag-${name}`, epoch: 4 }));
    this.receive(from, { type: 'journals', journals });
  }

  until(end: Millis): void {
    while (this.now < end) {
      this.now = Math.min(end, this.now + heartbeatMs / 2);
      for (const each of this.#alive)
        this.receive(each, { type: 'heartbeat', busy: 1, queued: 0, used: undefined });
      if (this.#leaseAt <= this.now) this.#central.wake('lease', 0, this.now);
    }
  }

  ask<T extends Message['type']>(type: T, message: Message): MessageOf<T> {
    this.#said.length = 0;
    this.receive(CLIENT, message);
    return this.#said.find(({ to, message: { type: of } }) => to === CLIENT && of === type)!
      .message as MessageOf<T>;
  }

  refusals(request: Message): MessageOf<'refused'>[] {
    this.#said.length = 0;
    this.receive(CLIENT, request);
    return this.#said.flatMap(({ to, message }) =>
      to === CLIENT && message.type === 'refused' ? [message] : [],
    );
  }

  get missing() {
    return this.ask('schedulers', { type: 'findSchedulers', request: 1 }).value.missing!;
  }

  takeOver(scheduler: string) {
    return this.ask('takeover', { type: 'takeOverFrom', request: 1, scheduler }).value;
  }

  get takeovers(): MessageOf<'takeOver'>[] {
    return this.#said.flatMap(({ message }) => (message.type === 'takeOver' ? [message] : []));
  }

  get asked(): string[] {
    return this.takeovers.map(({ tag }) => tag);
  }

  forget(): void {
    this.#said.length = 0;
  }

  get lost() {
    return this.ask('workerPage', { type: 'listWorkers', request: 1, from: 0 }).value.lost!;
  }

  status() {
    return this.#central.status(this.now);
  }
}

test('an expected scheduler that does not join is reported missing one lease after the start', () => {
  const bench = new Bench(['a', 'b']);
  bench.enlist(A, 'a', 'x', 0);
  bench.until(leaseMs - 1);
  expect(bench.missing).toEqual([]);
  bench.until(2 * leaseMs);
  expect(bench.missing).toMatchObject([{ name: 'b', shared: false, missingMs: 2 * leaseMs }]);
  expect(bench.status()).toMatchObject({ schedulersMissing: 1, unownedJournals: 0 });
  expect(bench.events).toContainEqual({ kind: 'schedulers-missing', schedulers: ['b'], unlisted: ['b'] });
  bench.enlist(B, 'b', 'y', 0);
  expect(bench.missing).toEqual([]);
});

test('an expected scheduler whose jobs were taken over is lost since it was last heard, until it returns', () => {
  const bench = new Bench(['a', 'b']);
  bench.enlist(A, 'a', 'tag-a');
  bench.enlist(B, 'b', 'tag-b');
  const lastSeenAt = 60_000;
  bench.until(lastSeenAt);
  bench.silence(B);
  bench.until(lastSeenAt + 2 * leaseMs);
  bench.enlist(21 as Address, 'b/tag-b', 'tag-b', 2, [B], true);
  bench.until(lastSeenAt + 3 * leaseMs);
  expect(bench.missing).toMatchObject([{ name: 'b', jobs: 0, missingMs: 3 * leaseMs, takenOver: true }]);
  expect(bench.events).toContainEqual({ kind: 'schedulers-missing', schedulers: ['b'], unlisted: [] });
  bench.enlist(B2, 'b', 'tag-b', 3, [B]);
  expect(bench.missing).toEqual([]);
});

test('ended jobs of a lost scheduler with a local journal are unlisted', () => {
  const bench = new Bench(['a', 'b']);
  bench.enlist(A, 'a', 'tag-a', 0);
  bench.enlist(B, 'b', 'tag-b', 0);
  bench.until(leaseMs);
  bench.receive(B, { type: 'heartbeat', busy: 0, queued: 0, used: undefined });
  bench.silence(B);
  bench.until(20 * 60_000);
  expect(bench.missing).toMatchObject([{ name: 'b', jobs: 0, takenOver: false }]);
  expect(bench.events).toContainEqual({ kind: 'schedulers-missing', schedulers: ['b'], unlisted: ['b'] });
});

test('a restarted central reports the jobs of missing schedulers as unlisted unless another has them', () => {
  const bench = new Bench(['a', 'b', 'c', 'd']);
  bench.enlist(A, 'a', 'tag-a');
  bench.enlist(B, 'b/tag-b', 'tag-b', 4, [], true);
  bench.enlist(B2, 'd/tag-x', 'tag-x', 4, [], true);
  bench.sees(A, 'b', 'd');
  bench.until(2 * leaseMs);
  const reports = bench.events.filter(({ kind }) => kind === 'schedulers-missing');
  expect(reports).toEqual([
    { kind: 'schedulers-missing', schedulers: ['d', 'b', 'c'], unlisted: ['d', 'c'] },
  ]);
});

test('the absent owner of a journal in a shared database is reported missing', () => {
  const bench = new Bench();
  bench.enlist(A, 'a', 'tag-a');
  bench.sees(A, 'a', 'b');
  bench.until(leaseMs / 2);
  expect(bench.missing).toEqual([]);
  bench.until(2 * leaseMs);
  bench.sees(A, 'a', 'b');
  expect(bench.missing).toMatchObject([{ name: 'b', tag: 'tag-b', shared: true }]);
  expect(bench.status().unownedJournals).toBe(1);
  bench.sees(A, 'a');
  expect(bench.missing).toEqual([]);
});

test('the owner of a journal that is first seen long after the start is reported missing at once', () => {
  const bench = new Bench();
  bench.until(leaseMs);
  bench.enlist(A, 'a', 'tag-a');
  bench.sees(A, 'a', 'b');
  expect(bench.missing).toMatchObject([{ name: 'b', shared: true }]);
});

test('only members may report journals', () => {
  const bench = new Bench();
  bench.sees(B, 'b');
  bench.until(2 * leaseMs);
  expect(bench.missing).toEqual([]);
});

test.each(['b', '*'])(
  'an operator gives an unowned journal to a connected scheduler: takeover %s',
  (name) => {
    const bench = new Bench();
    bench.enlist(A, 'a', 'tag-a');
    bench.sees(A, 'a', 'b', 'c');
    bench.until(2 * leaseMs);
    bench.forget();
    expect(bench.takeOver(name)).toEqual({
      scheduler: name,
      jobs: 0,
      schedulers: name === '*' ? 2 : 1,
      jobsUnknown: true,
    });
    expect(bench.asked).toEqual(name === '*' ? ['tag-b', 'tag-c'] : ['tag-b']);
  },
);

test('an unowned journal is assigned to a scheduler after five minutes', () => {
  const bench = new Bench();
  bench.enlist(A, 'a', 'tag-a');
  bench.sees(A, 'a', 'b');
  bench.until(4 * 60_000);
  expect(bench.asked).toEqual([]);
  bench.until(6 * 60_000);
  expect(new Set(bench.asked)).toEqual(new Set(['tag-b']));
});

test('a journal that was claimed by a scheduler that never enlists is assigned after five minutes', () => {
  const bench = new Bench();
  bench.enlist(A, 'a', 'tag-a');
  bench.enlist(B, 'b', 'tag-b');
  bench.silence(B);
  bench.until(2 * leaseMs);
  const claimedAt = bench.now;
  // Journals are listed with epoch 4, above that of their last known owner.
  bench.sees(A, 'b');
  bench.forget();
  bench.until(claimedAt + 4 * 60_000);
  bench.sees(A, 'b');
  expect(bench.asked).toEqual([]);
  expect(bench.missing).toMatchObject([{ name: 'b', shared: true }]);
  bench.until(claimedAt + 6 * 60_000);
  expect(bench.takeovers).toContainEqual({ type: 'takeOver', name: 'b', tag: 'tag-b', epoch: 4 });
});

test('a returning scheduler gets its jobs back from the one that has taken them over', () => {
  const bench = new Bench();
  bench.enlist(A, 'a', 'tag-a');
  bench.enlist(B, 'b/tag-b', 'tag-b', 2, [], true);
  bench.until(leaseMs);
  bench.enlist(B2, 'b', 'tag-b', 3, [B]);
  bench.silence(B);
  bench.until(bench.now + 3 * leaseMs);
  const { present, away } = bench.ask('schedulers', { type: 'findSchedulers', request: 1 }).value;
  expect(present.map(({ name, tag }) => [name, tag])).toEqual([
    ['a', 'tag-a'],
    ['b', 'tag-b'],
  ]);
  expect([away, bench.missing, bench.asked]).toEqual([[], [], []]);
});

test('a scheduler that has left for good is not reported missing', () => {
  const bench = new Bench();
  bench.enlist(A, 'a', 'tag-a');
  bench.enlist(B, 'b', 'tag-b');
  const more = { endpoint: '', durable: false, draining: true, http: undefined, adopted: false };
  bench.receive(B, { type: 'enlist', name: 'b', tag: 'tag-b', epoch: 1, previousIncarnations: [], ...more });
  bench.receive(B, { type: 'leave' });
  bench.silence(B);
  bench.sees(A, 'a', 'b');
  bench.until(2 * leaseMs);
  expect(bench.missing).toEqual([]);
});

test('a lost worker is listed with its cause until it returns, for at most an hour', () => {
  const bench = new Bench();
  bench.register(W, 'w1');
  bench.register(W2, 'w2');
  bench.until(heartbeatMs);
  bench.silence(W, W2);
  bench.until(heartbeatMs + 2 * leaseMs);
  expect(bench.lost.map(({ name }) => name).sort()).toEqual(['w1', 'w2']);
  expect(bench.lost[0]!.cause).toMatch(/silent for .* lease expired$/);
  expect(bench.lost[0]).toMatchObject({ running: 1 });
  const lost = bench.events.filter(({ kind }) => kind === 'worker-lost');
  expect(lost).toMatchObject([{ cause: 'lease' }, { cause: 'lease' }]);
  bench.explainLoss('w1', 'tcp://elsewhere:1!p/0', 'it was another process');
  bench.explainLoss('w1', bench.lost.find(({ name }) => name === 'w1')!.address, 'it hangs');
  expect(bench.lost.find(({ name }) => name === 'w1')!.cause).toMatch(/lease expired; it hangs$/);
  bench.register(W, 'w1');
  expect(bench.lost.map(({ name }) => name)).toEqual(['w2']);
  bench.silence(W);
  bench.now += LOST_WORKERS_MS + 1;
  expect(bench.lost).toEqual([]);
});

test('the drain of a lost worker takes it off the list, once, until it is lost again', () => {
  const bench = new Bench();
  const drain = <T extends 'drainState' | 'refused'>(type: T, worker: string, on = true) =>
    bench.ask(type, { type: 'drainWorker', request: 1, worker, on, deadlineMs: undefined });
  const lose = (): void => {
    bench.register(W, 'w1');
    bench.register(W2, 'w2');
    bench.silence(W, W2);
    bench.until(bench.now + 2 * leaseMs);
    expect(bench.lost).toHaveLength(2);
  };
  lose();
  for (let times = 0; times < 2; times++)
    expect(drain('drainState', 'w1').value).toMatchObject({ worker: 'w1', state: 'removed' });
  expect(bench.lost.map(({ name }) => name)).toEqual(['w2']);
  expect(bench.events.filter(({ kind }) => kind === 'worker-removed')).toHaveLength(1);
  expect(drain('refused', 'w2', false).code).toBe('unknown-worker');
  expect(drain('refused', 'w3').code).toBe('unknown-worker');
  lose();
});

test('a central that has just started refuses no request for good about a party that may still report to it', () => {
  // The former central may have applied an earlier copy of these, and its answer was lost.
  const requests: readonly Message[] = [
    { type: 'drainWorker', request: 1, worker: 'w', on: true, deadlineMs: undefined },
    { type: 'drainWorker', request: 1, worker: 'w', on: false, deadlineMs: undefined },
    { type: 'takeOverFrom', request: 1, scheduler: 's' },
  ];
  fc.assert(
    fc.property(
      fc.constantFrom(...requests),
      fc.array(fc.integer({ min: 0, max: 2 * leaseMs }), { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 0, max: 2 * leaseMs }),
      (request, times, reportsAt) => {
        const bench = new Bench();
        let isThere = false;
        for (const at of times.toSorted((one, other) => one - other)) {
          bench.now = at;
          if (!isThere && at >= reportsAt) {
            isThere = true;
            bench.register(W, 'w');
            bench.enlist(A, 's', 'tag-s', 4);
          }
          const codes = bench.refusals(request).map(({ code }) => code);
          const expected = at < leaseMs ? 'not-ready' : expect.stringMatching(/^unknown-/);
          expect(codes).toEqual(isThere ? [] : [expected]);
        }
      },
    ),
  );
});

test('a repeated takeover is answered as done, also by the next central, while a scheduler has the jobs', () => {
  fc.assert(
    fc.property(
      fc.boolean(),
      fc.uniqueArray(fc.constantFrom('x', 'y', 'z'), { minLength: 1 }),
      fc.integer({ min: 0, max: 2 * leaseMs }),
      fc.boolean(),
      (isNext, tags, askedAt, isSeen) => {
        const bench = new Bench();
        bench.enlist(A, 'a', 'tag-a');
        if (!isNext) {
          bench.enlist(B, 's', tags[0]!);
          expect(bench.takeOver('s')).toMatchObject({ scheduler: 's' });
        }
        for (const [index, tag] of tags.entries())
          bench.enlist((20 + index) as Address, `s/${tag}`, tag, 2, [B], true);
        if (isSeen)
          bench.receive(A, { type: 'journals', journals: tags.map((tag) => ({ name: 's', tag, epoch: 2 })) });
        bench.until(askedAt);
        bench.forget();
        expect(bench.takeOver('s')).toMatchObject({ scheduler: 's', schedulers: tags.length });
        expect(bench.asked).toEqual([]);
      },
    ),
  );
});

test('each change of a member is reported once', () => {
  const bench = new Bench();
  bench.register(W, 'w');
  bench.register(W, 'w');
  bench.enlist(A, 'a', 'x');
  bench.enlist(A, 'a', 'x');
  for (const reason of ['full', 'full', '', '']) bench.receive(W, { type: 'quarantine', reason });
  bench.receive(CLIENT, { type: 'drainWorker', request: 1, worker: 'w', on: true, deadlineMs: undefined });
  for (let i = 0; i < 2; i++) bench.receive(W, { type: 'drained' });
  bench.receive(W, { type: 'leave' });
  bench.receive(A, { type: 'leave' });
  expect(bench.events.map(({ kind }) => kind)).toEqual([
    'worker-joined',
    'scheduler-joined',
    'worker-quarantined',
    'worker-cured',
    'worker-drains',
    'worker-drained',
    'worker-left',
    'scheduler-left',
  ]);
});

test('schedulers report a missing one to a restarted central, until it returns', () => {
  const bench = new Bench();
  bench.enlist(A, 'a', 'x', 0);
  bench.remember(A, [
    { name: 'a', tag: 'x', address: A },
    { name: 'b', tag: 'y', address: B },
  ]);
  expect(bench.missing).toEqual([]);
  bench.until(2 * leaseMs);
  expect(bench.missing).toMatchObject([{ name: 'b', tag: 'y', shared: false, missingMs: 2 * leaseMs }]);
  expect(bench.status()).toMatchObject({ schedulersMissing: 1, unownedJournals: 0 });
  expect(bench.sentTo(A)).toEqual(['a', 'b']);
  expect(bench.takeOverRefusal('b')).toMatchObject({
    code: 'not-shared',
    hint: expect.stringMatching('start b with its data folder'),
  });
  bench.enlist(B, 'b', 'y', 0, [B]);
  expect(bench.missing).toEqual([]);
});

test('a scheduler with another journal replaces a missing one with its name', () => {
  const bench = new Bench();
  bench.enlist(A, 'a', 'x', 0);
  bench.remember(A, [{ name: 'b', tag: 'y', address: B }]);
  bench.until(2 * leaseMs);
  bench.enlist(B, 'b', 'other', 0);
  expect(bench.missing).toEqual([]);
  expect(bench.sentTo(A)).toEqual(['a', 'b']);
});

test('a scheduler that central gave up stays missing only if it had jobs', () => {
  const bench = new Bench();
  bench.enlist(A, 'a', 'x', 0);
  bench.enlist(B, 'b', 'y', 0);
  bench.enlist(W, 'idle', 'z', 0);
  bench.until(leaseMs);
  bench.receive(W, { type: 'heartbeat', busy: 0, queued: 0, used: undefined });
  bench.silence(B, W);
  bench.until(12 * 60_000);
  expect(bench.events.filter(({ kind }) => kind === 'scheduler-given-up')).toHaveLength(2);
  expect(bench.missing).toMatchObject([{ name: 'b', tag: 'y', jobs: 1, shared: false }]);
  expect(bench.sentTo(A)).toEqual(['a', 'b']);
});

test('reports that require membership are ignored from nonmembers', () => {
  const bench = new Bench();
  bench.remember(A, [{ name: 'b', tag: 'y', address: B }], ['w']);
  bench.until(2 * leaseMs);
  expect([bench.missing, bench.lost]).toEqual([[], []]);
});

test('workers that a restarted central has not seen are listed as lost, once', () => {
  const bench = new Bench();
  bench.enlist(A, 'a', 'x', 0);
  bench.register(W, 'w1');
  for (let i = 0; i < 2; i++) bench.remember(A, [], ['w1', 'w2']);
  expect(bench.lost).toMatchObject([{ name: 'w2', cause: expect.stringMatching('central restarted') }]);
  expect(bench.events.filter(({ kind }) => kind === 'worker-missing')).toHaveLength(1);
  bench.register(W2, 'w2');
  expect(bench.lost).toEqual([]);
});

test.each(['first', 'last'])(
  'a journal of an earlier incarnation is reported to a new central if its scheduler joins %s',
  (order) => {
    const [former, latest] = [21, 22] as [Address, Address];
    const bench = new Bench();
    const comes = () => bench.enlist(B, 'b', 'y', 0, [former]);
    if (order === 'first') comes();
    bench.enlist(A, 'a', 'x', 0);
    for (let i = 0; i < 2; i++) bench.remember(A, [{ name: 'b', tag: 'y', address: latest }]);
    if (order === 'last') comes();
    expect(bench.rolledBack).toEqual(['b']);
  },
);

test('a scheduler that restarts while central is down keeps its journal', () => {
  const bench = new Bench();
  bench.enlist(A, 'a', 'x', 0);
  bench.enlist(B, 'b', 'y', 0, [21 as Address]);
  bench.remember(A, [{ name: 'b', tag: 'y', address: 21 as Address }]);
  expect(bench.rolledBack).toEqual([]);
});
