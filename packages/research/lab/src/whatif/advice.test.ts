import { describe, expect, it } from 'vitest';
import { advise, fidelity, type RunTimes, ratiosOf, type Tried } from './advice.js';

const of = (p50: number | null, p90: number | null) => ({
  count: p50 === null ? 0 : 1_000,
  mean: p50,
  p50,
  p90,
  p99: p90,
  max: p90,
});

const times = (
  shortP50: number,
  shortP90: number,
  longP50: number | null,
  longP90: number | null,
): RunTimes =>
  ({ short: of(shortP50, shortP90), long: of(longP50, longP90), all: of(shortP50, shortP90) }) as RunTimes;

const tried = (policy: string, workers: number, runtimeSeconds: RunTimes): Tried => ({
  label: `${policy} on ${workers} workers`,
  policy,
  workers,
  runtimeSeconds,
  users: [],
});

const RAN = tried('goshawk', 100, times(1, 2, 10, 20));

describe('the error of a simulation', () => {
  it('is the greatest deviation, up or down', () => {
    const { off, words } = fidelity(times(0.9, 2, 10, 22.4), RAN.runtimeSeconds);
    expect(off).toBeCloseTo(0.12);
    expect(words).toContain('short p50 −10.0%, short p90 +0.0%, long p50 +0.0%, long p90 +12.0%');
  });

  it('covers only classes with jobs', () => {
    expect(ratiosOf(times(2, 2, null, null), times(1, 2, null, null))).toEqual({
      'short p50': 2,
      'short p90': 1,
    });
  });

  it('is reported if it is more than a tenth', () => {
    expect(advise(RAN, [], 0.09).join()).not.toContain('off the recorded times');
    expect(advise(RAN, [], 0.21).at(-1)).toContain('up to 21% off the recorded times');
  });
});

describe('advice', () => {
  it('warns about few jobs', () => {
    const { all } = RAN.runtimeSeconds;
    const few = { ...RAN, runtimeSeconds: { ...RAN.runtimeSeconds, all: { ...all, count: 7 } } as RunTimes };
    expect(advise(few, [], 0).join()).toContain('7 jobs are too few');
    expect(advise(RAN, [], 0).join()).not.toContain('few');
  });

  it('names the fewest workers without noticeable slowdown', () => {
    const fewer = [90, 80].map((workers) => tried('goshawk', workers, times(1.05, 2.1, 10.5, 21)));
    const said = advise(RAN, [...fewer, tried('goshawk', 60, times(3, 9, 30, 60))], 0);
    expect(said).toContain('goshawk on 80 workers: users would not have noticed.');
    expect(said.find((line) => line.startsWith('goshawk on 60'))).toContain('short p50 3.0 times as long');
    expect(said.at(-1)).toMatch(/^Advice: 80 workers would have been enough/);
  });

  it('names only alternatives that are better for all classes', () => {
    const better = tried('mine', 100, times(0.5, 1, 10, 20));
    const mixed = tried('other', 100, times(0.1, 0.2, 15, 20));
    expect(advise(RAN, [mixed, better], 0).filter((line) => line.startsWith('Advice'))).toEqual([
      'Advice: mine on 100 workers would have served users better.',
    ]);
    expect(advise(RAN, [mixed], 0).at(-1)).toBe(
      'Advice: keep the current setup; none of the alternatives is better.',
    );
  });

  it('does not recommend settings that miss more deadlines', () => {
    const ran = { ...RAN, deadlines: { jobs: 40, missed: 2 } };
    const late = { ...tried('late', 100, times(0.5, 1, 5, 10)), deadlines: { jobs: 40, missed: 9 } };
    const said = advise(ran, [late], 0);
    expect(said[0]).toMatch(/9 deadlines missed instead of 2\.$/);
    expect(said.at(-1)).toMatch(/^Advice: keep the current setup/);
  });

  it('leaves the cost of more workers to the operator', () => {
    const more = tried('goshawk', 200, times(0.5, 1, 5, 10));
    expect(advise(RAN, [more], 0).at(-1)).toMatch(/^Advice: goshawk on 200 workers would have been faster/);
  });
});
