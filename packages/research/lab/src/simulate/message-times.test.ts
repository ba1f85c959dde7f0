import { type MeasuredMessage, type NetworkModel, PROFILE_SCHEMA } from '@goshawk/simulator';
import { expect, test } from 'vitest';
import { messageTimesOf } from './network.js';

const PHASE = {
  fromMs: 0,
  sleepLateMs: [],
  timerLateMs: [],
  submissionMs: [],
  newsMs: [],
} as const;

function measured(messages: readonly MeasuredMessage[]): NetworkModel {
  const phases = [{ ...PHASE, messages }];
  return { kind: 'measured', profile: { schema: PROFILE_SCHEMA, workersPerProcess: 1, phases } };
}

test('a round trip binds a task, and one message reports its end', () => {
  expect(messageTimesOf({ kind: 'constant', delayMs: 0.5 })).toEqual({ binding: 0.001, reporting: 0.0005 });
  expect(messageTimesOf({ kind: 'normal', meanMs: 2, deviationMs: 1, leastMs: 0 })).toEqual({
    binding: 0.004,
    reporting: 0.002,
  });
});

test('each message of a measured network has a separate mean', () => {
  const messages = [
    { type: 'ask', sameProcess: false, ms: [1, 3] },
    { type: 'run', sameProcess: false, ms: [4] },
    { type: 'ended', sameProcess: false, ms: [1, 2] },
    { type: 'steal', sameProcess: true, ms: [100] },
  ] as const;
  expect(messageTimesOf(measured(messages))).toEqual({
    binding: 0.006,
    reporting: 0.0015,
  });
});

test('a message without measurements takes as long as the others', () => {
  const messages = [{ type: 'steal', sameProcess: false, ms: [2, 4] }] as const;
  expect(messageTimesOf(measured(messages))).toEqual({
    binding: 0.006,
    reporting: 0.003,
  });
});
