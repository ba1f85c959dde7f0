import { ANSWERS, COMPLETED, LIMITS, type Message, type MessageOf, parseJobSpec } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { CENTRAL, CLIENT, joined, loneScheduler, W1, welcome } from '../lone-scheduler.fixture.js';

const job = { tasks: [{ sleep: 1 }, { sleep: 1 }] };

function types(bench: DurableBench): string[] {
  return bench.take().map(({ type }) => type);
}

describe('with a journal', () => {
  test('scheduling starts at once, and the answer waits for the disk', () => {
    const bench = new DurableBench();
    bench.members(W1);
    bench.take();
    bench.submit(job);
    expect(types(bench)).toEqual(['probe', 'probe', 'probe', 'probe']);
    bench.commit();
    expect(types(bench)).toEqual(['accepted']);
  });

  test('the observer of a job is notified of its record once it is durable', () => {
    const seen: string[] = [];
    const bench = new DurableBench(
      undefined,
      0,
      true,
      {},
      {
        jobAccepted: ({ id }) => void seen.push(`accepted ${id}`),
        jobRecorded: ({ id }) => void seen.push(`recorded ${id}`),
      },
    );
    bench.submit(job);
    expect(seen).toEqual(['accepted s-1']);
    bench.commit();
    expect(seen).toEqual(['accepted s-1', 'recorded s-1']);
  });

  test('a repeated submission is not answered before it is durable', () => {
    const bench = new DurableBench();
    bench.submit(job, 'k', 1);
    bench.submit(job, 'k', 2);
    expect(types(bench)).toEqual([]);
    bench.commit();
    expect(bench.take()).toMatchObject([
      { type: 'accepted', request: 1, value: { job: 's-1' } },
      { type: 'accepted', request: 2, value: { job: 's-1' } },
    ]);
  });

  test('a report is confirmed, and the end sent, once it is durable', () => {
    const bench = new DurableBench();
    bench.members(W1);
    bench.submit({ tasks: [{ sleep: 1 }] });
    bench.commit();
    bench.receive(CLIENT, { type: 'watchJob', request: 9, id: 's-1', detail: false, soon: undefined });
    bench.end(W1, bench.ask(W1, 1)!);
    expect(types(bench)).toEqual([]);
    bench.scheduler.recorded(bench.records.length - 1, bench.now);
    // The end of the attempt is durable, but not the end of the job.
    expect(types(bench)).toEqual(['confirm']);
    bench.commit();
    expect(bench.take()).toMatchObject([{ type: 'jobEnded' }]);
  });

  test('a failed journal sends no answers', () => {
    const bench = new DurableBench();
    bench.submit(job);
    bench.scheduler.journalChanged({ kind: 'failed', message: 'EIO' }, bench.now);
    bench.commit();
    bench.receive(CLIENT, { type: 'describeJob', request: 2, id: 's-1', spec: false });
    expect(types(bench)).toEqual([]);
  });

  test('a full disk refuses new jobs, and still answers requests about existing ones', () => {
    const bench = new DurableBench();
    bench.submit(job);
    bench.commit();
    bench.take();
    bench.scheduler.journalChanged({ kind: 'full', message: 'the disk of /data is full' }, bench.now);
    bench.submit(job, 'another');
    expect(bench.take()).toMatchObject([
      { type: 'refused', code: 'journal-full', message: 'the disk of /data is full' },
    ]);
    bench.submit(job);
    expect(types(bench)).toEqual(['accepted']);
    const journalNow = () => {
      bench.receive(CLIENT, { type: 'readCounters', request: 9 });
      return (bench.take()[0] as MessageOf<'counters'>).value.takesNoJobs;
    };
    expect(journalNow()).toEqual({ full: 1, away: 0 });
    bench.scheduler.journalChanged({ kind: 'open' }, bench.now);
    expect(journalNow()).toEqual({ full: 0, away: 0 });
    bench.submit(job, 'another', 2);
    bench.commit();
    expect(types(bench)).toEqual(['accepted']);
  });

  test('a job of an earlier incarnation is restarted once there is a policy for it', () => {
    const first = new DurableBench();
    first.members(W1);
    first.submit({ tasks: [{ sleep: 1 }] });
    first.end(W1, first.ask(W1, 1)!, FAILED);
    first.commit();
    const bench = new DurableBench(first.inheritance(), 0, false);
    bench.take();
    bench.retry();
    expect(bench.take()).toMatchObject([{ type: 'refused', request: 9, code: 'not-ready' }]);
  });

  test('a disk that falls far behind takes no more jobs for now', () => {
    const bench = new DurableBench();
    for (let i = 0; i < LIMITS.unrecordedJobsMax; i++) bench.accept({ tasks: [{ sleep: 1 }] });
    expect(types(bench)).toEqual([]);
    bench.submit(job, 'one too many', 5);
    bench.commit();
    expect(bench.take().at(-1)).toMatchObject({ type: 'refused', request: 5, code: 'not-ready' });
  });

  test('a key with another job is a conflict', () => {
    const bench = new DurableBench();
    bench.submit(job);
    bench.submit({ tasks: [{ sleep: 2 }, { sleep: 1 }] }, 'k', 2);
    bench.commit();
    expect(bench.take()).toMatchObject([{ type: 'accepted' }, { type: 'refused', code: 'key-conflict' }]);
  });

  test('read requests do not wait for the disk', () => {
    const bench = new DurableBench();
    bench.submit(job);
    bench.take();
    const request = 5;
    for (const question of [
      { type: 'describeJob', request, id: 's-1', spec: true },
      { type: 'listJobs', request, states: [], user: undefined, where: undefined, endedMax: 9, jobsMax: 9 },
      { type: 'explainJob', request, id: 's-1', task: undefined },
      { type: 'explainWaiting', request },
      {
        type: 'readLogs',
        request,
        id: 's-1',
        task: undefined,
        failedOnly: false,
        cursor: 0,
        attempt: undefined,
      },
      { type: 'readCounters', request },
    ] as const) {
      bench.receive(CLIENT, question);
      expect(bench.take()).toMatchObject([{ type: ANSWERS[question.type][0], request }]);
    }
    bench.receive(CLIENT, { type: 'watchJob', request, id: 's-1', detail: false, soon: undefined });
    expect(bench.take()).toEqual([]);
    bench.now = bench.timers.get('progress 0')!;
    bench.scheduler.wake('progress', 0, bench.now);
    expect(bench.take()).toMatchObject([{ type: 'jobProgress', request, value: { state: 'waiting' } }]);
    bench.receive(CLIENT, { type: 'describeJob', request, id: 's-7', spec: true });
    expect(bench.take()).toMatchObject([{ type: 'refused', code: 'unknown-job' }]);
  });

  test('a watcher of an ended job gets keepalives, and the end once it is durable', () => {
    const bench = new DurableBench();
    bench.members(W1);
    bench.submit({ tasks: [{ sleep: 1 }] });
    bench.commit();
    bench.end(W1, bench.ask(W1, 1)!);
    bench.receive(CLIENT, { type: 'watchJob', request: 9, id: 's-1', detail: false, soon: undefined });
    expect(bench.take()).toEqual([]);
    // The client asks again.
    bench.now += 1_000;
    bench.receive(CLIENT, { type: 'watchJob', request: 9, id: 's-1', detail: false, soon: undefined });
    expect(bench.take()).toMatchObject([{ type: 'jobProgress', request: 9 }]);
    bench.commit();
    const end = { type: 'jobEnded', request: 9 };
    expect(bench.take()).toMatchObject([{ type: 'confirm' }, end, end]);
  });

  test('while the journal is down, jobs are refused, and cancellations are accepted with a notice', () => {
    const bench = new DurableBench();
    bench.submit(job);
    bench.commit();
    bench.take();
    const message = 'the disk is full: nothing is written';
    bench.scheduler.journalChanged({ kind: 'stopped', message }, bench.now);
    bench.submit(job, 'another');
    expect(bench.take()).toMatchObject([{ type: 'refused', code: 'journal-full', message }]);
    bench.receive(CLIENT, { type: 'cancelJob', request: 5, id: 's-1' });
    expect(bench.take().at(-1)).toMatchObject({
      type: 'refused',
      code: 'journal-pending',
      message: `${message}; the request is pending, and takes effect once it is written`,
    });
    bench.receive(CLIENT, { type: 'describeJob', request: 6, id: 's-1', spec: false });
    expect(bench.take()).toMatchObject([{ value: { state: 'cancelled' } }]);
    bench.scheduler.journalChanged({ kind: 'open' }, bench.now);
    bench.commit();
    bench.receive(CLIENT, { type: 'cancelJob', request: 7, id: 's-1' });
    expect(types(bench)).toEqual(['jobSummary']);
  });

  test('the queue for the disk is bounded: reports stay at workers, and jobs are refused', () => {
    const bench = new DurableBench(undefined, 0, true, { memoryBytes: 1_000_000 });
    bench.members(W1);
    bench.submit({ tasks: { count: 9, run: { sleep: 1 } } });
    bench.commit();
    const value = 'x'.repeat(100_000);
    const bound = Array.from({ length: 3 }, () => bench.ask(W1, 1)!);
    for (const of of bound) bench.end(W1, of, { ...COMPLETED, value });
    expect(bench.records.filter(({ kind }) => kind === 'attempt')).toHaveLength(2);
    bench.submit(job, 'another', 5);
    expect(bench.take()).toMatchObject([{ type: 'refused', request: 5, code: 'not-ready' }]);
    bench.commit();
    expect(types(bench)).toEqual(['confirm', 'confirm']);
    bench.end(W1, bound[2]!, { ...COMPLETED, value });
    bench.commit();
    expect(types(bench)).toEqual(['confirm']);
  });

  test('delayed answers are bounded', () => {
    const bench = new DurableBench(undefined, 0, true, { memoryBytes: 100_000 });
    bench.submit(job);
    for (let request = 2; request <= 1_000; request++) bench.submit(job, 'k', request);
    bench.commit();
    const answers = bench.take();
    expect(answers.length).toBeGreaterThan(5);
    expect(answers.length).toBeLessThan(100);
    bench.submit(job, 'k', 1_001);
    expect(types(bench)).toEqual(['accepted']);
  });
});

