import { type Address, DEFAULT_POLICY, LIVE_TIMINGS, type Message, type MessageOf } from '@goshawk/core';
import { expect, test } from 'vitest';
import { Central } from '../central.js';
import { registration } from '../messages.fixture.js';

const { heartbeatMs, leaseMs } = LIVE_TIMINGS;
/** Names by address: two incarnations at one endpoint, and one elsewhere. */
const NAMES: Record<number, string> = {
  1: 'tcp://here:1!w.first/0',
  2: 'tcp://here:1!w.second/0',
  3: 'tcp://there:1!w.third/0',
};
const [FIRST, SECOND, ELSEWHERE] = [1, 2, 3] as [Address, Address, Address];

function cluster() {
  const sent: { to: Address; message: Message }[] = [];
  const rolledBack: string[] = [];
  const env = {
    random: () => 0.5,
    send: (to: Address, message: Message) => void sent.push({ to, message }),
    setTimer() {},
    clearTimer() {},
    nameOf: (address: Address) => NAMES[address] ?? '',
    journalRolledBack: (scheduler: string) => void rolledBack.push(scheduler),
  };
  const settings = { policy: DEFAULT_POLICY, timings: LIVE_TIMINGS };
  const central = new Central({ name: 'central', self: 9 as Address, settings }, env);
  central.start(0);
  const register = registration('w');
  const enlist = (tag: string): MessageOf<'enlist'> => {
    return {
      type: 'enlist',
      name: 's',
      tag,
      endpoint: '',
      durable: true,
      draining: false,
      http: undefined,
      ...OWN,
    };
  };
  /** @returns the messages to the party */
  const says = (from: Address, message: Message, now: number): string[] => {
    central.receive(from, message, now);
    return sent.splice(0).flatMap(({ to, message: { type } }) => (to === from ? type : []));
  };
  return { central, says, register, enlist, rolledBack };
}

const heartbeat: Message = { type: 'heartbeat', busy: 0, queued: 0, used: undefined };

const OWN = { epoch: 0, adopted: false, previousIncarnations: [] };

test('a second worker of the same name is refused, and the first is unharmed', () => {
  const { central, says, register } = cluster();
  says(FIRST, register, 0);
  for (let now = heartbeatMs; now < 20 * heartbeatMs; now += heartbeatMs) {
    says(FIRST, heartbeat, now);
    expect(says(ELSEWHERE, register, now + heartbeatMs / 2)).toEqual(['nameTaken']);
  }
  expect(central.counters).toMatchObject({ workersJoined: 1, workersLost: 0 });
});

test('a worker that returns at its old address is recognized immediately', () => {
  const { central, says, register } = cluster();
  says(FIRST, register, 0);
  expect(says(SECOND, register, 10)).toEqual(['welcome']);
  expect(central.counters).toMatchObject({ workersJoined: 2, workersLost: 1 });
});

test.each([
  ['worker', 'its name', undefined, undefined],
  ['scheduler', 'its name', 'one', 'two'],
  ['scheduler', 'its journal', 'one', 'one'],
])(
  'a %s elsewhere gets %s only once the lease of the silent holder has ended',
  (_role, _what, own, other) => {
    const { central, says, register, enlist } = cluster();
    const asks = (tag: string | undefined): Message => (tag === undefined ? register : enlist(tag));
    says(FIRST, asks(own), 0);
    for (let now = 1; now < leaseMs; now += heartbeatMs / 4) {
      central.wake('lease', 0, now);
      expect(says(ELSEWHERE, asks(other), now)).toEqual(['nameTaken']);
    }
    for (let now = leaseMs; now <= 2 * leaseMs; now += heartbeatMs) central.wake('lease', 0, now);
    expect(says(ELSEWHERE, asks(other), 2 * leaseMs)).toEqual(['welcome']);
  },
);

test('a scheduler elsewhere gets the journal as soon as the connection of the previous holder broke', () => {
  const { central, says, enlist } = cluster();
  says(FIRST, enlist('one'), 0);
  central.disconnected(FIRST, 10);
  expect(says(ELSEWHERE, enlist('one'), 20)).toEqual(['welcome']);
});

test.each(['s', 'another name'])('a copy of the journal of a live scheduler is refused, as %s', (name) => {
  const { central, says, enlist } = cluster();
  says(FIRST, enlist('one'), 0);
  for (let now = heartbeatMs; now < 20 * heartbeatMs; now += heartbeatMs) {
    says(FIRST, heartbeat, now);
    const copy = { ...enlist('one'), name, previousIncarnations: [FIRST] };
    expect(says(ELSEWHERE, copy, now + heartbeatMs / 2)).toEqual(['nameTaken']);
  }
  expect(central.counters.schedulersLost).toBe(0);
});

test('of two schedulers with a shared journal the one with the later epoch has it, and an equal epoch is a copy', () => {
  const { says, enlist } = cluster();
  says(FIRST, { ...enlist('one'), epoch: 3 }, 0);
  expect(says(ELSEWHERE, { ...enlist('one'), epoch: 3 }, 10)).toEqual(['nameTaken']);
  expect(says(ELSEWHERE, { ...enlist('one'), epoch: 4 }, 20)).toEqual(['welcome']);
});

test('a scheduler whose journal lacks its previous incarnation has lost records', () => {
  const { central, says, enlist, rolledBack } = cluster();
  const next = (from: Address, previousIncarnations: Address[], now: number) =>
    says(from, { ...enlist('one'), previousIncarnations } as Message, now);
  next(FIRST, [], 0);
  next(SECOND, [FIRST], 10);
  expect(rolledBack).toEqual([]);
  central.disconnected(SECOND, 15);
  // Reported once, regardless of repeated registrations.
  for (const now of [20, 30]) next(ELSEWHERE, [FIRST], now);
  expect(rolledBack).toEqual(['s']);
  says(ELSEWHERE, { type: 'leave' }, 40);
  next(FIRST, [SECOND], 50);
  expect(rolledBack).toEqual(['s', 's']);
});
