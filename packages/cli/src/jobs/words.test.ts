import { painter } from '@goshawk/command';
import { measures, type TaskFailure } from '@goshawk/core';
import { describe, expect, it, test } from 'vitest';
import { jobDetail, jobSummary, taskCounts } from './jobs.fixture.js';
import { failureLines, outcomeLine, outcomeText, remedyLines } from './words.js';

const paint = painter({ color: false });

function failure(task: number, more: Partial<TaskFailure> = {}): TaskFailure {
  return {
    task,
    attempts: 1,
    kind: 'failed',
    code: 'exit-code',
    message: 'exit code 3',
    worker: 'w7',
    ...more,
  };
}

describe('the outcome of a job', () => {
  it.each([
    [jobSummary(), 'a1-3 completed: 200 tasks, after 5.2 s'],
    [jobSummary({ deadlineMs: 5_000 }), 'a1-3 completed: 200 tasks, after 5.2 s, 200 ms after its deadline'],
    [
      jobSummary({ state: 'failed', tasks: taskCounts({ failed: 2, completed: 1_198 }) }),
      'a1-3 failed: 2 of 1,200 tasks failed, 1,198 completed, after 5.2 s',
    ],
    [
      jobSummary({ state: 'failed', tasks: taskCounts({ failed: 1 }) }),
      'a1-3 failed: 1 of 1 task failed, after 5.2 s',
    ],
    [
      jobSummary({ state: 'failed', tasks: taskCounts({ failed: 1, completed: 2, cancelled: 3 }) }),
      'a1-3 failed: 1 of 6 tasks failed, 2 completed, 3 cancelled, after 5.2 s',
    ],
    [
      jobSummary({ state: 'cancelled', tasks: taskCounts({ failed: 1, completed: 4, cancelled: 5 }) }),
      'a1-3 cancelled: 4 of 10 tasks had completed, 1 failed, after 5.2 s',
    ],
    [
      jobSummary({ state: 'cancelled', tasks: taskCounts({ completed: 5, cancelled: 5 }) }),
      'a1-3 cancelled: 5 of 10 tasks had completed, after 5.2 s',
    ],
  ])('is one line (%#)', (job, line) => {
    expect(outcomeLine(job, paint)).toBe(line);
  });

  it('after a retry does not count the time before it', () => {
    const late = jobSummary({ deadlineMs: 5_000 });
    expect(outcomeLine(late, paint, 700)).toBe(
      'a1-3 completed: 200 tasks, 700 ms after the retry, 200 ms after its deadline',
    );
  });

  it('compares an estimate with the truth only if the submitter stated it', () => {
    const job = jobDetail({ estimateMs: 1_000 });
    expect(outcomeText({ ...job, classifiedBy: 'given' }, false)).toContain('100% too high');
    expect(outcomeText({ ...job, classifiedBy: 'pilot' }, false)).not.toContain('estimate');
  });
});

describe('after a failure', () => {
  const tasks = taskCounts({ failed: 7, completed: 3 });

  it('the first failures are shown, and their number', () => {
    const failures = [0, 1, 2, 3, 4, 5, 6].map((task) => failure(task));
    expect(failureLines(jobDetail({ tasks, failures }))).toEqual([
      'task 0 on w7: exit code 3',
      'task 1 on w7: exit code 3',
      'task 2 on w7: exit code 3',
      'task 3 on w7: exit code 3',
      'task 4 on w7: exit code 3',
      'and 2 more',
    ]);
  });

  it('attempts are shown, and foreign text stays on its line', () => {
    const failures = [
      failure(9, { attempts: 3, message: 'Error:\n\u001b[31mno\u001b[39m luck', worker: '' }),
    ];
    expect(failureLines(jobDetail({ tasks: taskCounts({ failed: 1 }), failures }))).toEqual([
      'task 9, the last of 3 attempts: Error: no luck',
    ]);
  });

  it('the last lines of tasks, without repetitions, and files of output are shown', () => {
    const printed = Buffer.from('10%\r20%\nError: disk\n');
    const failures = [
      failure(0, { printed }),
      failure(1, { printed }),
      failure(2, { stderrFile: '/tmp/2.err' }),
      failure(3, { stdoutFile: '/tmp/3', stderrFile: '/tmp/3' }),
    ];
    expect(failureLines(jobDetail({ tasks: taskCounts({ failed: 4 }), failures }))).toEqual([
      'task 0 on w7: exit code 3',
      '  | 20%',
      '  | Error: disk',
      'task 1 on w7: exit code 3',
      'task 2 on w7: exit code 3',
      '  stderr: /tmp/2.err',
      'task 3 on w7: exit code 3',
      '  stdout and stderr: /tmp/3',
    ]);
  });

  it('the log is not mentioned if all output is in files', () => {
    const failures = [failure(0, { stderrFile: '/tmp/0' })];
    expect(remedyLines(jobDetail({ tasks: taskCounts({ failed: 1 }), failures }))).toEqual([
      'goshawk retry a1-3 --failed   run the failed tasks again',
    ]);
  });

  it('remedies are shown only if something failed', () => {
    expect(remedyLines(jobDetail({ tasks }))).toEqual([
      'goshawk logs a1-3 --failed    what they printed',
      'goshawk retry a1-3 --failed   run the failed tasks again',
    ]);
    expect(remedyLines(jobDetail())).toEqual([]);
  });
});

describe('the time breakdown', () => {
  it('shows waiting and running', () => {
    const job = jobDetail({ runPercentilesMs: { p50: 400, p90: 900, max: 1_500 } });
    expect(measures(job)).toEqual([
      ['waited', '3 ms until the first task started'],
      ['ran', '500 ms per task on average (p50 400 ms, p90 900 ms, max 1.5 s)'],
    ]);
  });

  it.each([
    [1_000, '1 s per task, which was 100% too high'],
    [250, '250 ms per task, which was 50% too low'],
    [501, '501 ms per task, which was right'],
  ])('compares the estimate of %d ms with the truth', (estimateMs, value) => {
    expect(measures(jobDetail({ estimateMs }))).toContainEqual(['estimate', value]);
  });

  it('shows the cost of retries and lost workers', () => {
    const job = jobDetail({ attempts: { total: 206, failed: 5, lost: 1 }, wastedMs: 1_234 });
    expect(measures(job)).toContainEqual([
      'lost',
      '1.23 s to 5 failed attempts and 1 interrupted attempt (worker lost or drained, preemption, or end of its gang)',
    ]);
  });

  it('is empty for a job that never started', () => {
    expect(measures(jobDetail({ firstStartMs: undefined, meanRunMs: undefined }))).toEqual([]);
  });
});

test('an estimate of 0, of pilots that were cancelled, is not compared with run times', () => {
  expect(measures(jobDetail({ estimateMs: 0, meanRunMs: 3_000 })).map(([label]) => label)).not.toContain(
    'estimate',
  );
});
