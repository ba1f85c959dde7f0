import { jobJson, summaryJson } from '@goshawk/core';
import { expect, it } from 'vitest';
import { jobDetail, jobSummary } from './jobs.fixture.js';
import { specJson } from './spec-json.js';

/** Wall clock, ms. */
const NOW = Date.parse('2026-01-02T03:05:00Z');

it('a job in a list: ISO times, seconds, null for what is not known', () => {
  expect(summaryJson(jobSummary({ state: 'running', endedMs: undefined, user: undefined }), NOW)).toEqual({
    id: 'a1-3',
    name: 'sweep',
    user: null,
    class: 'short',
    classifiedBy: 'given',
    estimateSeconds: null,
    state: 'running',
    retryOf: null,
    held: false,
    beginAt: null,
    tasks: { total: 200, waiting: 0, running: 0, completed: 200, failed: 0, cancelled: 0 },
    submittedAt: '2026-01-02T03:04:05.000Z',
    startedAt: '2026-01-02T03:04:05.003Z',
    endedAt: null,
    deadlineAt: null,
    deadlineMet: null,
    expectedEnd: null,
  });
});

it('a deadline, and whether it was met', () => {
  const at = '2026-01-02T03:04:10.000Z';
  expect(summaryJson(jobSummary({ deadlineMs: 5_000 }), NOW)).toMatchObject({
    deadlineAt: at,
    deadlineMet: false,
  });
  expect(summaryJson(jobSummary({ deadlineMs: 6_000 }), NOW)).toMatchObject({ deadlineMet: true });
});

it('one job: its attempts, its failures, and where time went', () => {
  const failed = { task: 1, worker: 'w1', code: 'exit-code', message: 'exit code 3', exitCode: 3 };
  const job = jobDetail({
    estimateMs: 2_500,
    attempts: { total: 3, failed: 1, lost: 0 },
    attemptList: [
      { ...failed, attempt: 1, state: 'failed', startedMs: 10, runMs: 1.25 },
      { task: 1, attempt: 2, state: 'running', worker: 'w2', startedMs: 20, runMs: 5 },
    ],
    failures: [{ ...failed, attempts: 1, kind: 'failed' }],
    wastedMs: 1.25,
    spec: { tasks: [{ exec: ['cat'], stdin: Buffer.from('ä') }, { stdin: Uint8Array.of(0xff) }] },
  });
  const nothing = { code: null, message: null, exitCode: null, signal: null };
  expect({ ...jobJson(job, NOW), spec: specJson(job.spec) }).toMatchObject({
    schema: 'goshawk.job/1',
    estimateSeconds: 2.5,
    attempts: [
      {
        ...failed,
        attempt: 1,
        state: 'failed',
        startedAt: '2026-01-02T03:04:05.010Z',
        runSeconds: 0.001_25,
        signal: null,
      },
      { task: 1, attempt: 2, state: 'running', worker: 'w2', runSeconds: 0.005, ...nothing },
    ],
    attemptCounts: { total: 3, failed: 1, lost: 0 },
    failures: [{ ...failed, attempts: 1, kind: 'failed', signal: null }],
    meanRunSeconds: 0.5,
    lostSeconds: 0.001_25,
    spec: { tasks: [{ exec: ['cat'], stdin: 'ä' }, { stdin: { base64: '/w==' } }] },
  });
});
