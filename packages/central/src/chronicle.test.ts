import { type Address, DEFAULT_POLICY, LIVE_TIMINGS, LOAD_LOST, type Message, PRESETS } from '@goshawk/core';
import { expect, test } from 'vitest';
import { Central } from './central.js';
import type { CentralTimer, HistorySample } from './contract.js';
import { registration } from './messages.fixture.js';

const [S1, S2, W1, W2] = [1, 2, 11, 12] as [Address, Address, Address, Address];

/** A central whose history is kept, with two schedulers and two workers. */
function started() {
  const sent: { to: Address; message: Message }[] = [];
  const samples: HistorySample[] = [];
  const due = new Map<CentralTimer, number>();
  const central = new Central(
    {
      name: 'central',
      self: 0 as Address,
      settings: { policy: { ...DEFAULT_POLICY, preset: { ...PRESETS.goshawk } }, timings: LIVE_TIMINGS },
    },
    {
      random: () => 0.5,
      send: (to, message) => sent.push({ to, message }),
      setTimer: (timer, _, at) => due.set(timer, at),
      clearTimer() {},
      nameOf: (address) => `party ${address}`,
      recordHistory: (sample) => samples.push(sample),
    },
  );
  central.start(0);
  const more = { endpoint: '', durable: true, draining: false, http: undefined, epoch: 0, adopted: false };
  for (const [address, name] of [
    [S1, 's1'],
    [S2, 's2'],
  ] as const)
    central.receive(address, { type: 'enlist', name, tag: name, ...more, previousIncarnations: [] }, 0);
  for (const address of [W1, W2]) central.receive(address, registration(`w${address}`, { slots: 4 }), 0);
  const questions = () =>
    sent.flatMap(({ to, message }) => (message.type === 'count' ? [{ to, message }] : []));
  return { central, samples, due, questions };
}

test('a point of the history has the counters of all schedulers, and a silent one delays it by seconds only', () => {
  const { central, samples, due, questions } = started();
  const first = due.get('chronicle')!;
  central.wake('chronicle', 0, first);
  expect(questions().map(({ to }) => to)).toEqual([S1, S2]);
  const [
    {
      message: { id },
    },
  ] = questions() as [ReturnType<typeof questions>[number]];
  const answer = (from: Address, completed: number, of = id): void =>
    central.receive(from, { type: 'counted', id: of, counters: { completed } }, first + 20);
  answer(S1, 5);
  expect(samples).toHaveLength(0);
  answer(S2, 7);
  answer(S2, 9);
  expect(samples).toMatchObject([
    { slots: 8, busy: 0, waiting: 0, counters: { s1: { completed: 5 }, s2: { completed: 7 } } },
  ]);
  expect(samples[0]!.workers).toMatchObject([
    { name: 'w11', slots: 4, load: 0 },
    { name: 'w12', slots: 4, load: 0 },
  ]);
  // The second scheduler does not answer the next question, and answers too late.
  const second = due.get('chronicle')!;
  expect(second - first).toBe(120_000);
  central.wake('chronicle', 0, second);
  const next = questions().at(-1)!.message.id;
  central.receive(S1, { type: 'counted', id: next, counters: { completed: 6 } }, second + 20);
  expect(samples).toHaveLength(1);
  central.wake('chronicle', 0, due.get('chronicle')!);
  expect(samples[1]!.counters).toEqual({ s1: { completed: 6 } });
  answer(S2, 8, next);
  expect(samples).toHaveLength(2);
  expect(due.get('chronicle')).toBe(second + 120_000);
});

test('a lost worker is a lost one in the history, and not an idle one', () => {
  const { central, samples, due } = started();
  central.disconnected(W2, 0);
  for (let now = 0; !samples[0]?.workers.some(({ name, load }) => name === 'w12' && load === LOAD_LOST); ) {
    const [timer, at] = [...due].sort(([, one], [, other]) => one - other)[0]!;
    due.delete(timer);
    now = Math.max(now, at);
    expect(now).toBeLessThan(600_000);
    // The other worker answers in time.
    central.receive(W1, { type: 'heartbeat', busy: 3, queued: 0, used: undefined } as Message, now);
    samples.length = 0;
    central.wake(timer, 0, now);
  }
});
