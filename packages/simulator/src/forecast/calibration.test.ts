import { Random } from '@goshawk/core';
import { expect, test } from 'vitest';
import { Calibration } from './calibration.js';
import { normalDeviate } from './run-times.js';

/** Jobs whose ends differ from the futures by a factor, of which the deviation is `times` that of the futures. */
function coverage(jobs: number, times: number, bias: number, forecastsPerJob: number): number {
  const random = Random.seeded(`${jobs} ${times} ${bias} ${forecastsPerJob}`);
  const calibration = new Calibration();
  let [inside, all] = [0, 0];
  for (let job = 0; job < jobs; job++) {
    const endMs = 60_000 * Math.exp(normalDeviate(random.next()));
    // The forecasts of one job err alike.
    const error = times * 0.3 * normalDeviate(random.next());
    for (let step = 0; step < forecastsPerJob; step++) {
      const at = (endMs * step) / forecastsPerJob;
      const medianMs = (endMs - at) * Math.exp(-bias - error);
      const raw = { lowMs: medianMs * 0.7, medianMs, highMs: medianMs * 1.4, waits: true, isMeasured: false };
      calibration.forecast(`${job}`, raw, at, random.next());
      const { earliestMs, latestMs } = calibration.adjust(raw);
      all++;
      if (earliestMs <= endMs - at && endMs - at <= latestMs) inside++;
    }
    calibration.ended(`${job}`, endMs);
  }
  return inside / all;
}

test('intervals cover the ends of few jobs and of many, whose errors are as the futures suggest, larger or biased', () => {
  for (const jobs of [40, 200])
    for (const times of [1, 2, 4])
      for (const bias of [0, 0.5])
        for (const forecasts of [1, 12]) {
          const covered = coverage(jobs, times, bias, forecasts);
          const of = `${jobs} jobs, errors ${times} times as large, bias ${bias}, ${forecasts} forecasts each`;
          expect(covered, of).toBeGreaterThanOrEqual(0.75);
        }
});

test('the interval is narrow where the futures are right', () => {
  const calibration = new Calibration();
  const raw = { lowMs: 900, medianMs: 1_000, highMs: 1_100, waits: false, isMeasured: true };
  for (let job = 0; job < 200; job++) {
    calibration.forecast(`${job}`, raw, 0, 0.5);
    calibration.ended(`${job}`, 990 + (job % 21));
  }
  const { inMs, earliestMs, latestMs } = calibration.adjust(raw);
  expect(Math.abs(inMs - 1_000)).toBeLessThan(5);
  expect(latestMs - earliestMs).toBeLessThan(30);
});

test('an end is a date, however wrong earlier forecasts with narrow futures were', () => {
  const calibration = new Calibration();
  const narrow = { lowMs: 1_000, medianMs: 1_000, highMs: 1_000, waits: false, isMeasured: true };
  for (let job = 0; job < 200; job++) {
    calibration.forecast(`${job}`, narrow, 0, 0.5);
    calibration.ended(`${job}`, job % 2 === 0 ? 1_000 : 30_000);
  }
  const { inMs, earliestMs, latestMs } = calibration.adjust({ ...narrow, lowMs: 1, highMs: 1_000_000 });
  expect(earliestMs).toBeLessThanOrEqual(inMs);
  expect(inMs).toBeLessThanOrEqual(latestMs);
  expect(new Date(Date.UTC(2026, 0) + latestMs).toISOString()).toMatch(/^2027-01-01/);
});
