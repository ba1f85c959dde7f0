import { type Address, COMPLETED, type JobRecord } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { startMsOf } from '../api/job-views.js';
import { DurableBench, entriesOf, FAILED } from '../durable.fixture.js';
import type { Job } from '../job/job.js';
import { TASK_STATE_NAMES, TaskState } from '../job/task-state.js';
import { CLIENT, W1, W2 } from '../lone-scheduler.fixture.js';
import { rebuildJobs } from './rebuild.js';

const context = {
  wallOffsetMs: 0,
  now: Number.POSITIVE_INFINITY,
  hasPrivateNames: false,
  idOf: (job: number) => `s-${job}`,
  placeholderFor: () => -2 as Address,
  isMemoryScarce: () => false,
};

function rebuild(records: readonly JobRecord[]): Job[] {
  return rebuildAt(context.now, records);
}

function rebuildAt(now: number, records: readonly JobRecord[]): Job[] {
  const jobs: Job[] = [];
  for (const _ of rebuildJobs(entriesOf(records), { ...context, now }, (job) => jobs.push(job)));
  return jobs;
}

/** State that must survive a restart: everything except running tasks. */
function durablePart(job: Job, records: readonly JobRecord[]) {
  const isOver = job.cancelling || job.hasEnded;
  const states = Array.from(job.tasks.states, (state) => {
    if (state >= TaskState.completed) return TASK_STATE_NAMES[state];
    if (isOver) return 'cancelled';
    return state === TaskState.blocked ? 'blocked' : 'waiting';
  });
  const values = Array.from(job.tasks.states, (_, task) =>
    job.history.reports.valueOf(task, (_, place) => records[place]),
  );
  const { id, cancelling } = job;
  const { blame, failedCount, lostCount } = job.history;
  const failures = Array.from(job.tasks.states, (_, task) => blame?.failuresOf(task) ?? 0);
  const losses = Array.from(job.tasks.states, (_, task) => blame?.lossesOf(task) ?? 0);
  const runs = Array.from(job.tasks.runMs);
  return { id, states, failures, losses, cancelling, failedCount, lostCount, values, runs };
}

/** An event of the job, or of one of its runs. */
const step = fc.oneof(
  { weight: 6, arbitrary: fc.constant('ask' as const) },
  { weight: 4, arbitrary: fc.constant('completed' as const) },
  { weight: 3, arbitrary: fc.constant('failed' as const) },
  { weight: 2, arbitrary: fc.constant('lost' as const) },
  { weight: 1, arbitrary: fc.constant('cancel' as const) },
);

