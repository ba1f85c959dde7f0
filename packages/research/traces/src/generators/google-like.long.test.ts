import { describe, expect, it } from 'vitest';
import { type TraceStats, traceStats } from '../stats/stats.js';
import { configureGenerator } from './index.js';

/** The length of Hawk's Google trace (§4.1). Takes a few seconds, hence a long test. */
const HAWK_JOBS = 506_460;

/** Statistics of `google-sub.tr` (docs/SIMULATE.md). */
const TRACE = {
  tasksPerJob: { p50: 1, p90: 21, p99: 954 },
  taskDurationSeconds: { p50: 309.9, p90: 2165.6, p99: 14_051.8 },
  jobMeanDurationSeconds: { p50: 97.9, p90: 918.7, p99: 5395.5 },
  jobTaskSeconds: { p50: 199, p90: 4222.6, p99: 491_983 },
  spreadWithinJobs: { p50: 0.0325, p90: 0.239, p99: 0.844 },
} as const;

describe.each([1, 2, 3])('google-like of the length of the Google trace, seed %i', (seed) => {
  let stats: TraceStats;

  it("has the shares of the longest tenth of the jobs as in Hawk's §2.3", async () => {
    stats = await traceStats(configureGenerator(`google-like:jobs=${HAWK_JOBS},seed=${seed}`).generate());
    expect(stats.jobs).toBe(HAWK_JOBS);
    expect(Math.abs(stats.longestTenth.taskSecondsShare - 0.8365)).toBeLessThanOrEqual(0.02);
    expect(Math.abs(stats.longestTenth.tasksShare - 0.28)).toBeLessThanOrEqual(0.03);
  });

  it.each(Object.keys(TRACE) as (keyof typeof TRACE)[])('has the %s of the trace within 15%%', (name) => {
    const distribution = stats[name]!;
    for (const [percentile, value] of Object.entries(TRACE[name])) {
      const ratio = distribution[percentile as 'p50' | 'p90' | 'p99'] / value;
      expect(Math.abs(ratio - 1), `${name} ${percentile}`).toBeLessThanOrEqual(0.15);
    }
  });

  it('offers 15,000 workers the load of the trace', () => {
    const load = stats.offeredLoad.find(({ workers }) => workers === 15_000)!.load;
    expect(load).toBeCloseTo(0.9, 1);
  });
});
