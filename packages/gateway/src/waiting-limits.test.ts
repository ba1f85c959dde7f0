import type { ExplainedJob } from '@goshawk/client';
import { expect, it } from 'vitest';
import { WaitingLimits } from './waiting-limits.js';

const AT = 1_764_000_000_000;

function explained(
  waiting: readonly { reason: string; tasks: number; waitedMs?: number; missing?: string }[],
  { id = 'a-1', state = 'running' } = {},
): ExplainedJob {
  return {
    job: { id, state, submittedAt: AT - 5_000 },
    waiting: waiting.map((row) => ({ waitedMs: 60_000, ...row })),
    central: undefined,
  } as unknown as ExplainedJob;
}

it('keeps the reason that blocked most tasks, from sample to sample', () => {
  const limits = new WaitingLimits();
  limits.note(
    explained([
      { reason: 'stage', tasks: 2 },
      { reason: 'matching', tasks: 9 },
    ]),
    AT,
  );
  limits.note(explained([{ reason: 'matching', tasks: 7 }]), AT + 1_000);
  limits.note(explained([{ reason: 'required', tasks: 1, missing: 'no worker has rack=r9' }]), AT + 2_000);
  limits.note(explained([]), AT + 3_000);
  limits.note(explained([{ reason: 'matching', tasks: 7 }], { state: 'failed' }), AT + 4_000);
  expect(limits.of('a-1')).toEqual([
    // No earlier than the submission of the job.
    {
      from: AT - 5_000,
      to: AT + 2_000,
      reason: 'matching',
      why: 'they wait at central for a worker',
      tasks: 7,
    },
    { from: AT + 2_000, to: AT + 2_000, reason: 'required', why: 'no worker has rack=r9', tasks: 1 },
  ]);
});

it('remembers a bounded number of jobs', () => {
  const limits = new WaitingLimits();
  for (let index = 0; index < 5_000; index++)
    limits.note(explained([{ reason: 'matching', tasks: 1 }], { id: `a-${index}` }), AT);
  expect(limits.jobs).toBe(1_000);
  expect(limits.of('a-0')).toEqual([]);
  expect(limits.of('a-4999')).toHaveLength(1);
});