describe('jobs rebuilt from records', () => {
  test('equal the original at every record, for any history', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const bench = new DurableBench();
        bench.members(W1, W2);
        const live = bench.accept({
          retries: 1,
          stages: [
            { name: 'a', tasks: { count: 3, run: { sleep: 1 } } },
            { name: 'b', after: ['a'], tasks: [{ sleep: 1 }, { sleep: 1 }] },
          ],
        });
        const running: NonNullable<ReturnType<typeof bench.ask>>[] = [];
        for (const [index, what] of steps.entries()) {
          bench.now++;
          if (what === 'cancel') bench.receive(CLIENT, { type: 'cancelJob', request: 1, id: 's-1' });
          if (what === 'ask') {
            const bound = bench.ask(W1, 1, 0) ?? bench.ask(W1, 1, 1);
            if (bound !== undefined) running.push(bound);
          }
          if (what === 'ask' || what === 'cancel') continue;
          const [bound] = running.splice(index % Math.max(1, running.length), 1);
          if (bound === undefined) continue;
          const outcome =
            what === 'completed'
              ? { ...COMPLETED, value: index }
              : what === 'lost'
                ? { ...FAILED, kind: 'lost' as const }
                : FAILED;
          bench.end(W1, bound, outcome);
        }
        for (let count = 0; count <= bench.records.length; count++) {
          // Checks its invariants at the start and at each step.
          const again = new DurableBench(
            { ...bench.inheritance(), entries: entriesOf(bench.records.slice(0, count)) },
            500,
          );
          again.members(W1, W2);
        }
        // Removes any damaged record of its journal except the first.
        for (let gone = 1; gone < bench.records.length; gone++) {
          const rest = bench.records.filter((_, at) => at !== gone);
          new DurableBench({ ...bench.inheritance(), entries: entriesOf(rest) }, 500).members(W1, W2);
        }
        const [job] = rebuild(bench.records);
        expect(durablePart(job!, bench.records)).toEqual(durablePart(live, bench.records));
        expect(job!.hasEnded).toBe(live.hasEnded);
      }),
      { numRuns: 300 },
    );
  });

  test('have tasks that started after them, even with rounded clocks', () => {
    const bench = new DurableBench();
    bench.accept({ tasks: { count: 2, run: { sleep: 1 } } });
    const [accepted] = bench.records;
    const run = { task: 0, attempt: 1, outcome: COMPLETED, worker: 'w1', runMs: 0.4 };
    const [job] = rebuild([accepted!, { kind: 'attempt', job: accepted!.job, at: accepted!.at, ...run }]);
    expect(startMsOf(job!, 0)).toBe(0);
    expect(startMsOf(job!, 1)).toBeLessThan(0);
  });

  test('have no times in the future, even if the writer’s clock was ahead', () => {
    const hour = 3_600_000;
    const bench = new DurableBench();
    bench.accept({ tasks: [{ sleep: 1 }] });
    const lost = (attempt: number): JobRecord => ({
      ...{ kind: 'attempt', job: 1, at: hour + attempt, task: 0, attempt },
      ...{ outcome: { ...FAILED, kind: 'lost' }, worker: 'w1', runMs: 5 },
    });
    const [job] = rebuildAt(1_000, [{ ...bench.records[0]!, at: hour }, lost(1), lost(2)]);
    expect(job!.acceptedAt).toBe(998);
    // It pauses for as long as under any other clock.
    expect(job!.inBackoff.has(0)).toBe(true);
    expect(job!.inBackoff.nextEndAt).toBe(2_000);
  });

  test('that were forgotten no longer exist', () => {
    const bench = new DurableBench();
    bench.submit({ tasks: [{ sleep: 1 }] });
    expect(rebuild([...bench.records, { kind: 'forgotten', job: 1, at: 9 }])).toEqual([]);
  });

  test('keep their last classification', () => {
    const bench = new DurableBench();
    bench.submit({ tasks: [{ sleep: 1 }] });
    const classified: JobRecord = {
      kind: 'classified',
      job: 1,
      at: 9,
      class: 'long',
      classifiedBy: 'pilot',
      route: { by: 'central', over: 'general' },
    };
    const [job] = rebuild([...bench.records, classified]);
    expect([job!.class, job!.estimate.classifiedBy, job!.route.by]).toEqual(['long', 'pilot', 'central']);
  });
});

describe('output of tasks after a restart', () => {
  test('has its position, so that readers notice what an earlier incarnation received', () => {
    const before = new DurableBench();
    before.members(W1, W2);
    before.submit({ tasks: [{ sleep: 1 }, { sleep: 1 }] });
    before.commit();
    before.end(W1, before.ask(W1, 1)!);
    const running = before.ask(W2, 1)!;
    before.commit();
    const bench = new DurableBench(before.inheritance([3 as Address]), 1_000);
    bench.members(W1, W2);
    const { job, task, attempt } = running;
    bench.receive(W1, { type: 'holding', audit: 0, tasks: [] });
    bench.receive(W2, { type: 'holding', audit: 0, tasks: [{ job, task, attempt, elapsedMs: 1 }] } as never);
    bench.commit();
    const chunk = { stream: 'stdout', bytes: new Uint8Array(4) } as const;
    bench.receive(W2, { type: 'output', job, task, attempt, offset: 10, chunk, keptFrom: 10 });
    bench.take();
    const from = { id: 's-1', task: undefined, failedOnly: false, cursor: 3, attempt: undefined };
    bench.receive(CLIENT, { type: 'readLogs', request: 5, ...from });
    expect(bench.take()).toMatchObject([
      { type: 'logPage', value: { chunks: [{ task, offset: 10 }], dropped: true } },
    ]);
  });
});
