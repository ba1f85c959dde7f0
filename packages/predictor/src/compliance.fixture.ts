import { meanOf, Random, sumOf } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ArrivingJob, EndedJob, Estimator, Evidence, Prediction } from './estimator.js';
import { Guarded } from './guarded.js';

/** Creates an estimator for a test, from a stream of random numbers. */
type Make = (random: () => number) => Estimator;

const CUTOFF_MS = 10_000;

/** A job and the run times of its tasks. */
interface TestJob {
  readonly job: ArrivingJob;
  readonly runsMs: readonly number[];
}

const word = fc.string({ minLength: 1, maxLength: 12 });

const arbitraryJob: fc.Arbitrary<TestJob> = fc
  .record({
    name: word,
    logicalName: fc.option(word, { nil: undefined }),
    user: fc.option(word, { nil: undefined }),
    submittedAt: fc.double({ min: 0, max: 4e12, noNaN: true }),
    hasGiven: fc.boolean(),
    knowsTruth: fc.boolean(),
    runsMs: fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 300 }),
    startable: fc.double({ min: 0, max: 1, noNaN: true }),
    isStaged: fc.boolean(),
  })
  .map(({ hasGiven, knowsTruth, runsMs, startable: share, isStaged, ...job }) => {
    const tasks = runsMs.length;
    const startable = Math.max(1, Math.round(share * tasks));
    const stages = [
      { name: 'first', tasks: startable, startable: true },
      { name: 'second', tasks: tasks - startable, startable: false },
    ];
    const meanMs = sumOf(runsMs) / tasks;
    return {
      job: {
        ...job,
        tasks,
        startable,
        ...(isStaged && startable < tasks ? { stages } : {}),
        givenMs: hasGiven ? meanMs * 2 : undefined,
        trueMeanMs: knowsTruth ? meanMs : undefined,
      },
      runsMs,
    };
  });

/** Runs the requested pilots one after another, some of which fail. @returns the decision */
export function live(estimator: Estimator, { job, runsMs }: TestJob, failing = 0): number | undefined {
  const prediction = estimator.predict(job);
  let decided = prediction.kind === 'estimate' ? prediction.estimate.meanMs : undefined;
  if (prediction.kind === 'sample') {
    const evidence = {
      pilots: prediction.pilots,
      runsMs: [] as number[],
      failedRunsMs: [] as number[],
      failed: 0,
      elapsedMs: [] as number[],
    };
    for (let pilot = 0; pilot < prediction.pilots && decided === undefined; pilot++) {
      const runMs = runsMs[pilot]!;
      evidence.elapsedMs = [runMs / 2];
      const before = estimator.weigh(job, prediction, evidence, CUTOFF_MS);
      evidence.elapsedMs = [];
      if (pilot < failing) {
        evidence.failed++;
        evidence.failedRunsMs.push(runMs);
      } else evidence.runsMs.push(runMs);
      const after =
        before.kind === 'decided' ? before : estimator.weigh(job, prediction, evidence, CUTOFF_MS);
      if (after.kind === 'decided') decided = after.estimate.meanMs;
    }
  }
  estimator.learn(endOf({ job, runsMs }, prediction));
  return decided;
}

function endOf({ job, runsMs }: TestJob, prediction: Prediction, completed = true): EndedJob {
  const meanMs = meanOf(runsMs);
  const long = meanMs >= CUTOFF_MS;
  return { job, prediction, completed, long, runtimeMs: 1.5 * Math.max(...runsMs), runsMs };
}

function seeded(make: Make): Guarded {
  const random = Random.seeded('compliance');
  return new Guarded(make(() => random.next()));
}

