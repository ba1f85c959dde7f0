import type { Context } from '@goshawk/command';
import { type JobDetail, type JobSummary, sumOf } from '@goshawk/core';

/** Returns a completed job, with overrides. */
export function jobSummary(more: Partial<JobSummary> = {}): JobSummary {
  return {
    id: 'a1-3',
    name: 'sweep',
    user: 'ann',
    class: 'short',
    classifiedBy: 'given',
    estimateMs: undefined,
    state: 'completed',
    tasks: taskCounts({ completed: 200 }),
    submittedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
    startedMs: 3,
    endedMs: 5_200,
    ...more,
  };
}

export function jobDetail(more: Partial<JobDetail> = {}): JobDetail {
  return {
    ...jobSummary(more),
    stages: [stageDetail({ name: 'tasks', state: 'completed', tasks: 200 })],
    attempts: { total: 200, failed: 0, lost: 0 },
    attemptList: [],
    failures: [],
    failuresTruncated: false,
    meanRunMs: 500,
    wastedMs: 0,
    priority: 'normal',
    firstStartMs: 3,
    running: [],
    ...more,
  };
}

/** Returns a stage without predecessors, all of whose tasks have its state. */
export function stageDetail(
  stage: Pick<StageDetail, 'name' | 'tasks' | 'state'> & Partial<StageDetail>,
): StageDetail {
  const { state, tasks } = stage;
  const counts = taskCounts({ [state === 'blocked' ? 'waiting' : state]: tasks });
  return { unfinished: 0, demand: {}, after: [], counts, ...stage };
}

type StageDetail = JobDetail['stages'][number];

/** Returns task counts with their total. */
export function taskCounts(states: Partial<Omit<JobSummary['tasks'], 'total'>>): JobSummary['tasks'] {
  const counts = { waiting: 0, running: 0, completed: 0, failed: 0, cancelled: 0, ...states };
  return { total: sumOf(Object.values(counts)), ...counts };
}

/** Returns a context that records the output of a command. */
export function recordingContext(
  more: Partial<Omit<Context, 'global'>> & { readonly global?: Partial<Context['global']> } = {},
) {
  const written = { stdout: '', stderr: '' };
  const streamOf = (name: 'stdout' | 'stderr') => ({
    write: (text: string | Uint8Array) => {
      written[name] += typeof text === 'string' ? text : Buffer.from(text).toString('latin1');
    },
  });
  const stdout = streamOf('stdout');
  const stderr = streamOf('stderr');
  const context: Context = {
    configFile: {},
    color: false,
    errorColor: false,
    columns: 80,
    stdout,
    stderr,
    show: (value, words) => (context.global.json ? context.json(value) : context.out(words())),
    out: (text) => stdout.write(`${text}\n`),
    json: (value) => stdout.write(`${JSON.stringify(value)}\n`),
    note: (text) => stderr.write(`${text}\n`),
    readInput: async () => new Uint8Array(),
    interrupted: new AbortController().signal,
    environment: {},
    cwd: '/here',
    executable: '/here/goshawk.js',
    ...more,
    global: {
      json: false,
      quiet: false,
      verbose: false,
      config: undefined,
      color: true,
      cluster: undefined,
      keys: undefined,
      progress: 'none',
      ...more.global,
    },
  };
  return { context, written };
}
