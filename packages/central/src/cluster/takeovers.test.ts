import {
  type Address,
  DEFAULT_POLICY,
  LIVE_TIMINGS,
  type Message,
  type MessageOf,
  type Millis,
} from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { Central } from '../central.js';

const { heartbeatMs, leaseMs } = LIVE_TIMINGS;
const [A, B, C] = [1, 2, 3] as [Address, Address, Address];

interface Said {
  readonly to: Address;
  readonly at: Millis;
  readonly message: Message;
}

/** A central with a controlled lease timer, and schedulers with shared journals. */
class Bench {
  readonly #said: Said[] = [];
  readonly #central: Central;
  readonly #jobs = new Map<Address, number>();
  #leaseAt: Millis = Number.POSITIVE_INFINITY;
  #now: Millis = 0;

  constructor() {
    this.#central = new Central(
      {
        name: 'central',
        self: 9 as Address,
        settings: { policy: DEFAULT_POLICY, timings: LIVE_TIMINGS },
      },
      {
        random: () => 0.5,
        send: (to, message) => void this.#said.push({ to, at: this.#now, message }),
        setTimer: (timer, _key, at) => {
          if (timer === 'lease') this.#leaseAt = at;
        },
        clearTimer() {},
        nameOf: (address) => `tcp://host${address}:1!s/0`,
      },
    );
    this.#central.start(0);
  }

  enlist(from: Address, epoch = 1, tag = `tag${from}`): void {
    const place = { name: `s${from}`, tag, endpoint: `tcp://host${from}:1`, http: undefined };
    const owned = {
      epoch,
      adopted: tag !== `tag${from}`,
      previousIncarnations: [],
      durable: true,
      draining: false,
    };
    this.#central.receive(from, { type: 'enlist', ...place, ...owned }, this.#now);
  }

  /** Sends a heartbeat in every interval from now on, with this many jobs. */
  beats(from: Address, jobs: number): void {
    this.#jobs.set(from, jobs);
    this.#beat(from);
  }

  /** Requests a takeover as a client would. */
  want(scheduler: string): void {
    this.#central.receive(C, { type: 'takeOverFrom', request: 1, scheduler }, this.#now);
  }

  silence(...those: Address[]): void {
    for (const each of those) this.#jobs.delete(each);
  }

  /** Advances the time in steps that are not multiples of any interval. */
  until(end: Millis): void {
    let beatAt = this.#now;
    while (this.#now < end) {
      this.#now = Math.min(end, this.#leaseAt, beatAt);
      if (this.#now === this.#leaseAt) {
        this.#leaseAt = Number.POSITIVE_INFINITY;
        this.#central.wake('lease', 0, this.#now);
      }
      if (this.#now !== beatAt) continue;
      for (const each of this.#jobs.keys()) this.#beat(each);
      beatAt += heartbeatMs * 0.37;
    }
  }

  /** Takeover requests since the last call, without repetitions. */
  asked(): { to: Address; at: Millis; of: string }[] {
    const asked: { to: Address; at: Millis; of: string }[] = [];
    for (const { to, at, message } of this.#said.splice(0)) {
      if (message.type !== 'takeOver') continue;
      if (!asked.some((before) => before.to === to && before.of === message.tag))
        asked.push({ to, at, of: message.tag });
    }
    return asked;
  }

  sentTo(to: Address): Message[] {
    return this.#said.splice(0).flatMap((said) => (said.to === to ? said.message : []));
  }

  #beat(from: Address): void {
    const heartbeat: MessageOf<'heartbeat'> = {
      type: 'heartbeat',
      busy: this.#jobs.get(from)!,
      queued: 0,
      used: undefined,
    };
    this.#central.receive(from, heartbeat, this.#now);
  }
}

describe('the jobs of a lost scheduler', () => {
  test('are taken over when its lease ends, not at the periodic check', () => {
    for (const lastSeen of [0.1, 0.5, 0.9].map((part) => part * heartbeatMs)) {
      const bench = new Bench();
      for (const scheduler of [A, B]) bench.enlist(scheduler);
      bench.beats(B, 0);
      bench.until(lastSeen);
      bench.beats(A, 5);
      bench.silence(A);
      bench.until(lastSeen + leaseMs + heartbeatMs / 20);
      expect(bench.asked()).toEqual([{ to: B, at: lastSeen + leaseMs, of: 'tag1' }]);
    }
  });

  test('go to the least loaded scheduler, or to another if that is lost too', () => {
    const bench = new Bench();
    for (const scheduler of [A, B, C]) bench.enlist(scheduler);
    bench.beats(B, 7);
    bench.beats(C, 3);
    bench.until(leaseMs);
    expect(bench.asked()).toMatchObject([{ to: C, of: 'tag1' }]);
    bench.silence(C);
    bench.until(3 * leaseMs);
    expect(new Set(bench.asked().flatMap(({ to, of }) => (to === B ? of : [])))).toEqual(
      new Set(['tag1', 'tag3']),
    );
  });

  test('belong only to their new owner, and the old one is notified', () => {
    const bench = new Bench();
    for (const scheduler of [A, B]) bench.enlist(scheduler);
    bench.enlist(B, 2, 'tag1');
    bench.sentTo(A);
    bench.enlist(A);
    expect(bench.sentTo(A)).toEqual([{ type: 'superseded', epoch: 2 }]);
  });

  test.each([5, 11, 60])('are kept for a new owner even after %i minutes', (minutes) => {
    const bench = new Bench();
    for (const scheduler of [A, B]) bench.enlist(scheduler);
    bench.beats(A, 50);
    bench.beats(B, 50);
    bench.silence(A, B);
    bench.until(leaseMs + minutes * 60_000);
    bench.asked();
    bench.enlist(C, 2, 'tag1');
    bench.enlist(C);
    bench.beats(C, 0);
    bench.until(leaseMs + minutes * 60_000 + 2 * heartbeatMs);
    expect(bench.asked()).toMatchObject([{ to: C, of: 'tag2' }]);
    bench.want('s2');
    expect(bench.sentTo(C)).toContainEqual(
      expect.objectContaining({ type: 'takeover', value: { scheduler: 's2', jobs: 50, schedulers: 1 } }),
    );
  });
});
