import type { JobHandle } from '@goshawk/client';
import { DetachedError, WaitTimeoutError } from '@goshawk/command';
import { InputError, type JobDetail, type JobEvent, UnreachableError } from '@goshawk/core';
import { describe, expect, it } from 'vitest';
import { awaitEnds } from './await-ends.js';
import { jobDetail, jobSummary, recordingContext, taskCounts } from './jobs.fixture.js';
import { exitCodeOf, leave, waitForJobs } from './wait-for-jobs.js';

/** Returns a job whose events the test controls. */
function fakeJob(id: string) {
  let wake = (): void => {};
  const news: (JobEvent | Error)[] = [];
  let now: JobDetail | Error = jobDetail({ id, state: 'running' });
  const tell = (event: JobEvent | Error): void => {
    news.push(event);
    wake();
  };
  async function* events({ signal }: { signal: AbortSignal }): AsyncGenerator<JobEvent> {
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
    aborted.catch(() => {});
    for (;;) {
      signal.throwIfAborted();
      const event = news.shift();
      if (event instanceof Error) throw event;
      if (event !== undefined) yield event;
      else await Promise.race([aborted, new Promise<void>((resolve) => (wake = resolve))]);
    }
  }
  return {
    handle: {
      id,
      events,
      describe: async () => {
        if (now instanceof Error) throw now;
        return now;
      },
    } as unknown as JobHandle,
    /** Ends the job at its scheduler without an event. */
    hasEnded: (more: Partial<JobDetail> = {}) => {
      now = jobDetail({ id, ...more });
    },
    ends: (more: Partial<JobDetail> = {}) => tell({ kind: 'ended', job: jobDetail({ id, ...more }) }),
    fails: (error: Error) => tell(error),
    isUnknown: () => {
      const error = new InputError('unknown-job', `no ${id}`);
      now = error;
      tell(error);
    },
    isHeld: (states: Parameters<typeof taskCounts>[0]) =>
      tell({
        kind: 'progress',
        job: jobSummary({ id, state: 'running', held: true, tasks: taskCounts(states) }),
      }),
    progresses: (states: Parameters<typeof taskCounts>[0]) =>
      tell({ kind: 'progress', job: jobSummary({ id, state: 'running', tasks: taskCounts(states) }) }),
  };
}

const ids = (jobs: readonly JobDetail[]) => jobs.map(({ id }) => id);

describe('the exit code', () => {
  it('shows a failure, then a missed deadline', () => {
    const late = jobDetail({ deadlineMs: 5_000 });
    expect(exitCodeOf([jobDetail({ deadlineMs: 6_000 })])).toBe(0);
    expect(exitCodeOf([jobDetail(), late])).toBe(4);
    expect(exitCodeOf([late, jobDetail({ state: 'failed' })])).toBe(1);
  });
});

