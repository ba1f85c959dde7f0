import { type JobInput, LIMITS, parseJobSpec } from '@goshawk/core';
import { expect, test } from 'vitest';
import { Crashes, CrashesByProgram, programOf } from './crashes.js';

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
  for (let lost = 0; lost < 3 * LIMITS.lossesPerJobMax; lost++) crashes.attemptLost(true, lost);
  expect(crashes.exceedsLimit).toBe(true);
  for (let completed = 0; completed < 8; completed++) crashes.completed();
  expect(crashes).toMatchObject({ exceedsLimit: false, isSuspect: true });
  for (let completed = 0; completed < 8 * LIMITS.lossesPerJobMax; completed++) crashes.completed();
  expect(crashes).toMatchObject({ isSuspect: false, isClear: true });
});

test('old losses do not count', () => {
  const crashes = new Crashes();
  for (let lost = 0; lost < LIMITS.lossesPerJobMax; lost++) crashes.attemptLost(true, 0);
  crashes.attemptLost(true, 600_001);
  expect(crashes).toMatchObject({ exceedsLimit: false, isSuspect: false });
});

test('earlier losses of a job count with those of its program', () => {
  const [of, own] = [new CrashesByProgram().getOrCreate(1), new Crashes()];
  for (let lost = 0; lost < LIMITS.lossesPerJobMax; lost++) own.attemptLost(true, 5);
  of.merge(own);
  expect(of.exceedsLimit).toBe(true);
});

test('a program whose completed tasks outweigh its losses is forgotten', () => {
  const byProgram = new CrashesByProgram();
  const crashes = byProgram.getOrCreate(7);
  crashes.attemptLost(false, 0);
  expect(byProgram.find(() => 7)).toBe(crashes);
  crashes.completed();
  expect(byProgram.find(() => 7)).toBeUndefined();
});
