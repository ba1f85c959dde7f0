import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Alarms } from './alarms.js';

describe('alarms', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('fire in the order of their times, in any order of setting', () => {
    const alarms = new Alarms();
    const rung: string[] = [];
    const start = performance.now();
    alarms.add(() => rung.push('late')).set(start + 30);
    alarms.add(() => rung.push('early')).set(start + 10);
    vi.advanceTimersByTime(9);
    expect(rung).toEqual([]);
    vi.advanceTimersByTime(50);
    expect(rung).toEqual(['early', 'late']);
  });

  test('fire once, at the time that was set last', () => {
    const alarms = new Alarms();
    const rung: number[] = [];
    const start = performance.now();
    const alarm = alarms.add((now) => rung.push(now - start));
    alarm.set(start + 10);
    alarm.set(start + 40);
    vi.advanceTimersByTime(100);
    // One turn later, for which the test's clock advances by a millisecond.
    expect(rung).toEqual([41]);
  });

  test('do not fire once cleared, even if another alarm has reused the place', () => {
    const alarms = new Alarms();
    const rung: string[] = [];
    const start = performance.now();
    const first = alarms.add(() => rung.push('first'));
    first.set(start + 10);
    first.clear();
    const second = alarms.add(() => rung.push('second'));
    second.set(start + 20);
    first.set(start + 5);
    first.clear();
    vi.advanceTimersByTime(100);
    expect(rung).toEqual(['second']);
  });

  test('may set themselves again when they fire', () => {
    const alarms = new Alarms();
    let rung = 0;
    const alarm = alarms.add((now) => {
      if (++rung < 3) alarm.set(now + 10);
    });
    alarm.set(performance.now() + 10);
    vi.advanceTimersByTime(100);
    expect(rung).toBe(3);
  });

  test('share one timer', () => {
    const alarms = new Alarms();
    for (let i = 0; i < 1_000; i++) alarms.add(() => {}).set(performance.now() + 1_000 + i);
    expect(vi.getTimerCount()).toBe(1);
    alarms.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});