describe('return values of tasks', () => {
  const value = { of: 'x'.repeat(1_000) };

  test('are in the journal, and are read from there, even after a restart', () => {
    const first = new DurableBench();
    first.members(W1);
    const live = first.accept({ tasks: [{ sleep: 1 }, { sleep: 1 }] });
    first.end(W1, first.ask(W1, 1)!, { ...COMPLETED, value });
    first.end(W1, first.ask(W1, 1)!, FAILED);
    first.commit();
    expect(live.hasEnded).toBe(true);
    const again = new DurableBench(first.inheritance(), 1_000);
    for (const bench of [first, again]) {
      bench.take();
      bench.receive(CLIENT, { type: 'readResults', request: 1, id: 's-1', from: 0, order: undefined });
      bench.receive(CLIENT, { type: 'describeJob', request: 2, id: 's-1', spec: false });
      expect(bench.take()).toMatchObject([
        { value: { values: [{ task: 0, value }], next: undefined } },
        { value: { failures: [{ task: 1, code: 'exit', message: 'exit 1' }] } },
      ]);
    }
    expect(live.history.reports.valueOf(0, undefined)).toBeUndefined();
    expect(live.history.reports.bytes).toBeLessThan(1_000);
  });

  test('do not fit without a journal once the memory is full, and fail their tasks', () => {
    const sent: Message[] = [];
    const scheduler = loneScheduler({ memoryBytes: 100_000 }, { send: (_, message) => sent.push(message) });
    scheduler.start(0);
    scheduler.receive(CENTRAL, welcome(), 0);
    scheduler.receive(CENTRAL, joined(1, [W1], 4), 0);
    const job = scheduler.submit(parseJobSpec({ tasks: { count: 10, run: { sleep: 1 } } }), undefined, 0);
    for (let task = 0; task < 10; task++) {
      const of = { job: 1, stage: 0, again: false, placed: undefined };
      scheduler.receive(W1, { type: 'ask', ask: task + 1, ...of }, 1);
      const rest = { runMs: 1, output: [], outputBytes: 0, ask: 0, attempt: 1 };
      const outcome = { ...COMPLETED, value: 'x'.repeat(20_000) };
      scheduler.receive(W1, { type: 'ended', report: task + 1, job: 1, task, outcome, ...rest }, 2);
    }
    expect(job.counts).toMatchObject({ completed: 4, failed: 6 });
    expect(job.history.reports.errorOf(9, undefined)?.outcome).toMatchObject({ errorCode: 'no-room' });
  });
});

