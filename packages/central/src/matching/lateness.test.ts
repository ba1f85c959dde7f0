import { describe, expect, test } from 'vitest';
import { LateTurns, lateFrom } from './lateness.js';

describe('a long job is late', () => {
  test('twice its task time after it came, if it is small', () => {
    expect(lateFrom({ cameAt: 500, estimateMs: 1_000, sizeMs: 1_000 }, 1_000)).toBeCloseTo(2_500, 1);
  });

  test('the later the more of the cluster it asks for', () => {
    const at = (tasks: number) => lateFrom({ cameAt: 0, estimateMs: 1_000, sizeMs: tasks * 1_000 }, 100);
    expect([at(50), at(100), at(300)]).toEqual([3_250, 7_000, 47_000]);
  });

  test('at once, if it takes no time', () => {
    expect(lateFrom({ cameAt: 7, estimateMs: 0, sizeMs: 0 }, 10)).toBe(7);
    expect(lateFrom({ cameAt: 7, estimateMs: 10, sizeMs: 10 }, 0)).toBe(27);
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