/** The compliance suite of all estimators. */
export function complianceSuite(name: string, make: Make): void {
  describe(name, () => {
    test('predicts, weighs and learns without error, and always decides', () => {
      fc.assert(
        fc.property(fc.array(fc.tuple(arbitraryJob, fc.nat(4)), { maxLength: 30 }), (jobs) => {
          const estimator = seeded(make);
          for (const [job, failing] of jobs) {
            const { kind } = estimator.predict(job.job);
            const decided = live(estimator, job, failing);
            if (kind === 'estimate' || kind === 'sample') expect(decided).toBeDefined();
          }
          expect(estimator.faults).toEqual({ count: 0, first: '', last: '' });
        }),
        { numRuns: 50 },
      );
    });

    test('gives the same answers to the same calls', () => {
      fc.assert(
        fc.property(fc.array(arbitraryJob, { maxLength: 20 }), (jobs) => {
          const [first, second] = [seeded(make), seeded(make)];
          for (const job of jobs) {
            expect(first.predict(job.job)).toEqual(second.predict(job.job));
            expect(live(first, job)).toBe(live(second, job));
          }
        }),
        { numRuns: 30 },
      );
    });

    test('decides when every pilot has failed, and when none ran at all', () => {
      const estimator = seeded(make);
      const runsMs = new Array<number>(100).fill(4_000);
      const job = { name: 'a', tasks: 100, startable: 100, submittedAt: 0 };
      const prediction = estimator.predict(job);
      if (prediction.kind !== 'sample') return;
      const { pilots } = prediction;
      const evidence = { pilots, runsMs: [], failed: pilots, elapsedMs: [] };
      for (const failedRunsMs of [runsMs.slice(0, pilots), []] as const) {
        const verdict = estimator.weigh(job, prediction, { ...evidence, failedRunsMs }, CUTOFF_MS);
        expect(verdict.kind).toBe('decided');
      }
      expect(estimator.faults.count).toBe(0);
    });

    test('classifies a job as long if a pilot never ends', () => {
      const estimator = seeded(make);
      const job = { name: 'a', tasks: 100, startable: 100, submittedAt: 0 };
      const prediction = estimator.predict(job);
      if (prediction.kind !== 'sample') return;
      const evidence: Evidence = {
        pilots: prediction.pilots,
        runsMs: [],
        failedRunsMs: [],
        failed: 0,
        elapsedMs: new Array<number>(prediction.pilots).fill(100 * CUTOFF_MS),
      };
      const verdict = estimator.weigh(job, prediction, evidence, CUTOFF_MS);
      expect(verdict.kind).toBe('decided');
      if (verdict.kind === 'decided') expect(verdict.estimate.meanMs).toBeGreaterThanOrEqual(CUTOFF_MS);
    });

    test('continues from its saved state', () => {
      fc.assert(
        fc.property(fc.array(arbitraryJob, { minLength: 1, maxLength: 40 }), (jobs) => {
          const before = seeded(make);
          const half = jobs.slice(0, jobs.length >> 1);
          for (const job of half) live(before, job);
          const after = seeded(make);
          // Draws the same number of random numbers in both.
          for (const job of half) after.predict(job.job);
          after.load(JSON.parse(JSON.stringify(before.save())));
          for (const job of jobs.slice(half.length)) {
            expect(after.predict(job.job)).toEqual(before.predict(job.job));
            expect(live(after, job)).toBe(live(before, job));
          }
        }),
        { numRuns: 30 },
      );
    });

    test('rejects state that it did not save', () => {
      for (const saved of ['nonsense', 17, { some: 'thing' }, [1, 2]]) {
        expect(() => seeded(make).load(saved)).toThrow(/is not from the estimator/);
      }
    });

    test('saves at most `savedCharactersMax` characters after any number of jobs', () => {
      const estimator = seeded(make);
      const random = Random.seeded('memory');
      for (let i = 0; i < 3_000; i++) {
        const runsMs = Array.from({ length: 3 + (i % 9) }, () => 1e5 * random.next());
        const tasks = runsMs.length;
        const job = {
          name: `job ${i}`,
          logicalName: `logical ${i}`,
          user: `user ${i}`,
          tasks,
          startable: tasks,
          submittedAt: i * 1e4,
        };
        live(estimator, { job, runsMs });
      }
      expect(JSON.stringify(estimator.save()).length).toBeLessThanOrEqual(estimator.savedCharactersMax);
      expect(estimator.faults.count).toBe(0);
    });
  });
}
