import { describe, expect, test } from 'vitest';
import { LateTurns, lateFrom } from './lateness.js';

describe('a job is late', () => {
  const of = (kind: 'short' | 'long', tasks: number): Parameters<typeof lateFrom>[0] => ({
    kind,
    cameAt: 500,
    estimateMs: 1_000,
    sizeMs: tasks * 1_000,
  });

  test('half its task time after it came, a long one twice that time, if it is small', () => {
    expect(lateFrom(of('short', 1), 10_000)).toBeCloseTo(1_000, 1);
    expect(lateFrom(of('long', 1), 10_000)).toBeCloseTo(2_500, 1);
  });

  test('the later the more of the cluster it asks for', () => {
    const at = (kind: 'short' | 'long') => [10, 50, 100, 300].map((tasks) => lateFrom(of(kind, tasks), 100));
    expect(at('short')).toEqual([1_250, 7_250, 26_000, 226_000]);
    expect(at('long')).toEqual([2_520, 3_000, 4_500, 20_500]);
  });

  test('after twenty task times, if it is long and asks for more than the cluster has, however much', () => {
    for (const tasks of [300, 5_000]) expect(lateFrom(of('long', tasks), 100)).toBe(20_500);
    expect(lateFrom(of('long', 200), 100)).toBe(10_500);
  });

  test('at once, if it takes no time', () => {
    expect(lateFrom({ kind: 'long', cameAt: 7, estimateMs: 0, sizeMs: 0 }, 10)).toBe(7);
    expect(lateFrom({ kind: 'long', cameAt: 7, estimateMs: 10, sizeMs: 10 }, 0)).toBe(27);
  });
});

describe('turns of late jobs', () => {
  const turns = (every: number, late: readonly boolean[]): string => {
    const lateTurns = new LateTurns(every);
    return late
      .map((isLate) => {
        const due = lateTurns.isDue;
        lateTurns.matched(isLate);
        return due ? 'L' : '-';
      })
      .join('');
  };

  test('are one of so many', () => {
    expect(turns(3, Array(9).fill(true))).toBe('--L--L--L');
    expect(turns(1, Array(3).fill(true))).toBe('LLL');
  });

  test('stay until somebody is late', () => {
    expect(turns(2, [false, false, false, true, true, true])).toBe('-LLL-L');
  });

  test('are none, if there are none', () => {
    expect(turns(0, Array(3).fill(true))).toBe('---');
  });
});
