import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { TimerQueue } from './timers.js';

const DAY_MS = 86_400_000;

/** An alarm that the test triggers. */
function manualAlarm() {
  let toRing = (): void => {};
  const alarm = {
    setFor: (_: number, ring: () => void) => {
      toRing = ring;
    },
    clear: () => {},
  };
  return { alarm, ring: () => toRing() };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function setUp() {
  const clock = () => performance.now();
  const queue = new TimerQueue(clock);
  const fired: string[] = [];
  const start = clock();
  const timers = queue.forMachine((timer, key) => fired.push(`${timer}/${key} at ${clock() - start}`));
  return { queue, timers, fired, start };
}

describe('timers of machines', () => {
  test('fire in the order of their times, once', () => {
    const { timers, fired, start } = setUp();
    timers.set('b', 0, start + 20);
    timers.set('a', 7, start + 10);
    timers.set('a', 8, start + 30);
    vi.advanceTimersByTime(1_000);
    expect(fired).toEqual(['a/7 at 10', 'b/0 at 20', 'a/8 at 30']);
  });

  test('report their lateness, which is the event loop delay', () => {
    let now = 0;
    const { alarm, ring } = manualAlarm();
    const queue = new TimerQueue(() => now, alarm);
    queue.forMachine(() => {}).set('a', 0, 100);
    now = 99;
    ring();
    expect(queue.lateMs.count).toBe(0);
    now = 130;
    ring();
    expect({ count: queue.lateMs.count, sum: queue.lateMs.sum }).toEqual({ count: 1, sum: 30 });
  });

  test('move when they are set again, to a later or earlier time', () => {
    const { timers, fired, start } = setUp();
    timers.set('later', 0, start + 10);
    timers.set('earlier', 0, start + 40);
    timers.set('later', 0, start + 30);
    timers.set('earlier', 0, start + 20);
    vi.advanceTimersByTime(1_000);
    expect(fired).toEqual(['earlier/0 at 20', 'later/0 at 30']);
  });

  test('do not fire after they were cleared, and clearing an unset timer is harmless', () => {
    const { queue, timers, fired, start } = setUp();
    timers.set('a', 0, start + 10);
    timers.clear('a', 0);
    timers.clear('a', 0);
    timers.clear('b', 1);
    vi.advanceTimersByTime(1_000);
    expect(fired).toEqual([]);
    expect(queue.size).toBe(0);
  });

  test('of two machines are separate, even with the same name', () => {
    const { queue, timers, fired, start } = setUp();
    const others: string[] = [];
    const other = queue.forMachine((timer, key) => others.push(`${timer}/${key}`));
    timers.set('a', 0, start + 10);
    other.set('a', 0, start + 10);
    timers.clear('a', 0);
    vi.advanceTimersByTime(1_000);
    expect(fired).toEqual([]);
    expect(others).toEqual(['a/0']);
  });

  test('are never early, although Node’s may be', () => {
    const { timers, fired, start } = setUp();
    timers.set('a', 0, start + 10.4);
    const early = vi.spyOn(performance, 'now').mockReturnValue(start + 10.3);
    vi.advanceTimersByTime(11);
    expect(fired).toEqual([]);
    early.mockRestore();
    vi.advanceTimersByTime(1);
    expect(fired).toEqual(['a/0 at 12']);
  });

  test('may be longer than the longest Node timer', () => {
    const { timers, fired, start } = setUp();
    timers.set('a', 0, start + 60 * DAY_MS);
    timers.set('never', 0, Number.POSITIVE_INFINITY);
    vi.advanceTimersByTime(60 * DAY_MS - 1);
    expect(fired).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(fired).toEqual([`a/0 at ${60 * DAY_MS}`]);
  });

  test('in the past fire in the next turn, not immediately', () => {
    const { timers, fired, start } = setUp();
    timers.set('a', 0, start - 5);
    expect(fired).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(fired).toEqual(['a/0 at 1']);
  });

  test('set for now by a timer leave time for other work', () => {
    const queue = new TimerQueue(() => performance.now());
    let wakes = 0;
    const timers = queue.forMachine((timer, key) => {
      wakes++;
      timers.set(timer, key, performance.now());
    });
    timers.set('a', 0, 0);
    vi.advanceTimersToNextTimer();
    expect(wakes).toBe(1);
    vi.advanceTimersToNextTimer();
    expect(wakes).toBe(2);
    queue.close();
  });

  test('set for now by a timer wait for the next turn, for any number of timers', () => {
    let now = 0;
    const { alarm, ring } = manualAlarm();
    const queue = new TimerQueue(() => now, alarm);
    let pieces = 0;
    const timers = queue.forMachine((timer, key) => {
      if (timer !== 'chunk') return;
      pieces++;
      // The work takes some time.
      now += 10;
      timers.set(timer, key, now);
    });
    for (let key = 0; key < 100; key++) timers.set('later', key, 1_000_000);
    timers.set('chunk', 0, 0);
    ring();
    expect(pieces).toBe(1);
    ring();
    expect(pieces).toBe(2);
  });

  test('may be set and cleared by a timer', () => {
    const queue = new TimerQueue(() => performance.now());
    const fired: string[] = [];
    const start = performance.now();
    const timers = queue.forMachine((timer) => {
      fired.push(timer);
      timers.clear('cleared', 0);
      if (timer === 'first') timers.set('set', 0, start + 5);
    });
    timers.set('first', 0, start + 10);
    timers.set('cleared', 0, start + 10);
    timers.set('last', 0, start + 11);
    vi.advanceTimersByTime(1_000);
    expect(fired).toEqual(['first', 'set', 'last']);
  });

  test('need one Node timer for any number of timers', () => {
    const { queue, timers, start } = setUp();
    for (let key = 0; key < 10_000; key++) timers.set('a', key, start + 1_000 + key);
    expect(queue.size).toBe(10_000);
    expect(vi.getTimerCount()).toBe(1);
    queue.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('with an invalid time are a bug of the machine', () => {
    const { timers } = setUp();
    expect(() => timers.set('a', 3, Number.NaN)).toThrow('timer a/3 was set to an invalid time');
  });

  test('with the same time fire in the order in which they were set, whatever was cleared before', () => {
    const { timers, fired, start } = setUp();
    for (const timer of ['a', 'b', 'c', 'd']) timers.set(timer, 0, start + 10);
    timers.clear('a', 0);
    timers.clear('c', 0);
    timers.set('b', 0, start + 10);
    timers.set('e', 0, start + 10);
    timers.set('a', 0, start + 10);
    vi.advanceTimersByTime(10);
    expect(fired).toEqual(['d/0 at 10', 'b/0 at 10', 'e/0 at 10', 'a/0 at 10']);
  });

  test('do not fire if another with the same time has cleared, moved or closed them', () => {
    const queue = new TimerQueue(() => performance.now());
    const fired: string[] = [];
    const start = performance.now();
    const timers = queue.forMachine((timer) => {
      fired.push(timer);
      if (timer === 'first') {
        timers.clear('cleared', 0);
        timers.clear('again', 0);
        timers.set('again', 0, start + 12);
        timers.set('moved', 0, start + 11);
      }
      if (timer === 'closing') queue.close();
    });
    for (const timer of ['first', 'cleared', 'again', 'moved', 'last']) timers.set(timer, 0, start + 10);
    for (const timer of ['closing', 'closed']) timers.set(timer, 0, start + 20);
    vi.advanceTimersByTime(100);
    expect(fired).toEqual(['first', 'last', 'moved', 'again', 'closing']);
  });

  test('in the past do not fire before earlier ones set for now', () => {
    const { timers, fired, start } = setUp();
    timers.set('now', 0, start);
    timers.set('past', 0, start - 5);
    vi.advanceTimersByTime(1);
    expect(fired).toEqual(['now/0 at 1', 'past/0 at 1']);
  });

  test('fire in the order of a list sorted by time, whatever is set, moved and cleared', () => {
    const action = fc.record({
      key: fc.nat(9),
      at: fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const { queue, timers, fired, start } = setUp();
        const model = new Map<number, number>();
        for (const { key, at } of actions) {
          // Timers with equal times fire in the order of setting, but a Map keeps the position of a key's first insertion.
          model.delete(key);
          if (at === undefined) timers.clear('t', key);
          else {
            timers.set('t', key, start + at);
            model.set(key, at);
          }
        }
        vi.advanceTimersByTime(100);
        const inOrder = [...model].sort(([, one], [, other]) => one - other);
        expect(fired).toEqual(inOrder.map(([key, at]) => `t/${key} at ${at}`));
        queue.close();
      }),
    );
  });
});
