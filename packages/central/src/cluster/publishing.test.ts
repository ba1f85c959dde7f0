import {
  type Address,
  type ClusterSettings,
  DEFAULT_POLICY,
  LIVE_TIMINGS,
  type Message,
  type MessageOf,
  type Millis,
  PRESETS,
  type Preset,
} from '@goshawk/core';
import { expect, test } from 'vitest';
import { Central } from '../central.js';
import { registration } from '../messages.fixture.js';

const { heartbeatMs, publishMs } = LIVE_TIMINGS;

/** A central whose published messages the test observes. */
class Bench {
  readonly sent: { readonly to: Address; readonly message: Message; readonly at: Millis }[] = [];
  readonly #central: Central;
  #publishAt: Millis | undefined;
  now = 0;

  constructor(preset: Preset = PRESETS.hawk) {
    const settings: ClusterSettings = { policy: { ...DEFAULT_POLICY, preset }, timings: LIVE_TIMINGS };
    this.#central = new Central(
      { name: 'central', self: 0 as Address, settings },
      {
        random: () => 0.5,
        send: (to, message) => void this.sent.push({ to, message, at: this.now }),
        setTimer: (timer, _key, at) => {
          if (timer === 'publish') this.#publishAt = at;
        },
        clearTimer() {},
        nameOf: String,
      },
    );
  }

  register(worker: number): void {
    const from = (1 + worker) as Address;
    this.#central.receive(from, registration(`w${worker}`), this.now);
  }

  /** Enlists a scheduler, by default without a durable journal. */
  enlist(from: Address, more: Partial<MessageOf<'enlist'>> = {}): void {
    const said = { name: 's', tag: 's', endpoint: '', durable: false, draining: false, http: undefined };
    this.#central.receive(
      from,
      { type: 'enlist', ...said, epoch: 0, adopted: false, previousIncarnations: [], ...more },
      this.now,
    );
  }

  leave(from: Address): void {
    this.#central.receive(from, { type: 'leave' }, this.now);
  }

  resync(worker: number): void {
    this.#central.receive((1 + worker) as Address, { type: 'resync' }, this.now);
  }

  heartbeat(worker: number): void {
    this.#central.receive(
      (1 + worker) as Address,
      { type: 'heartbeat', busy: 0, queued: 0, used: undefined },
      this.now,
    );
  }

  runTo(time: Millis): void {
    while (this.#publishAt !== undefined && this.#publishAt <= time) {
      this.now = this.#publishAt;
      this.#publishAt = undefined;
      this.#central.wake('publish', 0, this.now);
    }
    this.now = time;
  }

  get peers() {
    return this.sent.filter(({ message }) => message.type === 'peers');
  }
}

/** All previous workers rejoin a restarted central within one heartbeat. */
function restarted(workers: number): Bench {
  const bench = new Bench();
  for (let i = 0; i < workers; i++) {
    bench.runTo((i * heartbeatMs) / workers);
    bench.register(i);
  }
  bench.runTo(3 * heartbeatMs);
  return bench;
}

test('thousands of workers that join within a heartbeat receive few updates each', () => {
  const workers = 10_000;
  const bench = restarted(workers);
  expect(bench.peers.length).toBeLessThan(5 * workers);
  expect(new Set(bench.peers.map(({ to }) => to)).size).toBe(workers);
  const { message } = bench.peers.at(-1)!;
  const last = bench.peers.filter(
    (each) => 'version' in each.message && 'version' in message && each.message.version === message.version,
  );
  expect(last).toHaveLength(workers);
});

test('a few workers learn of each other immediately', () => {
  const bench = new Bench();
  bench.register(0);
  bench.runTo(publishMs);
  expect(bench.peers.map(({ to, at }) => [to, at])).toEqual([[1, publishMs]]);
});

test('workers learn of each other only if they may steal', () => {
  const notifiedOf = (preset: Preset) => {
    const bench = new Bench(preset);
    for (let i = 0; i < 3; i++) {
      bench.register(i);
      bench.runTo(bench.now + publishMs);
    }
    return bench.peers.flatMap(({ message }) => (message.type === 'peers' ? [...message.joined] : []));
  };
  expect(new Set(notifiedOf({ ...PRESETS.hawk, partition: false }))).toEqual(new Set([1, 2, 3]));
  expect(notifiedOf(PRESETS.goshawk)).toEqual([]);
});