describe('waiting for jobs', () => {
  it('ends when all have ended, and reports them in that order', async () => {
    const { context } = recordingContext();
    const [a, b] = [fakeJob('a-1'), fakeJob('b-1')];
    const reported: JobDetail[] = [];
    const waiting = waitForJobs(context, [a.handle, b.handle], { ended: (job) => reported.push(job) });
    b.ends();
    a.progresses({ running: 2 });
    a.ends({ state: 'failed' });
    const ended = await waiting;
    expect(ids(ended)).toEqual(['b-1', 'a-1']);
    expect(ids(reported)).toEqual(['b-1', 'a-1']);
    expect(exitCodeOf(ended)).toBe(1);
  });

  it('ends with the first job with `any`', async () => {
    const { context } = recordingContext();
    const [a, b] = [fakeJob('a-1'), fakeJob('b-1')];
    const waiting = waitForJobs(context, [a.handle, b.handle], { any: true, ended: () => {} });
    b.ends();
    expect(ids(await waiting)).toEqual(['b-1']);
  });

  it('reports the job that ended first with `any`, regardless of the order of events', async () => {
    const { context } = recordingContext();
    const [a, b] = [fakeJob('a-1'), fakeJob('b-1')];
    const reported: JobDetail[] = [];
    const request = { any: true, ended: (job: JobDetail) => void reported.push(job) };
    const waiting = waitForJobs(context, [a.handle, b.handle], request);
    a.hasEnded({ endedMs: 1_000 });
    b.ends({ state: 'failed', endedMs: 30_000 });
    expect(ids(await waiting)).toEqual(['a-1']);
    expect(ids(reported)).toEqual(['a-1']);
    expect(exitCodeOf(await waiting)).toBe(0);
  });

  it('times out, and names the jobs that have not ended', async () => {
    const { context } = recordingContext();
    const [a, b] = [fakeJob('a-1'), fakeJob('b-1')];
    a.ends();
    const reported: JobDetail[] = [];
    const request = { timeoutMs: 20, ended: (job: JobDetail) => void reported.push(job) };
    const error = await waitForJobs(context, [a.handle, b.handle], request).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(WaitTimeoutError);
    expect(error.message).toBe('b-1 has not ended within 20 ms; the job continues');
    expect(ids(reported)).toEqual(['a-1']);
  });

  it('fails at once for an unknown job, and reports jobs that have ended', async () => {
    const { context } = recordingContext();
    const [a, b, c] = [fakeJob('a-1'), fakeJob('b-1'), fakeJob('c-1')];
    b.fails(new InputError('unknown-job', 'no b-1'));
    c.hasEnded();
    const reported: JobDetail[] = [];
    const request = { ended: (job: JobDetail) => void reported.push(job) };
    await expect(waitForJobs(context, [a.handle, b.handle, c.handle], request)).rejects.toThrow('no b-1');
    expect(ids(reported)).toEqual(['c-1']);
  });

  it('names all unknown jobs', async () => {
    for (const any of [false, true]) {
      const { context, written } = recordingContext();
      const [a, b, c] = [fakeJob('a-1'), fakeJob('b-1'), fakeJob('c-1')];
      a.isUnknown();
      c.isUnknown();
      const waiting = waitForJobs(context, [a.handle, b.handle, c.handle], { any, ended: () => {} });
      await expect(waiting).rejects.toThrow('no a-1');
      expect(written.stderr).toBe('goshawk: no c-1\n');
    }
  });

  it('continues for the other jobs if the scheduler of one is gone', async () => {
    for (const any of [false, true]) {
      const { context, written } = recordingContext({ global: { quiet: true } });
      const [a, b, c] = [fakeJob('a-1'), fakeJob('b-1'), fakeJob('c-1')];
      const reported: JobDetail[] = [];
      const request = { any, ended: (job: JobDetail) => void reported.push(job) };
      const waiting = waitForJobs(context, [a.handle, b.handle, c.handle], request);
      a.fails(new UnreachableError('owner-gone', 'no answer from s1'));
      b.fails(new UnreachableError('owner-gone', 'no answer from s2'));
      a.progresses({ running: 1 });
      c.ends();
      if (any) expect(ids(await waiting)).toEqual(['c-1']);
      else await expect(waiting).rejects.toThrow('no answer from s1');
      expect(ids(reported)).toEqual(['c-1']);
      // The first error is reported by the caller.
      expect(written.stderr).toBe(any ? '' : 'goshawk: no answer from s2\n');
    }
  });

  it('fails with `any` if the schedulers of all jobs are gone', async () => {
    const { context } = recordingContext();
    const a = fakeJob('a-1');
    a.fails(new UnreachableError('owner-gone', 'no answer from s1'));
    const waiting = waitForJobs(context, [a.handle], { any: true, ended: () => {} });
    await expect(waiting).rejects.toThrow('no answer from s1');
  });

  it('shows results of ended jobs even if another has not ended in time', async () => {
    for (const json of [false, true]) {
      const { context, written } = recordingContext({ global: { json } });
      const [a, b] = [fakeJob('a-1'), fakeJob('b-1')];
      a.ends();
      const result = { state: 'completed', exitCode: null, value: 7 };
      Object.assign(a.handle, {
        eachResult: async function* () {
          yield result;
        },
        results: async () => [result],
      });
      const request = { results: true, waitTimeout: 20 };
      await expect(awaitEnds(context, [a.handle, b.handle], request)).rejects.toThrow('b-1 has not ended');
      expect(written.stdout).toContain(json ? '"results":[{"state":"completed"' : '7\n');
    }
  });

  it('ends with Ctrl-C, and shows how to continue', async () => {
    const interrupt = new AbortController();
    const { context, written } = recordingContext({ interrupted: interrupt.signal });
    const a = fakeJob('a-1');
    const waiting = waitForJobs(context, [a.handle], { ended: () => {} });
    a.progresses({ running: 1 });
    interrupt.abort('SIGINT');
    const error = await waiting.catch((thrown) => thrown);
    expect(error).toBeInstanceOf(DetachedError);
    expect(leave(context, error)).toBe(130);
    expect(written.stderr).toBe(
      [
        'no longer waiting; the job continues',
        '  goshawk wait a-1     waits again',
        '  goshawk cancel a-1   cancels',
        '',
      ].join('\n'),
    );
    const json = recordingContext({ global: { json: true } }).context;
    expect(() => leave(json, error)).toThrow(error);
  });

  it('shows that all unfinished jobs are on hold', async () => {
    const { context, written } = recordingContext({ global: { progress: 'plain' } });
    const [a, b] = [fakeJob('a-1'), fakeJob('b-1')];
    const waiting = waitForJobs(context, [a.handle, b.handle], { timeoutMs: 50, ended: () => {} });
    a.ends({ tasks: taskCounts({ completed: 1 }) });
    b.isHeld({ waiting: 3 });
    await expect(waiting).rejects.toThrow('b-1 has not ended');
    expect(written.stderr).toBe('2 jobs: 1 of 4 (25%), on hold until `goshawk release`\n');
  });

  it('shows the combined progress', async () => {
    const { context, written } = recordingContext({ global: { progress: 'plain' } });
    const [a, b] = [fakeJob('a-1'), fakeJob('b-1')];
    a.progresses({ running: 1, completed: 3 });
    b.progresses({ waiting: 5, failed: 1 });
    const waiting = waitForJobs(context, [a.handle, b.handle], { ended: (job) => context.out(job.id) });
    a.ends({ tasks: taskCounts({ completed: 4 }) });
    b.ends({ tasks: taskCounts({ completed: 5, failed: 1 }) });
    await waiting;
    expect(written.stderr).toBe('2 jobs: 10 of 10 (100%), 1 failed\n');
    expect(written.stdout).toBe('a-1\nb-1\n');
  });
});