/** A scheduler that ran and recorded twenty jobs, not all of which fit into its memory. */
function twentyJobs(): DurableBench {
  const bench = new DurableBench(undefined, 0, true, { memoryBytes: 40_000 });
  bench.members(W1);
  for (let i = 1; i <= 20; i++) {
    bench.submit({ tasks: [{ sleep: 1 }] }, `k${i}`);
    bench.end(W1, bench.ask(W1, i)!);
    bench.commit();
  }
  bench.take();
  return bench;
}

test('ended jobs stay in the journal, and are read on request, even after a restart', () => {
  const first = twentyJobs();
  const second = new DurableBench(first.inheritance(), 1_000, true, { memoryBytes: 40_000 });
  second.take();
  for (const bench of [first, second]) {
    bench.receive(CLIENT, { type: 'watchJob', request: 10, id: 's-1', detail: false, soon: undefined });
    bench.receive(CLIENT, { type: 'describeJob', request: 11, id: 's-2', spec: false });
    bench.receive(CLIENT, {
      type: 'listJobs',
      request: 12,
      states: [],
      user: undefined,
      where: undefined,
      endedMax: 15,
      jobsMax: 100,
    });
    const [end, detail, list] = bench.take();
    expect(end).toMatchObject({ type: 'jobEnded', value: { job: { id: 's-1', state: 'completed' } } });
    expect(detail).toMatchObject({
      type: 'jobDetail',
      value: { state: 'completed', tasks: { completed: 1 } },
    });
    expect(list).toMatchObject({ type: 'jobList', value: { total: 20 } });
    const listed = list?.type === 'jobList' ? list.value.jobs.map(({ id }) => id) : [];
    expect(new Set(listed).size).toBe(15);
  }
});

