import { type Address, LIVE_TIMINGS, type Message, type Millis, parseJobSpec, Random } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { CENTRAL, joined, loneScheduler, W1, W2, welcome } from '../lone-scheduler.fixture.js';

interface Underway {
  readonly at: Millis;
  readonly to: 'scheduler' | Address;
  readonly from: Address;
  readonly message: Message;
}

/**
 * A job of these tasks among workers that return every probe, over a network with delays, reordering and duplicates.
 *
 * @returns the maximum number of messages in flight, and the number of probes sent
 */
function underway(seed: string, workers: readonly Address[], tasks: number, forMs: Millis) {
  const random = Random.seeded(seed);
  const network: Underway[] = [];
  const timers = new Map<string, { timer: string; key: number; at: Millis }>();
  let now = 0;
  const post = (from: Address, to: 'scheduler' | Address, message: Message): void => {
    const copies = random.next() < 0.3 ? 2 : 1;
    for (let copy = 0; copy < copies; copy++)
      network.push({ at: now + 1 + 10 * random.next(), from, to, message });
  };
  const scheduler = loneScheduler(
    {},
    {
      random: () => random.next(),
      send: (to, message) => {
        if (message.type === 'probe') post(to, to, message);
      },
      setTimer: (timer, key, at) => void timers.set(`${timer} ${key}`, { timer, key, at }),
      clearTimer: (timer, key) => void timers.delete(`${timer} ${key}`),
    },
  );
  scheduler.start(0);
  scheduler.receive(CENTRAL, welcome(), 0);
  scheduler.receive(CENTRAL, joined(1, workers, 4), 0);
  scheduler.submit(
    parseJobSpec({ tasks: Array.from({ length: tasks }, () => ({ sleep: 1 })) }),
    undefined,
    0,
  );
  let most = 0;
  while (most < 1_000) {
    network.sort((one, other) => other.at - one.at);
    most = Math.max(most, network.length);
    const timer = [...timers].sort(([, one], [, other]) => one.at - other.at)[0];
    const next = network.at(-1);
    now = Math.min(next?.at ?? forMs, timer?.[1].at ?? forMs);
    if (now >= forMs) break;
    if (timer !== undefined && timer[1].at <= now) {
      timers.delete(timer[0]);
      // Central is present, so the scheduler has nothing else to do.
      scheduler.receive(
        CENTRAL,
        { type: 'heartbeatAck', version: 1, ownersVersion: 0, matching: true, waiting: undefined },
        now,
      );
      scheduler.wake(timer[1].timer as never, timer[1].key, now);
      continue;
    }
    network.pop();
    const { from, to, message } = next!;
    if (to === 'scheduler') scheduler.receive(from, message, now);
    else if (message.type === 'probe') {
      const { job, stage } = message;
      post(to, 'scheduler', { type: 'declined', job, stage, probes: 1, placed: undefined });
    }
  }
  return { most, sent: scheduler.counters.probesSent };
}

describe('probes that all workers decline', () => {
  test.each([
    ['one worker', [W1], 1],
    ['one worker, and many tasks', [W1], 20],
    ['two workers', [W1, W2], 3],
  ] as const)('do not multiply if messages are duplicated: %s', (_, workers, tasks) => {
    for (let seed = 0; seed < 10; seed++) {
      const { most, sent } = underway(`given back ${seed}`, workers, tasks, 10 * LIVE_TIMINGS.retryMs);
      expect(most).toBeLessThan(30 + 20 * tasks);
      // They are sent again anyway.
      expect(sent).toBeGreaterThan(20 * tasks);
    }
  });
});
