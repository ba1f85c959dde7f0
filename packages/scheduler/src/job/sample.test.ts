import { type Fields, LIMITS, MESSAGE_TYPES, MESSAGES } from '@goshawk/core';
import { expect, test } from 'vitest';
import { jobOf } from './job.fixture.js';
import { Sample } from './sample.js';

test('all batches of the largest sampled job have indexes that messages can carry', () => {
  const stages = Array.from({ length: LIMITS.stagesPerJobMax }, (_, index) => ({
    name: `s${index}`,
    tasks: { count: 2, run: { sleep: 1 } },
  }));
  const job = jobOf({ stages });
  job.startSample(new Sample({ kind: 'sample', pilots: 1 }, [0], job.stages[0]!, job.stages, 'all'));
  const largest = job.batches.length - 1;
  expect(job.batches.map(({ index }) => index)).toEqual(job.batches.map((_, index) => index));
  const limits = MESSAGE_TYPES.flatMap((type) => {
    const { stage }: Fields = MESSAGES[type].fields;
    return stage?.kind === 'count' ? [[type, stage.max ?? Number.POSITIVE_INFINITY] as const] : [];
  });
  expect(limits.map(([type]) => type)).toContain('probe');
  for (const [type, max] of limits) expect(max, type).toBeGreaterThanOrEqual(largest);
});
