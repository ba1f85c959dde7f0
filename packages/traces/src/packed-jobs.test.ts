import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryJob } from './job.fixture.js';
import { jobOf, type TraceJob } from './job.js';
import { JobPacker, unpackedJobs } from './packed-jobs.js';

function pack(jobs: readonly TraceJob[], bytesMax = Number.POSITIVE_INFINITY) {
  const packer = new JobPacker(bytesMax);
  for (const job of jobs) packer.add(job);
  return packer.finish();
}

describe('packed jobs', () => {
  it('are the same jobs, with all that they have, also in another thread', () => {
    fc.assert(
      fc.property(fc.array(arbitraryJob, { maxLength: 6 }), (jobs) => {
        const packed = structuredClone(pack(jobs)!);
        expect([...unpackedJobs(packed)]).toEqual(jobs);
        expect([...unpackedJobs(packed)]).toEqual(jobs);
      }),
    );
  });

  it('are shared, not copied, between threads', () => {
    const packed = pack([jobOf(0, Float64Array.of(1, 2))])!;
    const other = structuredClone(packed);
    packed.durationsSeconds[1] = 7;
    expect([...other.durationsSeconds]).toEqual([1, 7]);
  });

  it('take no more memory than they may', () => {
    const jobs = Array.from({ length: 100 }, (_, i) => jobOf(i, new Float64Array(7)));
    expect(pack(jobs, 100 * 80)).toBeDefined();
    expect(pack(jobs, 100 * 80 - 1)).toBeUndefined();
    expect(pack([{ ...jobOf(0, Float64Array.of(1)), name: 'n' }], 100)).toBeUndefined();
  });
});
