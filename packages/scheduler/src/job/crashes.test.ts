import { type JobInput, LIMITS, parseJobSpec } from '@goshawk/core';
import { expect, test } from 'vitest';
import { Crashes, CrashesByProgram, LostWorkers, programOf } from './crashes.js';

const program = (job: JobInput) => programOf(parseJobSpec(job));

test('jobs of one user that differ in numbers run the same program', () => {
  const of = (user: string, ...exec: [string, ...string[]]) => program({ user, tasks: [{ exec }] });
  expect(of('ann', 'train', '--seed=1')).toBe(of('ann', 'train', '--seed=27'));
  expect(of('ann', 'train', '--seed=1')).not.toBe(of('bob', 'train', '--seed=1'));
  expect(of('ann', 'train')).not.toBe(of('ann', 'test'));
  expect(program({ tasks: [{ sleep: 1 }] })).toBeUndefined();
});

test('losses reach a limit, and every completed task reduces them', () => {
  const crashes = new Crashes();
  for (let lost = 0; lost < 3 * LIMITS.lossesPerJobMax; lost++) crashes.attemptLost(undefined, true, lost);
  expect(crashes.exceedsLimit).toBe(true);
  for (let completed = 0; completed < 8; completed++) crashes.completed();
  expect(crashes).toMatchObject({ exceedsLimit: false, isSuspect: true });
  for (let completed = 0; completed < 8 * LIMITS.lossesPerJobMax; completed++) crashes.completed();
  expect(crashes).toMatchObject({ isSuspect: false, isClear: true });
});

test('old losses do not count', () => {
  const crashes = new Crashes();
  for (let lost = 0; lost < LIMITS.lossesPerJobMax; lost++) crashes.attemptLost(undefined, true, 0);
  crashes.attemptLost(undefined, true, 600_001);
  expect(crashes).toMatchObject({ exceedsLimit: false, isSuspect: false });
});

test('earlier losses of a job count with those of its program', () => {
  const [of, own] = [new CrashesByProgram().getOrCreate(1), new Crashes()];
  for (let lost = 0; lost < LIMITS.lossesPerJobMax; lost++) own.attemptLost(undefined, true, 5);
  of.merge(own);
  expect(of.exceedsLimit).toBe(true);
});

test('a program whose completed tasks outweigh its losses is forgotten', () => {
  const byProgram = new CrashesByProgram();
  const crashes = byProgram.getOrCreate(7);
  crashes.attemptLost(undefined, false, 0);
  expect(byProgram.find(() => 7)).toBe(crashes);
  crashes.completed();
  expect(byProgram.find(() => 7)).toBeUndefined();
});

test('the losses of one worker count at most one more than those of all others', () => {
  const lost = new LostWorkers();
  const counts = ['w0', 'w0', 'w0', 'w1', 'w2', 'w1', 'w0', undefined].map((worker) => {
    lost.add(worker);
    return lost.count;
  });
  expect(counts).toEqual([1, 1, 1, 3, 5, 6, 7, 8]);
  lost.clear();
  lost.add('w0');
  expect(lost.count).toBe(1);
});

test('losses of one worker do not make a program suspect, and those that count do so after others', () => {
  const crashes = new Crashes();
  for (let lost = 0; lost < 20; lost++) crashes.attemptLost('w0', true, lost);
  expect(crashes).toMatchObject({ isSuspect: false, exceedsLimit: false, isClear: false });
  for (let other = 1; other <= 3; other++) crashes.attemptLost(`w${other}`, true, 20);
  expect(crashes).toMatchObject({ isSuspect: true, exceedsLimit: false });
  crashes.attemptLost('w4', true, 20);
  expect(crashes.exceedsLimit).toBe(true);
});
