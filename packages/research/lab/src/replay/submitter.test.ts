import type { EndedJobWithTasks } from '@goshawk/client';
import { GoshawkError, InputError } from '@goshawk/core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { endedAs, plannedJob } from './ended-job.fixture.js';
import type { PlannedJob } from './plan.js';
import { type JobTaker, type SubmitOptions, submitOnTime } from './submitter.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A cluster in which each job ends after `lifeMs` unless the test overrides it. */
class FakeCluster implements JobTaker {
  readonly submittedAt: number[] = [];
  readonly cancelled: string[] = [];
  lifeMs = 100;
  onSubmit: (number: number) => void = () => {};
  onWait: (number: number) => Promise<EndedJobWithTasks> | undefined = () => undefined;

  async submit(_job: PlannedJob['input'], { signal }: { signal: AbortSignal }) {
    const number = this.submittedAt.push(performance.now());
    this.onSubmit(number);
    const id = `j${number}`;
    return {
      id,
      cancel: async () => {
        this.cancelled.push(id);
        return {} as never;
      },
      wait: () =>
        this.onWait(number) ??
        new Promise<EndedJobWithTasks>((resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          setTimeout(() => resolve(endedAs({ id, endedAtMs: performance.now() })), this.lifeMs);
        }),
    };
  }
}

function setUp(submitMs: readonly number[], changes: Partial<SubmitOptions> = {}) {
  const cluster = new FakeCluster();
  const abort = new AbortController();
  const progress: { submitted: number; ended: number }[] = [];
  const jobs = submitMs.map((at) => plannedJob({ submitMs: at }));
  const options: SubmitOptions = {
    signal: abort.signal,
    cancelOnAbort: false,
    stallMs: 10_000,
    onProgress: ({ submitted, ended }) => progress.push({ submitted, ended }),
    ...changes,
  };
  const began = performance.now();
  // The outcome is awaited only after the run may have failed.
  const run = () => {
    const outcome = submitOnTime(cluster, jobs, options).then(
      (ended) => ({ ended, error: undefined }),
      (error: unknown) => ({ ended: [], error }),
    );
    return outcome;
  };
  return { cluster, abort, progress, began, run };
}

describe('submitOnTime', () => {
  it('submits each job on time regardless of the others and waits for the last', async () => {
    const { cluster, began, progress, run } = setUp([0, 40, 40, 1_000]);
    cluster.lifeMs = 5_000;
    const outcome = run();
    await vi.advanceTimersByTimeAsync(7_000);
    const { ended } = await outcome;
    const first = cluster.submittedAt[0]!;
    expect(first - began).toBeLessThanOrEqual(60);
    expect(cluster.submittedAt.map((at) => Math.round(at - first))).toEqual([0, 40, 40, 1_000]);
    expect(ended).toHaveLength(4);
    expect(Math.round(ended[3]!.submittedMs)).toBe(1_000);
    expect(Math.round(ended[3]!.endedMs)).toBe(6_000);
    expect(progress.at(-1)).toEqual({ submitted: 4, ended: 4 });
    expect(progress).toContainEqual({ submitted: 3, ended: 0 });
  });

  it('leaves no timer active', async () => {
    const { run } = setUp([0, 10]);
    const outcome = run();
    await vi.advanceTimersByTimeAsync(1_000);
    await outcome;
    expect(vi.getTimerCount()).toBe(0);
  });

  it('fails after the others have ended if the end of a job is unknown', async () => {
    const { cluster, run } = setUp([0, 10, 20]);
    cluster.onWait = (number) =>
      number === 2 ? Promise.reject(new GoshawkError('owner-gone', 'its scheduler is gone')) : undefined;
    const outcome = run();
    await vi.advanceTimersByTimeAsync(1_000);
    const { error } = await outcome;
    expect(error).toMatchObject({ code: 'jobs-lost' });
    expect((error as Error).message).toContain(
      'the outcome of 1 of 3 jobs is unknown (job: its scheduler is gone)',
    );
  });

  it('stops at the first job that the cluster rejects', async () => {
    const { cluster, run } = setUp([0, 10_000]);
    const refusal = new InputError('impossible-demand', 'no worker has so much memory');
    cluster.onSubmit = () => {
      throw refusal;
    };
    const outcome = run();
    await vi.advanceTimersByTimeAsync(100);
    expect((await outcome).error).toBe(refusal);
    expect(cluster.submittedAt).toHaveLength(1);
  });

  it('gives up if nothing progresses', async () => {
    const { cluster, run } = setUp([0]);
    cluster.lifeMs = 1e9;
    const outcome = run();
    await vi.advanceTimersByTimeAsync(11_000);
    expect((await outcome).error).toMatchObject({ code: 'replay-stalled' });
  });

  it.each([true, false])(
    'ends with the reason of an interruption and cancels active jobs: %s',
    async (cancelOnAbort) => {
      const { cluster, abort, run } = setUp([0, 10, 60_000], { cancelOnAbort });
      cluster.lifeMs = 1e6;
      cluster.onWait = (number) => (number === 1 ? Promise.resolve(endedAs()) : undefined);
      const outcome = run();
      await vi.advanceTimersByTimeAsync(1_000);
      abort.abort('SIGINT');
      await vi.advanceTimersByTimeAsync(0);
      expect((await outcome).error).toBe('SIGINT');
      expect(cluster.cancelled).toEqual(cancelOnAbort ? ['j2'] : []);
      await vi.advanceTimersByTimeAsync(120_000);
      expect(cluster.submittedAt).toHaveLength(2);
    },
  );
});
