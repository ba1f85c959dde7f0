import { expect } from 'vitest';
import type { Recorder } from '../recorder.js';
import type { Behaviour } from './behaviour.js';

/** Sets timers of one machine for times counted from now. */
function setTimers(recorder: Recorder, timers: Readonly<Record<string, number>>): void {
  recorder.do((environment, now) => {
    for (const [name, afterMs] of Object.entries(timers)) environment.setTimer(name, 0, now + afterMs);
  });
}

export const TIMERS: readonly Behaviour[] = [
  {
    name: 'a timer fires once, at its time or a little later, never before',
    prove(bench) {
      const one = bench.recorder('w1');
      bench.run(3);
      const now = bench.driver.now;
      setTimers(one, { a: 10, b: 20.25, c: 5 });
      bench.run(100);
      expect(one.seen).toEqual(['c/0', 'a/0', 'b/0']);
      one.expectAt('c/0', now + 5);
      one.expectAt('a/0', now + 10);
      one.expectAt('b/0', now + 20.25);
    },
  },
  {
    name: 'setting a timer again moves it, to later or earlier',
    prove(bench) {
      const one = bench.recorder('w1');
      setTimers(one, { later: 10, earlier: 40 });
      setTimers(one, { later: 30, earlier: 20 });
      bench.run(100);
      expect(one.seen).toEqual(['earlier/0', 'later/0']);
      one.expectAt('earlier/0', 20);
      one.expectAt('later/0', 30);
    },
  },
  {
    name: 'a cleared timer does not fire, and clearing an unset timer has no effect',
    prove(bench) {
      const one = bench.recorder('w1');
      setTimers(one, { cleared: 10, left: 10 });
      one.do((environment) => {
        environment.clearTimer('cleared', 0);
        environment.clearTimer('cleared', 0);
        environment.clearTimer('never', 7);
      });
      bench.run(100);
      expect(one.seen).toEqual(['left/0']);
    },
  },
  {
    name: 'a timer that is cleared and set again fires once, at the new time',
    prove(bench) {
      const one = bench.recorder('w1');
      setTimers(one, { a: 10 });
      one.do((environment, now) => {
        environment.clearTimer('a', 0);
        environment.setTimer('a', 0, now + 20);
      });
      bench.run(100);
      expect(one.seen).toEqual(['a/0']);
      one.expectAt('a/0', 20);
    },
  },
  {
    name: 'a timer that is cleared or moved at the instant when it is due does not fire then',
    prove(bench) {
      const one = bench.recorder('w1');
      one.on = (what, now) => {
        if (what !== 'first/0') return;
        one.environment.clearTimer('cleared', 0);
        one.environment.setTimer('moved', 0, now + 20);
      };
      setTimers(one, { first: 10, cleared: 10, moved: 10, last: 10 });
      bench.run(100);
      expect(one.seen).toEqual(['first/0', 'last/0', 'moved/0']);
      one.expectAt('moved/0', 30);
    },
  },
  {
    name: 'a timer for now or the past fires immediately, but not within the call that sets it',
    prove(bench) {
      const one = bench.recorder('w1');
      bench.run(50);
      one.do((environment, now) => {
        environment.setTimer('now', 0, now);
        environment.setTimer('past', 0, now - 20);
        environment.setTimer('soon', 0, now + 10);
        expect(one.seen).toEqual([]);
      });
      bench.run(20);
      expect(one.seen).toEqual(['now/0', 'past/0', 'soon/0']);
      one.expectAt('now/0', 50);
      one.expectAt('past/0', 50);
    },
  },
  {
    name: 'timers for the same instant fire in the order in which they were last set',
    prove(bench) {
      const one = bench.recorder('w1');
      setTimers(one, { d: 10, a: 10, e: 10, c: 10, b: 10 });
      one.do((environment, now) => {
        environment.clearTimer('d', 0);
        environment.setTimer('e', 0, now + 10);
        environment.setTimer('f', 0, now + 10);
        environment.setTimer('d', 0, now + 10);
      });
      bench.run(100);
      expect(one.seen).toEqual(['a/0', 'c/0', 'b/0', 'e/0', 'f/0', 'd/0']);
    },
  },
  {
    name: 'timers differ if their name, their key or their machine differs',
    prove(bench) {
      const one = bench.recorder('w1');
      const two = bench.recorder('w2');
      one.do((environment, now) => {
        environment.setTimer('a', 1, now + 10);
        environment.setTimer('b', 1, now + 10);
        environment.setTimer('a', 11, now + 10);
        environment.clearTimer('a', 1);
      });
      two.do((environment, now) => environment.setTimer('a', 1, now + 10));
      one.do((environment) => environment.clearTimer('a', 11));
      bench.run(100);
      expect(one.seen).toEqual(['b/1']);
      expect(two.seen).toEqual(['a/1']);
    },
  },
  {
    name: 'a timer that sets itself again for now fires again, and does not starve others',
    prove(bench) {
      const one = bench.recorder('w1');
      const two = bench.recorder('w2');
      let left = 3;
      one.on = (what, now) => {
        if (what === 'a/0' && left-- > 0) one.environment.setTimer('a', 0, now);
      };
      setTimers(one, { a: 10 });
      setTimers(two, { b: 10 });
      bench.run(100);
      expect(one.seen).toEqual(['a/0', 'a/0', 'a/0', 'a/0']);
      expect(two.seen).toEqual(['b/0']);
    },
  },
  {
    name: 'a timer at infinity never fires, and replaces the previous one',
    prove(bench) {
      const one = bench.recorder('w1');
      setTimers(one, { never: 10, other: 20 });
      setTimers(one, { never: Number.POSITIVE_INFINITY });
      bench.run(1e9);
      expect(one.seen).toEqual(['other/0']);
    },
  },
  {
    name: 'a timer without a time is reported as a bug of the machine',
    prove(bench) {
      const one = bench.recorder('w1');
      expect(() => setTimers(one, { a: Number.NaN })).toThrow('timer a/0 was set to an invalid time');
    },
  },
];