test('an evicted job is reported as such, and keeps its key', () => {
  const bench = twentyJobs();
  bench.loseRecords();
  bench.submit({ tasks: [{ sleep: 1 }] }, 'k1', 9);
  bench.receive(CLIENT, { type: 'watchJob', request: 10, id: 's-1', detail: false, soon: undefined });
  expect(bench.take()).toMatchObject([
    { type: 'accepted', request: 9, value: { job: 's-1', state: 'completed' } },
    { type: 'refused', request: 10, code: 'forgotten-job', message: expect.stringContaining('completed') },
  ]);
  // The key is kept after a restart, with the records.
  const again = new DurableBench(bench.inheritance(), 1_000, true, { memoryBytes: 40_000 });
  again.submit({ tasks: [{ sleep: 1 }] }, 'k1', 9);
  again.commit();
  expect(again.take()).toMatchObject([{ type: 'accepted', value: { job: 's-1' } }]);
  // Numbers that a restart skips belong to no job.
  again.receive(CLIENT, { type: 'describeJob', request: 3, id: 's-5000', spec: false });
  expect(again.take()).toMatchObject([{ type: 'refused', code: 'unknown-job' }]);
});

test.each([0, 3_000_000, 200_000_000])(
  'an id without a trace is not called ended, when a start skips %d numbers',
  (skipped) => {
    const first = new DurableBench();
    first.accept({ tasks: [{ sleep: 1 }] });
    first.commit();
    const lastJob = 1 + LIMITS.unrecordedJobsMax + skipped;
    const bench = new DurableBench({ ...first.inheritance(), lastJob }, 1_000);
    bench.accept({ tasks: [{ sleep: 1 }] });
    bench.commit();
    bench.take();
    for (const number of [2, 5, Math.floor(lastJob / 2), lastJob, lastJob + 2]) {
      bench.receive(CLIENT, { type: 'describeJob', request: 3, id: `s-${number}`, spec: false });
      const [answer] = bench.take();
      expect(answer).toMatchObject({ type: 'refused', code: 'unknown-job' });
      expect((answer as MessageOf<'refused'>).message).not.toContain('has ended');
    }
  },
);

