import { TestCluster } from '@goshawk/cli/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChromeEvent, ChromeTrace } from './chrome.js';
import { Perfetto, type Row } from './perfetto.fixture.js';

const PERFETTO = await Perfetto.get();

/** Workers of several slots, and enough for all of these to be busy at a time; some fail, some are tried twice. */
const JOBS = [
  ['--tasks', '60', '--sleep', '30ms'],
  ['--tasks', '20', '--sleep', '200ms', '--name', 'ünïcode "quoted" \\'],
  ['--tasks', '3', '--', 'sh', '-c', 'exit 3'],
  ['--tasks', '2', '--retries', '1', '--', 'sh', '-c', 'echo no; exit 4'],
];

describe.runIf(PERFETTO !== undefined)('trace export, opened by Perfetto', () => {
  let cluster: TestCluster;

  beforeAll(async () => {
    cluster = await TestCluster.start(['--workers', '3', '--slots', '4', '--schedulers', '2']);
    await Promise.all(JOBS.map((job) => cluster.goshawk(['submit', '--wait', ...job])));
  });

  afterAll(async () => {
    await cluster?.stop();
    await PERFETTO?.remove();
  });

  it('reads every event where it belongs, and complains of none', async () => {
    let text = '';
    let events: readonly ChromeEvent[] = [];
    // The journal may hold the last end a moment after the client has its result.
    const exported = async () => {
      text = (await cluster.goshawk(['trace', 'export', '--out', '-'])).stdout;
      events = (JSON.parse(text) as ChromeTrace).traceEvents;
      return events.filter(({ ph }) => ph === 'b').length;
    };
    await expect.poll(exported).toBe(JOBS.length);
    const [complaints, processes, threads, runs, jobs] = (await PERFETTO!.rowsOf(text, [
      "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0",
      'SELECT pid, name FROM process WHERE pid > 0 ORDER BY pid',
      `SELECT process.name AS worker, thread.name AS row FROM thread JOIN process USING (upid)
        WHERE thread.name IS NOT NULL`,
      `SELECT slice.name, category, ts, dur, depth, process.name AS worker, thread.name AS row,
        EXTRACT_ARG(slice.arg_set_id, 'args.job') AS job, EXTRACT_ARG(slice.arg_set_id, 'args.error') AS error
        FROM slice JOIN thread_track ON track_id = thread_track.id JOIN thread USING (utid)
        JOIN process USING (upid)`,
      `SELECT slice.name, category, ts, dur, process.name AS process, EXTRACT_ARG(slice.arg_set_id, 'args.state') AS state
        FROM slice JOIN process_track ON track_id = process_track.id JOIN process USING (upid)
       `,
    ])) as [Row[], Row[], Row[], Row[], Row[]];
    expect(complaints).toEqual([]);

    const nameOf = new Map<string, unknown>();
    for (const { name, pid, tid, args } of events) {
      if (name === 'process_name') nameOf.set(`${pid}`, args.name);
      if (name === 'thread_name') nameOf.set(`${pid}/${tid}`, args.name);
    }
    expect(processes.map(({ pid, name }) => [`${pid}`, name])).toEqual(
      [...nameOf].filter(([key]) => !key.includes('/')),
    );
    const rows = [...nameOf].flatMap(([key, row]) =>
      key.includes('/') ? [{ worker: nameOf.get(key.split('/')[0]!), row }] : [],
    );
    // One for each task at a time, at least.
    expect(rows.length).toBeGreaterThanOrEqual(3 * 4);
    expect(sorted(threads)).toEqual(sorted(rows));

    const wroteRuns = events.filter(({ ph }) => ph === 'X');
    expect(wroteRuns).toHaveLength(60 + 20 + 3 + 2 * 2);
    const expected = wroteRuns.map(({ name, cat, ts, dur, pid, tid, args }) => ({
      name,
      category: cat,
      ts: 1_000 * ts!,
      dur: 1_000 * dur!,
      depth: 0,
      worker: nameOf.get(`${pid}`),
      row: nameOf.get(`${pid}/${tid}`),
      job: args.job,
      error: args.error ?? null,
    }));
    expect(sorted(runs)).toEqual(sorted(expected));

    const begun = events.filter(({ ph }) => ph === 'b');
    const wroteJobs = begun.map(({ name, cat, ts, id2, args }) => {
      const end = events.find((event) => event.ph === 'e' && event.id2!.local === id2!.local)!;
      return {
        name,
        category: cat,
        ts: 1_000 * ts!,
        dur: 1_000 * (end.ts! - ts!),
        process: 'jobs',
        state: args.state,
      };
    });
    expect(sorted(jobs)).toEqual(sorted(wroteJobs));
  });

  it('complains of a trace that is none', async () => {
    const overlapping = [0, 50].map((ts) => ({
      ph: 'X',
      name: 'run',
      cat: 'a',
      ts,
      dur: 100,
      pid: 1,
      tid: 2,
    }));
    const [complaints] = await PERFETTO!.rowsOf(JSON.stringify({ traceEvents: overlapping }), [
      "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0",
    ]);
    expect(complaints).toEqual([{ name: 'slice_drop_overlapping_complete_event', value: 1 }]);
  });
});

function sorted(rows: readonly Readonly<Record<string, unknown>>[]) {
  const keyOf = ({ ts, worker, row, name }: Readonly<Record<string, unknown>>) =>
    [ts, worker, row, name].join();
  return [...rows].sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
}
