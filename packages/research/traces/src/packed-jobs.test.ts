import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryJob } from './job.fixture.js';
import { jobOf } from './job.js';
import { bySubmission, inBatches, joined, packed, packedBytes, unpackedJobs } from './packed-jobs.js';

const arbitraryJobs = fc.array(arbitraryJob, { maxLength: 6 });

describe('packed jobs', () => {
  it('are the same jobs with all fields, even in another thread', () => {
    fc.assert(
      fc.property(arbitraryJobs, (jobs) => {
        const back = structuredClone(packed(jobs));
        expect([...unpackedJobs(back)]).toEqual(jobs);
        expect([...unpackedJobs(back)]).toEqual(jobs);
      }),
    );
  });

  it('are the same jobs after splitting into batches and joining', () => {
    fc.assert(
      fc.property(arbitraryJobs, fc.integer({ min: 1, max: 7 }), (jobs, size) => {
        const batches = [...inBatches(jobs, size)];
        expect(batches.flatMap((batch) => [...unpackedJobs(batch)])).toEqual(jobs);
        expect([...unpackedJobs(joined(batches))]).toEqual(jobs);
      }),
    );
  });

  it('are sorted by submission, keeping the order of equal times', () => {
    fc.assert(
      fc.property(arbitraryJobs, (jobs) => {
        const sorted = jobs.toSorted((a, b) => a.submitSeconds - b.submitSeconds);
        expect([...unpackedJobs(bySubmission(packed(jobs)))]).toEqual(sorted);
      }),
    );
  });

  it('are shared, not copied, between threads', () => {
    const one = packed([jobOf(0, Float64Array.of(1, 2))]);
    const other = structuredClone(one);
    one.durationsSeconds[1] = 7;
    expect([...other.durationsSeconds]).toEqual([1, 7]);
  });

  it('take 8 bytes per task, 24 per job, and about a kilobyte for other fields', () => {
    const jobs = Array.from({ length: 100 }, (_, i) => jobOf(i, new Float64Array(7)));
    expect(packedBytes(packed(jobs))).toBe(100 * 80);
    expect(packedBytes(packed([{ ...jobOf(0, Float64Array.of(1)), name: 'n' }]))).toBe(32 + 1_024);
  });
});
