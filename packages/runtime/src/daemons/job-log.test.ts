import type { Job } from '@goshawk/scheduler';
import type { Logger } from '@goshawk/transport';
import { expect, test } from 'vitest';
import { attemptLine, jobLog } from './job-log.js';

const ATTEMPT = { job: 'ab-1', task: 3, attempt: 2, worker: 'w1' };

test.each([
  [{ kind: 'failed', errorCode: 'exit-code', exitCode: 1 }, 'failed (exit code 1)'],
  [{ kind: 'failed', errorCode: 'signal', signal: 'SIGSEGV' }, 'failed (SIGSEGV)'],
  [{ kind: 'lost', errorCode: 'command-not-found' }, 'lost (command-not-found)'],
  [{ kind: 'cancelled', errorCode: '' }, 'cancelled'],
] as const)('an attempt that ended as %o is explained in one line', (outcome, how) => {
  const line = attemptLine(ATTEMPT, outcome as unknown as Parameters<typeof attemptLine>[1]);
  expect(line).toBe(`task 3 of ab-1, attempt 2 on w1: ${how}`);
});

test('nothing is logged about a job until its acceptance is durable, then in order', () => {
  const lines: string[] = [];
  const log = jobLog(
    { info: (_: object, line: string) => void lines.push(line) } as unknown as Logger,
    () => 'w1',
  );
  const counts = { total: 1 };
  const job = {
    ...{
      id: 'ab-1',
      spec: { name: 'x' },
      taskCount: 1,
      estimate: { isUndecided: false, classifiedBy: 'given' },
      class: 'short',
      state: 'completed',
    },
    ...{ counts, history: counts, tasks: { attemptOf: () => 1 }, acceptedAt: 0, doneAt: 1 },
  } as unknown as Job;
  log.jobAccepted(job);
  log.taskBound(job, 0, 0);
  expect(lines).toEqual([]);
  log.jobRecorded(job);
  log.jobEnded(job);
  expect(lines).toEqual(['job accepted', 'first task of the job was bound to a worker', 'job completed']);
});
