import type { Millis } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { Bench, OWNER, record, worker } from './matcher-bench.fixture.js';

describe('patience', () => {
  test('a long job waits no longer than the bound behind an endless stream of short ones', () => {
    const bench = new Bench({ patience: 5 }, 1);
    bench.need(1);
    bench.need(1_000, { long: true, tasks: 3, estimateMs: 9_000 });
    const waits: Millis[] = [];
    let match = 1;
    for (let job = 2; job < 200; job++) {
      bench.now += 100;
      bench.need(job);
      bench.pull(0, { heard: [match++] });
      if (bench.taken().some((at) => at.startsWith('1000@'))) waits.push(bench.now);
    }
    expect(waits).toEqual([5_000, 10_000, 15_000]);
  });

  test('a large long job takes turns with an endless stream of smaller ones, in the slots that long tasks may use', () => {
    const bench = new Bench({ longPatience: 2 }, 1);
    bench.need(1, { long: true, estimateMs: 1_000 });
    bench.need(1_000, { long: true, tasks: 3, estimateMs: 9_000 });
    const waits: Millis[] = [];
    let match = 1;
    for (let job = 2; job < 100; job++) {
      bench.now += 100;
      bench.need(job, { long: true, estimateMs: 1_000 });
      if (job === 50) bench.need(500);
      bench.pull(0, { heard: [match++] });
      const [taken] = bench.taken();
      if (taken === '1000@0') waits.push(bench.now);
      if (job === 50) expect(taken).toBe('500@0');
    }
    expect(waits).toEqual([2_000, 4_000, 6_000]);
  });

  test('every other slot that long tasks may use goes to a long job that is late, whatever its work is believed to be', () => {
    const play = (lateTurns: number): string[] => {
      const bench = new Bench({ lateTurns }, 10);
      bench.need(1, { long: true, tasks: 10, estimateMs: 60_000 });
      bench.taken();
      bench.need(1_000, { long: true, tasks: 3, estimateMs: 1_000 });
      // Pilots have told: it is larger than all others, and late after 2 × 4 s and 2 × 0.3² × 4 s.
      bench.need(1_000, { long: true, tasks: 3, estimateMs: 4_000 });
      const taken: string[] = [];
      for (let job = 2; job < 18; job++) {
        bench.now += 1_000;
        bench.need(job, { long: true, estimateMs: 1_000 });
        if (job === 12) bench.need(500);
        bench.pull(0, { heard: [job - 1] });
        for (const at of bench.taken()) taken.push(`${bench.now / 1_000} s: ${at.split('@')[0]}`);
      }
      return taken.filter((at) => at.endsWith('00'));
    };
    expect(play(0)).toEqual(['11 s: 500']);
    expect(play(2)).toEqual(['9 s: 1000', '11 s: 500', '12 s: 1000', '14 s: 1000']);
  });

  test('a large short job does not wait behind an endless stream of long ones that have little to do', () => {
    const play = (lateShort: boolean): string[] => {
      const bench = new Bench({ longWeight: 8, lateShort }, 10);
      bench.need(1, { long: true, tasks: 10, estimateMs: 60_000 });
      bench.taken();
      bench.need(500, { tasks: 2, estimateMs: 900 });
      const taken: string[] = [];
      for (let job = 2; job < 18; job++) {
        bench.now += 200;
        // Late when 500 is, but it came later.
        bench.need(job, { long: true, estimateMs: 1_000 });
        if (job === 8) bench.need(600, { tasks: 1, estimateMs: 100 });
        bench.pull(0, { heard: [job - 1] });
        for (const at of bench.taken()) taken.push(`${bench.now} ms: ${at.split('@')[0]}`);
      }
      return taken.filter((at) => at.endsWith('00'));
    };
    expect(play(false)).toEqual(['1400 ms: 600']);
    // Late after 450 ms and 25 × 0.2² × 900 ms.
    expect(play(true)).toEqual(['1400 ms: 600', '1600 ms: 500', '1800 ms: 500']);
  });

  test('jobs that are about as large come in the order in which they came once they are late, much smaller ones before them', () => {
    const play = (lateShort: boolean): string[] => {
      const bench = new Bench({ lateShort }, 10);
      bench.need(1, { tasks: 10, estimateMs: 60_000 });
      bench.taken();
      // Late after 500 ms and 25 × 0.1² × 1,000 ms.
      bench.need(500, { estimateMs: 1_000 });
      const taken: string[] = [];
      for (let job = 2; job < 12; job++) {
        bench.now += 200;
        bench.need(job, { estimateMs: 510 + job });
        if (job === 5) bench.need(600, { estimateMs: 400 });
        bench.pull(0, { heard: [job - 1] });
        for (const at of bench.taken()) taken.push(`${bench.now} ms: ${at.split('@')[0]}`);
      }
      return taken.filter((at) => at.endsWith('00'));
    };
    expect(play(false)).toEqual(['800 ms: 600']);
    expect(play(true)).toEqual(['800 ms: 600', '1000 ms: 500']);
  });

  test('so do those whose pilots have not told', () => {
    const bench = new Bench({ lateShort: true, reserve: 0.5 }, 10);
    bench.need(1, { tasks: 10, estimateMs: 60_000 });
    bench.taken();
    bench.need(2, { part: 'early', estimateMs: 1_000 });
    bench.now = 1_000;
    bench.need(3, { estimateMs: 900 });
    for (const heard of [1, 2]) bench.pull(0, { heard: [heard] });
    expect(bench.taken()).toEqual(['2@0', '3@0']);
  });

  test('while a short job is late, none overtakes by its weight that has more to do than that', () => {
    const bench = new Bench({ longWeight: 8, lateShort: true }, 10);
    bench.need(1, { tasks: 10, estimateMs: 60_000 });
    bench.taken();
    bench.need(2, { tasks: 9, estimateMs: 900 });
    bench.now = 60_000;
    bench.need(3, { estimateMs: 900 });
    bench.need(4, { long: true, estimateMs: 1_000 });
    for (const heard of [1, 2]) bench.pull(0, { heard: [heard] });
    expect(bench.taken()).toEqual(['3@0', '2@0']);
  });

  test('of a late short and a late long job the one that came first comes first', () => {
    const bench = new Bench({ longWeight: 8, lateShort: true }, 100);
    bench.need(1, { long: true, tasks: 100, estimateMs: 60_000 });
    bench.taken();
    bench.need(2, { long: true, tasks: 2, estimateMs: 1_000 });
    bench.now = 100;
    bench.need(3, { tasks: 2, estimateMs: 800 });
    bench.now = 5_000;
    bench.need(4, { long: true, tasks: 1, estimateMs: 1_000 });
    for (const heard of [1, 2, 3, 4, 5]) bench.pull(0, { heard: [heard] });
    expect(bench.taken()).toEqual(['2@0', '2@0', '3@0', '3@0', '4@0']);
  });

  test('small tasks leave room for large ones: they go where the least is free', () => {
    const placesOf = (packing: boolean): number => {
      const bench = new Bench({ packing });
      for (let i = 0; i < 8; i++) {
        bench.matcher.setOpen(record(i, 4, { cpu: 4 }), true);
        bench.pull(i, { free: 4, spare: { cpu: 4 } });
      }
      bench.need(1, { tasks: 8, demand: { cpu: 1 } });
      return new Set(bench.taken().map((at) => at.split('@')[1])).size;
    };
    expect(placesOf(true)).toBe(2);
    expect(placesOf(false)).toBeGreaterThan(2);
  });

  test('a task that needs much gets a worker kept for it, where small ones would take it bit by bit', () => {
    const play = (patience: number): string[] => {
      const bench = new Bench({ patience });
      bench.matcher.setOpen(record(0, 4, { cpu: 4 }), true);
      bench.need(1, { tasks: 1, demand: { cpu: 4 }, estimateMs: 10_000, long: false });
      const taken: string[] = [];
      const running: number[] = [];
      let match = 0;
      const heard: number[] = [];
      const say = () => {
        const free = 4 - running.length;
        bench.pull(0, { heard: heard.slice(-4), free, spare: { cpu: free } });
        for (const at of bench.taken()) {
          taken.push(at);
          heard.push(++match);
          running.push(match);
        }
      };
      for (let job = 2; job < 40; job++) {
        bench.now += 1_000;
        bench.need(job, { demand: { cpu: 1 }, tasks: 2, estimateMs: 1 });
        say();
        running.shift();
        say();
      }
      return taken;
    };
    expect(play(0)).not.toContain('1@0');
    expect(play(3)).toContain('1@0');
  });

  test('a job that no worker can hold, or for which one is kept, is in nobody’s way', () => {
    const bench = new Bench({ patience: 5 });
    for (const index of [0, 1]) bench.matcher.setOpen(record(index, 2, { cpu: 2 }), true);
    bench.need(1, { demand: { gpu: 1 } });
    bench.need(2, { demand: { cpu: 2 } });
    bench.now = 1_000;
    bench.need(3, { demand: { cpu: 1 }, estimateMs: 10_000 });
    bench.need(4, { demand: { cpu: 1 }, tasks: 100, estimateMs: 1 });
    bench.now = 7_000;
    bench.pull(0, { spare: { cpu: 1 } });
    expect(bench.taken()).toEqual([]);
    bench.pull(1, { spare: { cpu: 1 } });
    expect(bench.taken()).toEqual(['3@1']);
    bench.pull(0, { free: 2, spare: { cpu: 2 } });
    expect(bench.taken()).toEqual(['2@0']);
  });

  test('another worker is kept when the one that was goes, and nobody when the job does', () => {
    const bench = new Bench({ patience: 5 });
    for (const index of [0, 1]) bench.matcher.setOpen(record(index, 2, { cpu: 2 }), true);
    bench.need(1, { demand: { cpu: 2 } });
    bench.need(2, { demand: { cpu: 1 }, tasks: 100, estimateMs: 1 });
    bench.now = 5_000;
    bench.pull(0, { spare: { cpu: 1 } });
    expect(bench.taken()).toEqual([]);
    bench.matcher.removeWorker(worker(0));
    bench.pull(1, { spare: { cpu: 1 } });
    expect(bench.taken()).toEqual([]);
    bench.matcher.withdraw(OWNER, 1, bench.now);
    expect(bench.taken()).toEqual(['2@1']);
  });
});
