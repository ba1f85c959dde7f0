import {
  type Address,
  DEFAULT_POLICY,
  LIVE_TIMINGS,
  type Message,
  type MessageOf,
  type Millis,
} from '@goshawk/core';
import { addPapers } from '@goshawk/papers';
import { presetNamed } from '@goshawk/policies';
import { expect, test } from 'vitest';
import { Central } from '../central.js';
import { need, pull, registration, stageAbout } from '../messages.fixture.js';

addPapers();

const [OLD, NEW, CLIENT, W] = [1, 2, 3, 11] as [Address, Address, Address, Address];

/** A scheduler whose one task runs on the only worker, under a policy that preempts. */
class Bench {
  now: Millis = 0;
  readonly #said: { to: Address; message: Message }[] = [];
  readonly #central: Central;

  constructor() {
    const preset = presetNamed('prio');
    this.#central = new Central(
      {
        name: 'c',
        self: 9 as Address,
        settings: {
          policy: { ...DEFAULT_POLICY, policy: 'prio', preset, estimator: 'given' },
          timings: LIVE_TIMINGS,
        },
      },
      {
        random: () => 0.5,
        send: (to, message) => void this.#said.push({ to, message }),
        setTimer() {},
        clearTimer() {},
        nameOf: (address) => `tcp://host:1!s${address}/0`,
      },
    );
    this.#central.start(0);
    this.receive(W, registration('w'));
    this.enlist(OLD, []);
    this.pull(1, [], []);
    this.declare(OLD, 1, undefined);
    this.need(OLD, 1);
    this.pull(0, [1], [1]);
  }

  receive(from: Address, message: Message): void {
    this.#central.receive(from, message, this.now);
    this.#central.settle(this.now);
    this.#central.checkInvariants();
  }

  enlist(from: Address, previousIncarnations: Address[]): void {
    const more = { epoch: 0, adopted: false, durable: true, draining: false, http: undefined, endpoint: '' };
    this.receive(from, { type: 'enlist', name: 's', tag: 't', previousIncarnations, ...more });
  }

  declare(from: Address, job: number, deadlineMs: number | undefined): void {
    const stages = [stageAbout({ tasks: 1, demand: {}, estimateMs: 60_000 })];
    const facts = { long: true, ...(deadlineMs !== undefined && { deadlineMs }) };
    this.receive(from, need(job, { tasks: 0, estimateMs: 60_000, stages, ...facts }));
  }

  need(from: Address, job: number): void {
    this.receive(from, need(job, { about: undefined, estimateMs: 60_000 }));
  }

  pull(free: number, heard: number[], runs: number[]): void {
    this.receive(W, pull({ heard, free, runs }));
  }

  sentOf<T extends Message['type']>(type: T): { to: Address; message: MessageOf<T> }[] {
    return this.#said.splice(0).filter(({ message }) => message.type === type) as never;
  }

  plan(): void {
    this.now += LIVE_TIMINGS.heartbeatMs;
    this.receive(NEW, { type: 'heartbeat', busy: 2, queued: 1, used: undefined });
    this.#central.wake('plan', 0, this.now);
    this.#central.settle(this.now);
  }
}

test('a job of a restarted scheduler counts once, with its running tasks', () => {
  const bench = new Bench();
  bench.enlist(NEW, [OLD]);
  bench.declare(NEW, 1, undefined);
  bench.receive(CLIENT, { type: 'describeShares', request: 5 });
  const [shares] = bench.sentOf('shares');
  expect(shares!.message.value.jobs).toMatchObject([{ id: 't-1', running: 1 }]);
});

test('preemption of a run from before a restart is requested from the new incarnation', () => {
  const bench = new Bench();
  bench.enlist(NEW, [OLD]);
  bench.declare(NEW, 1, undefined);
  bench.sentOf('preempt');
  bench.declare(NEW, 2, 120_000);
  bench.need(NEW, 2);
  for (let turn = 0; turn < 12; turn++) bench.plan();
  const preempts = bench.sentOf('preempt');
  expect(preempts.length).toBeGreaterThan(0);
  for (const { to, message } of preempts) {
    expect(to).toBe(NEW);
    expect(message).toMatchObject({ job: 1, worker: W, match: 1 });
  }
});

test.each([
  { type: 'withdraw', job: 1 },
  { type: 'unused', worker: W, match: 1 },
  { type: 'need', job: 1 },
] as const)(
  'a message of a scheduler that is not a member is ignored, and it is asked to join: $type',
  (message) => {
    const bench = new Bench();
    bench.enlist(NEW, [OLD]);
    bench.declare(NEW, 1, undefined);
    bench.sentOf('notRegistered');
    bench.receive(OLD, message as Message);
    expect(bench.sentOf('notRegistered').map(({ to }) => to)).toEqual([OLD]);
    bench.receive(CLIENT, { type: 'describeShares', request: 5 });
    expect(bench.sentOf('shares')[0]!.message.value.jobs).toMatchObject([{ id: 't-1', running: 1 }]);
  },
);

test('a scheduler that is alive has no next incarnation', () => {
  const bench = new Bench();
  const more = { epoch: 0, adopted: false, durable: true, draining: false, http: undefined, endpoint: '' };
  bench.receive(NEW, { type: 'enlist', name: 'z', tag: 'z', previousIncarnations: [OLD], ...more });
  bench.receive(CLIENT, { type: 'describeShares', request: 5 });
  expect(bench.sentOf('shares')[0]!.message.value.jobs.map(({ id }) => id)).toEqual(['t-1']);
});
