import { PROFILE_SCHEMA } from '@goshawk/simulator';
import { expect, test } from 'vitest';
import { messageTimesOf } from './message-times.js';

const PROFILE = {
  schema: PROFILE_SCHEMA,
  workersPerProcess: 1,
  sleepLateMs: [],
  timerLateMs: [],
  submissionMs: [],
  newsMs: [],
} as const;

test('a round trip binds a task, and one way the news of its end comes', () => {
  expect(messageTimesOf({ kind: 'constant', delayMs: 0.5 })).toEqual({ binding: 0.001, news: 0.0005 });
  expect(messageTimesOf({ kind: 'normal', meanMs: 2, deviationMs: 1, leastMs: 0 })).toEqual({
    binding: 0.004,
    news: 0.002,
  });
});

test('in a measured network each way has its own mean', () => {
  const messages = [
    { from: 'worker', to: 'scheduler', sameProcess: false, ms: [1, 3] },
    { from: 'scheduler', to: 'worker', sameProcess: false, ms: [4] },
    { from: 'worker', to: 'worker', sameProcess: true, ms: [100] },
  ] as const;
  expect(messageTimesOf({ kind: 'measured', profile: { ...PROFILE, messages } })).toEqual({
    binding: 0.006,
    news: 0.002,
  });
});

test('a way that was not measured is as long as the others', () => {
  const messages = [{ from: 'worker', to: 'worker', sameProcess: false, ms: [2, 4] }] as const;
  expect(messageTimesOf({ kind: 'measured', profile: { ...PROFILE, messages } })).toEqual({
    binding: 0.006,
    news: 0.003,
  });
});
