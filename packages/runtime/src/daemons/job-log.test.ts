import { expect, test } from 'vitest';
import { attemptLine } from './job-log.js';

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
