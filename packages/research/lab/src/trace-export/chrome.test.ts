import { COMPLETED, type JobRecord, PRESETS, parseJobSpec } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { brokenRules } from './chrome.fixture.js';
import { ChromeTracing } from './chrome.js';

const START = 1_700_000_000_000;
const spec = parseJobSpec({ name: 'words', tasks: { count: 3, run: { sleep: 1 } } });
const ALL = () => true;

function records(
  job: number,
  at: number,
  runs: readonly (readonly [worker: string, at: number, runMs: number])[],
): JobRecord[] {
  const last = Math.max(at, ...runs.map(([, end]) => end));
  return [
    {
      kind: 'accepted',
      job,
      at: START + at,
      key: undefined,
      spec,
      class: 'short',
      classifiedBy: 'given',
      route: PRESETS.hawk.short,
    },
    ...runs.map(
      ([worker, end, runMs], task): JobRecord => ({
        kind: 'attempt',
        job,
        at: START + end,
        task,
        attempt: 1,
        outcome: COMPLETED,
        worker,
        runMs,
      }),
    ),
    { kind: 'ended', job, at: START + last, state: 'completed' },
  ];
}

function tracing(...all: JobRecord[]): ChromeTracing {
  const traced = new ChromeTracing();
  for (const record of all) traced.note({ ...record, id: `a-${record.job}` });
  return traced;
}

describe('a trace of jobs and workers for a viewer', () => {
  it('begins with the first job', () => {
    const jobs = Array.from({ length: 130_000 }, (_, at) => records(1 + at, 130_000 - at, []));
    const { traceEvents } = tracing(...jobs.slice(0, 2).flat()).trace(ALL)!;
    expect(traceEvents.filter(({ ph }) => ph === 'b').map((event) => 'ts' in event && event.ts)).toEqual([
      1_000, 0,
    ]);
    const traced = new ChromeTracing();
    for (const job of jobs) for (const record of job) traced.note({ ...record, id: `a-${record.job}` });
    expect(traced.trace(ALL)!.traceEvents.length).toBeGreaterThan(jobs.length);
  });

  it('has a track for jobs and one for each worker, in µs since the first job', () => {
    const trace = tracing(
      ...records(1, 10, [
        ['w10', 30, 15.5],
        ['w2', 40, 5],
      ]),
    ).trace(ALL)!;
    expect(brokenRules(JSON.parse(JSON.stringify(trace)))).toEqual([]);
    const names = trace.traceEvents.flatMap((event) =>
      event.name === 'process_name' ? [event.args.name] : [],
    );
    expect(names).toEqual(['jobs', 'w2', 'w10']);
    const runs = trace.traceEvents.filter(({ ph }) => ph === 'X');
    expect(runs).toMatchObject([
      {
        name: 'words 0',
        ts: 4_500,
        dur: 15_500,
        pid: 3,
        tid: 4,
        args: { job: 'a-1', task: 0, waitedMs: 4.5 },
      },
      { name: 'words 1', ts: 25_000, dur: 5_000, pid: 2, tid: 4 },
    ]);
    expect(trace.traceEvents.filter(({ ph }) => ph === 'b' || ph === 'e')).toMatchObject([
      { ph: 'b', id2: { local: 'a-1' }, ts: 0, args: { state: 'completed', runs: 2 } },
      { ph: 'e', id2: { local: 'a-1' }, ts: 30_000 },
    ]);
  });

  it('has a row per concurrent task of a worker', () => {
    const trace = tracing(
      ...records(1, 0, [
        ['w', 20, 20],
        ['w', 15, 10],
        ['w', 40, 20],
      ]),
    ).trace(ALL)!;
    expect(brokenRules(trace)).toEqual([]);
    expect(trace.traceEvents.flatMap((event) => (event.ph === 'X' ? [event.tid] : []))).toEqual([3, 4, 3]);
    const rows = trace.traceEvents.flatMap(({ name, args }) => (name === 'thread_name' ? [args.name] : []));
    expect(rows).toEqual(['row 1', 'row 2']);
  });

  it('lists the jobs that have ended', () => {
    const [underway] = records(3, 90, []);
    const all = tracing(...records(1, 50, [['w', 60, 10]]), ...records(2, 0, [['w', 80, 10]]), underway!);
    expect(all.ended()).toMatchObject([{ id: 'a-1' }, { id: 'a-2' }]);
    expect(tracing().ended()).toEqual([]);
  });

  it('leaves out unfinished jobs and those not selected', () => {
    const [accepted] = records(2, 5, []);
    const traced = tracing(...records(1, 0, [['w', 9, 9]]), accepted!);
    expect(traced.trace(({ id }) => id === 'a-2')).toBeUndefined();
    expect(traced.trace(ALL)!.traceEvents.filter(({ ph }) => ph === 'b')).toHaveLength(1);
  });

  it('conforms to the format for all jobs', () => {
    const run = fc.tuple(
      fc.constantFrom('w0', 'w1'),
      fc.double({ min: 0, max: 50, noNaN: true }),
      fc.double({ min: 0, max: 50, noNaN: true }),
    );
    const job = fc.tuple(fc.double({ min: 0, max: 50, noNaN: true }), fc.array(run, { maxLength: 12 }));
    fc.assert(
      fc.property(fc.array(job, { minLength: 1, maxLength: 6 }), (jobs) => {
        const all = jobs.flatMap(([at, runs], index) =>
          records(
            index + 1,
            at,
            runs.map(([worker, wait, runMs]) => [worker, at + wait + runMs, runMs] as const),
          ),
        );
        expect(brokenRules(tracing(...all).trace(ALL))).toEqual([]);
      }),
    );
  });
});
