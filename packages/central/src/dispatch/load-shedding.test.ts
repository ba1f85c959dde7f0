import { describe, expect, test } from 'vitest';
import { CHECK_INTERVAL_MS, LoadShedding } from './load-shedding.js';

/** Checks once per second a process that is busy for this share of the time while this many short tasks arrive. */
class Course {
  readonly shedding = new LoadShedding();
  #now = 0;
  #busyMs = 0;

  /** @returns whether central matches after each second */
  run(seconds: number, share: number, tasks: number): boolean[] {
    return Array.from({ length: seconds }, () => {
      this.#now += CHECK_INTERVAL_MS;
      this.#busyMs += share * CHECK_INTERVAL_MS;
      this.shedding.arrived(tasks);
      this.shedding.check(this.#busyMs, this.#now);
      return this.shedding.isMatching;
    });
  }
}

const falses = (count: number) => new Array<boolean>(count).fill(false);
const trues = (count: number) => new Array<boolean>(count).fill(true);

describe('matching stops', () => {
  test('after three consecutive seconds of overload', () => {
    expect(new Course().run(4, 0.9, 10_000)).toEqual([true, true, false, false]);
  });

  test('not while few tasks arrive, however busy central is', () => {
    const course = new Course();
    expect(course.run(10, 1, 99)).toEqual(trues(10));
    expect(course.run(3, 1, 100)).toEqual([true, true, false]);
  });

  test('not for short overloads', () => {
    const course = new Course();
    for (let i = 0; i < 10; i++) {
      expect(course.run(2, 1, 10_000)).toEqual(trues(2));
      expect(course.run(1, 0.7, 8_000)).toEqual(trues(1));
    }
  });
});

describe('matching resumes', () => {
  const overloaded = () => {
    const course = new Course();
    course.run(3, 0.9, 10_000);
    return course;
  };

  test('after ten seconds of much lower load', () => {
    expect(overloaded().run(10, 0.1, 6_000)).toEqual([...falses(9), true]);
  });

  test('not at nearly the same load, although central is idle without matching', () => {
    expect(overloaded().run(50, 0.1, 6_100)).toEqual(falses(50));
  });

  test('not while something else keeps central busy', () => {
    const course = overloaded();
    expect(course.run(50, 0.6, 100)).toEqual(falses(50));
    expect(course.run(10, 0.4, 100).at(-1)).toBe(true);
  });

  test('as a trial after a minute, and after a longer delay each time that the trial fails', () => {
    const course = overloaded();
    const trials: number[] = [];
    for (let second = 1; second <= 1_000; second++) {
      const isMatching = course.shedding.isMatching;
      course.run(1, isMatching ? 1 : 0.1, 10_000);
      if (!isMatching && course.shedding.isMatching) trials.push(second);
    }
    const pauses = trials.map((at, i) => at - (trials[i - 1] ?? 0));
    expect(pauses).toEqual([60, 123, 243, 483]);
  });
});
