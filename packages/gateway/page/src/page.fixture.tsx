import type { ComponentChild } from 'preact';
import { render } from 'preact-render-to-string';
import { parseAddress } from './router.js';
import type { Attention, Job, JobSummary, Overview, Session, Stream, Worker } from './shapes.js';
import { Store, StoreContext } from './store.js';

export const NOW = Date.parse('2026-03-02T10:00:00.000Z');

/** Returns a time so many seconds before `NOW`. */
export function ago(seconds: number): string {
  return new Date(NOW - 1_000 * seconds).toISOString();
}

/** A store of a user with a role at an address, at `NOW`. */
export function storeAt(hash = '#/', role: Session['role'] = 'operate'): Store {
  const store = new Store();
  store.address.value = parseAddress(hash);
  store.session.value = { schema: 'goshawk.session/1', cluster: 'tcp://h:1', role };
  store.now.value = NOW;
  store.updatedAt.value = NOW;
  return store;
}

/** Renders as HTML, without a browser. */
export function html(child: ComponentChild, store: Store = storeAt()): string {
  return render(<StoreContext.Provider value={store}>{child}</StoreContext.Provider>);
}

/** Renders as text without markup. */
export function text(child: ComponentChild, store?: Store): string {
  return html(child, store)
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

const TASKS = { total: 3, waiting: 1, running: 1, completed: 1, failed: 0, cancelled: 0 };

export function summary(more: Partial<JobSummary> = {}): JobSummary {
  return {
    ...{ id: 'a-1', name: 'etl', user: 'ann', class: 'short', classifiedBy: 'given', estimateSeconds: 2 },
    ...{ state: 'running', held: false, beginAt: null, retryOf: null, tasks: TASKS },
    ...{ submittedAt: ago(90), startedAt: ago(80), endedAt: null, deadlineAt: null, deadlineMet: null },
    expectedEnd: null,
    ...more,
  };
}

export function job(more: Partial<Job> = {}): Job {
  return {
    ...{ schema: 'goshawk.job/1', ...summary(), attempts: [], attemptsTruncated: false },
    ...{
      attemptCounts: { total: 0, failed: 0, lost: 0 },
      sampling: null,
      failures: [],
      failuresTruncated: false,
    },
    ...{ timeLimitSeconds: null, priority: 'normal', open: false, meanRunSeconds: null, lostSeconds: 0 },
    ...{ after: [], cancelReason: null, stages: [stage('tasks')] },
    ...more,
  };
}

export function stage(name: string, more: Partial<Job['stages'][number]> = {}): Job['stages'][number] {
  return {
    ...{ name, state: 'running', tasks: 3, unfinished: 0, counts: TASKS, after: [], estimateSeconds: 2 },
    ...{ command: 'sh -c "exit 3"', commandsDiffer: false, demand: { cpu: 2, memory: 2 ** 30 } },
    ...{ meanRunSeconds: 1.5, ...more },
  };
}

export function attempt(
  task: number,
  from: number,
  runSeconds: number,
  more: object = {},
): Job['attempts'][number] {
  return {
    ...{
      task,
      attempt: 1,
      state: 'completed',
      worker: 'w1',
      gpus: [],
      startedAt: ago(90 - from),
      runSeconds,
    },
    ...{ code: null, message: null, exitCode: 0, signal: null, ...NOT_LENT, ...more },
  };
}

/** An attempt whose CPUs were never lent. */
export const NOT_LENT = {
  pausedSeconds: 0,
  lentTo: null,
  borrowedFrom: [],
  toChild: false,
  fromParent: false,
};

export function item(more: Partial<Attention> = {}): Attention {
  return {
    ...{
      key: 'lost w9',
      level: 'error',
      what: '1 worker lost: w9',
      hint: 'see `its log`',
      link: '#/workers/w9',
    },
    ...{ since: ago(30), times: 1, over: null, actions: [], ...more },
  };
}

export function overview(more: Partial<Overview> = {}): Overview {
  return {
    ...{ schema: 'goshawk.overview/1', cluster: 'tcp://h:1', policy: 'goshawk', reachable: true },
    workers: { active: 3, draining: 0, drained: 0, quarantined: 0, lost: 1 },
    ...{ slots: 48, busy: 47, cpusBusy: 46, free: 2, queued: 0, schedulers: 2, jobs: 5, silent: [] },
    ...{ lastSeen: null, waiting: [], failedJobs: 0, attention: [], ...more },
  };
}

export function worker(name: string, more: Partial<Worker> = {}): Worker {
  return {
    ...{ name, slots: 4, isShort: false, state: 'active', busy: 2, long: 0, queued: 1, cpus: 3 },
    ...more,
  };
}

export const STREAM: Stream = {
  ...{ schema: 'goshawk.stream/1', from: ago(60), to: ago(0), bucketSeconds: 10, bucketsFrom: ago(60) },
  workers: [{ name: 'w0', slots: 2, partition: 'general', state: 'active', busy: [50], hidden: [0] }],
  total: 1,
  jobs: [
    { id: 'a-1', name: 'etl', user: 'ann' },
    { id: 'a-2', name: 'etl', user: 'ann' },
    { id: 'a-3', name: 'two words', user: null },
  ],
  states: ['running', 'completed', 'failed', 'lost', 'cancelled', 'unknown'],
  bars: [
    [0, 0, 3, 1, 1, 1_000, 2_000, 1, 0],
    [0, 1, 0, 1, 0, 5_000, 1_000, 1, 500],
    [0, 2, 0, 1, 0, 9_000, 500, 2, 0],
  ],
  ...{ omitted: 0, reserved: [null] },
};