test('a job that does not fit into a smaller heap stays in the journal, with its key', () => {
  const first = new DurableBench();
  first.submit({ tasks: { count: 2_000, run: { sleep: 1 } } }, 'large');
  first.submit({ tasks: [{ sleep: 1 }] }, 'small', 2);
  first.commit();
  const left: string[] = [];
  const env = { leftInJournal: (job: string) => void left.push(job) };
  const again = new DurableBench(first.inheritance(), 1_000, true, { memoryBytes: 100_000 }, env);
  expect(left).toEqual(['s-1']);
  again.commit();
  again.take();
  again.receive(CLIENT, { type: 'describeJob', request: 3, id: 's-1', spec: false });
  again.submit({ tasks: { count: 2_000, run: { sleep: 1 } } }, 'large', 4);
  again.submit({ tasks: [{ sleep: 1 }] }, 'small', 5);
  again.commit();
  expect(again.take()).toMatchObject([
    {
      type: 'refused',
      request: 3,
      code: 'no-memory',
      message: expect.stringContaining('s-1 is in the journal'),
    },
    { type: 'refused', request: 4, code: 'no-memory' },
    { type: 'accepted', request: 5, value: { job: 's-2' } },
  ]);
  const large = new DurableBench(again.inheritance(), 2_000);
  large.receive(CLIENT, { type: 'describeJob', request: 6, id: 's-1', spec: false });
  expect(large.take().at(-1)).toMatchObject({ type: 'jobDetail', value: { tasks: { waiting: 2_000 } } });
});

test('a job whose results were dropped under memory pressure reports that', () => {
  const bench = new DurableBench(undefined, 0, true, { memoryBytes: 1_000_000 });
  for (let job = 1; job <= 4; job++) {
    // Reading it back would take long, so it stays in memory.
    bench.submit({ tasks: { count: 2_200, run: { sleep: 1 } } }, `k${job}`);
    bench.receive(CLIENT, { type: 'cancelJob', request: 2, id: `s-${job}` });
    bench.commit();
    bench.pass(42_000 - bench.now);
  }
  bench.take();
  bench.receive(CLIENT, { type: 'describeJob', request: 3, id: 's-1', spec: false });
  expect(bench.take()).toMatchObject([
    {
      type: 'refused',
      code: 'forgotten-job',
      message:
        's-1 has ended (cancelled); its results were dropped 42 s later, because jobs take more memory than this scheduler has for them',
    },
  ]);
});

test('a reclassification is sent after its task, which may wait for the disk', () => {
  const bench = new DurableBench(undefined, 0, false);
  bench.receive(CENTRAL, welcome({ estimator: 'pilot', pilotRatio: 0.5, cutoffMs: 2 }));
  bench.members(W1);
  bench.accept({ tasks: { count: 4, run: { sleep: 1 } }, retries: 1 });
  const [first, second] = [bench.ask(W1, 1, 1)!, bench.ask(W1, 1, 1)!];
  bench.end(W1, first, FAILED);
  bench.ask(W1, 1, 1);
  bench.end(W1, second);
  bench.commit();
  const types = bench.take().map(({ type }) => type);
  expect(types.indexOf('nowLong')).toBeGreaterThan(types.indexOf('run'));
  expect(types).toContain('run');
});