test('a change is published within half a heartbeat in clusters of any size', () => {
  const bench = restarted(30_000);
  const before = bench.peers.length;
  bench.register(30_000);
  bench.runTo(bench.now + heartbeatMs / 2);
  expect(bench.peers.length - before).toBe(30_001);
});

test('heartbeats are answered meanwhile, except to members about to get the complete list', () => {
  const bench = restarted(1_000);
  const answered = () =>
    bench.sent.filter(({ message }) => message.type === 'heartbeatAck').map(({ to }) => to);
  bench.register(1_000);
  bench.heartbeat(0);
  bench.heartbeat(1_000);
  expect(answered()).toEqual([1]);
  bench.runTo(bench.now + heartbeatMs);
  bench.heartbeat(1_000);
  expect(answered()).toEqual([1, 1_001]);
});

test('a worker that missed a loss learns it from the complete list', () => {
  const bench = new Bench(PRESETS.goshawk);
  const scheduler = 90 as Address;
  bench.register(0);
  bench.enlist(scheduler);
  bench.runTo(heartbeatMs);
  bench.leave(scheduler);
  bench.runTo(2 * heartbeatMs);
  bench.sent.length = 0;
  bench.resync(0);
  bench.runTo(3 * heartbeatMs);
  expect(bench.peers.map(({ to, message }) => [to, message])).toMatchObject([
    [1, { since: 0, ownersLost: [scheduler] }],
  ]);
});

test.each([0, 2 * publishMs])(
  'a scheduler that returns %d ms after its loss is not lost for later requests',
  (ms) => {
    const bench = new Bench(PRESETS.goshawk);
    const scheduler = 90 as Address;
    bench.register(0);
    bench.enlist(scheduler);
    bench.runTo(heartbeatMs);
    bench.leave(scheduler);
    bench.runTo(heartbeatMs + ms);
    bench.enlist(scheduler);
    if (ms > 0) bench.sent.length = 0;
    bench.resync(0);
    bench.runTo(3 * heartbeatMs);
    expect(
      bench.peers.flatMap(({ message }) => (message.type === 'peers' ? message.ownersLost : [])),
    ).toEqual([]);
  },
);

test('workers that do not steal neither receive nor request lists of each other', () => {
  const bench = new Bench(PRESETS.goshawk);
  for (let worker = 0; worker < 50; worker++) bench.register(worker);
  bench.runTo(heartbeatMs);
  bench.sent.length = 0;
  bench.register(50);
  bench.runTo(2 * heartbeatMs);
  expect(bench.peers.map(({ to }) => to)).toEqual([51]);
  const version = (bench.peers[0]!.message as { version: number }).version;
  bench.heartbeat(0);
  bench.heartbeat(50);
  const acks = bench.sent.flatMap(({ message }) => (message.type === 'heartbeatAck' ? message.version : []));
  expect(acks).toEqual([version, version]);
  bench.enlist(200 as Address);
  bench.leave(200 as Address);
  bench.runTo(3 * heartbeatMs);
  expect(new Set(bench.peers.map(({ to }) => to)).size).toBe(51);
});

test('a scheduler that finishes the jobs of a lost one owns no keys, whether it is present or away', () => {
  const bench = new Bench();
  const owners = () => {
    const lists = bench.sent.flatMap(({ message }) => (message.type === 'members' ? [message.owners] : []));
    return lists
      .at(-1)!
      .map(({ name }) => name)
      .sort();
  };
  bench.enlist(101 as Address, { name: 'a', tag: 'a', durable: true });
  bench.enlist(102 as Address, { name: 'b', tag: 'b', durable: true, epoch: 1 });
  bench.runTo(publishMs);
  expect(owners()).toEqual(['a', 'b']);
  bench.enlist(103 as Address, { name: 'b/c', tag: 'c', durable: true, epoch: 2, adopted: true });
  bench.runTo(2 * publishMs);
  expect(owners()).toEqual(['a', 'b']);
  bench.leave(103 as Address);
  bench.runTo(3 * publishMs);
  expect(owners()).toEqual(['a', 'b']);
});
