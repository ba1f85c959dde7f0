import { type Address, COMPLETED, type Message, type MessageOf, type Outcome, Random } from '@goshawk/core';
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from 'vitest';
import type { SchedulerEnvironment } from '../contract.js';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { PAGE } from '../job/number-pages.js';
import { TaskTable } from '../job/task-table.js';
import { CLIENT, W1, W2 } from '../lone-scheduler.fixture.js';

const FORMER = 3 as Address;
const TASKS = 2 * PAGE + 100;

/** A scheduler with an open job; the same calls with the same seed have the same effects. */
class OpenJob {
  bench: DurableBench;
  readonly #canReadRecords: boolean;
  readonly #random = Random.seeded('settling');
  #request = 100;

  constructor(canReadRecords: boolean) {
    this.#canReadRecords = canReadRecords;
    this.bench = this.#joined(new DurableBench(undefined, 0, true, {}, this.#env));
    this.bench.submit({ open: '1h', retries: 1 });
    this.#commit();
  }

  /** Without `readRecord`, no task is archived. */
  get #env(): Partial<SchedulerEnvironment> {
    return this.#canReadRecords ? {} : ({ readRecord: undefined, readJobRecords: undefined } as object);
  }

  #joined(bench: DurableBench): DurableBench {
    const { scheduler } = bench;
    const check = scheduler.checkInvariants.bind(scheduler);
    let steps = 0;
    // Each check visits all tasks.
    scheduler.checkInvariants = () => {
      if (steps++ % 199 === 0) check();
    };
    bench.members(W1, W2);
    bench.commit();
    bench.take();
    return bench;
  }

  #commit(): void {
    this.bench.commit();
    this.bench.take();
  }

  append(first: number, count: number, close: boolean): void {
    const each = Array.from({ length: count }, (_, at) => ({ input: first + at }));
    const digest = `${first + count}`;
    const tasks = { id: 's-1', common: { module: '/m.js' }, first, each, digest, close, taken: 0 };
    this.bench.receive(CLIENT, { type: 'appendTasks', request: this.#request++, ...tasks });
    this.#commit();
  }

  /** Runs up to `count` tasks, four at a time; they end in any order. */
  run(count = Number.POSITIVE_INFINITY): void {
    const running: [Address, MessageOf<'run'>][] = [];
    for (let left = count; ; ) {
      const worker = this.#random.next() < 0.3 ? W2 : W1;
      const next = left > 0 && running.length < 4 ? this.bench.ask(worker, 1) : undefined;
      if (next !== undefined) {
        left--;
        running.push([worker, next]);
        continue;
      }
      if (running.length === 0) return;
      this.bench.now += 3;
      const [[at, run]] = running.splice(Math.floor(this.#random.next() * running.length), 1) as [
        [Address, MessageOf<'run'>],
      ];
      this.bench.end(at, run, this.#outcomeOf(run));
      this.#commit();
    }
  }

  #outcomeOf({ task, attempt, execution = attempt }: MessageOf<'run'>): Outcome {
    const isBad = task % 97 === 5 && execution <= 2;
    if (isBad || (task % 61 === 7 && execution === 1)) return FAILED;
    return { ...COMPLETED, value: task % 3 === 0 ? null : { twice: 2 * task } };
  }

  retry(): void {
    const choice = { key: 'again', id: 's-1', failedOnly: undefined, tasks: undefined, asNew: undefined };
    this.bench.receive(CLIENT, { type: 'retryJob', request: this.#request++, ...choice });
    this.#commit();
  }

  restart(): void {
    const { entries, ...rest } = this.bench.inheritance([FORMER]);
    const inheritance = { entries, ...rest, chunkSize: 1e9 };
    this.bench = this.#joined(new DurableBench(inheritance, this.bench.now, true, {}, this.#env));
    this.bench.now += 10;
    for (const from of [W1, W2]) this.bench.receive(from, { type: 'holding', audit: 0, tasks: [] });
    this.#commit();
  }

  #ask(message: Message): Message {
    this.bench.receive(CLIENT, message);
    this.bench.commit();
    return this.bench.take().find((answer) => 'request' in answer)!;
  }

  /** All that clients see of the job. */
  shown() {
    const about = { request: 5, id: 's-1' };
    const tasks: object[] = [];
    for (let from: number | undefined = 0; from !== undefined; ) {
      const asked = { states: [], stage: undefined, from, limit: 2_000 };
      const { value } = this.#ask({ type: 'listTasks', ...about, ...asked }) as MessageOf<'taskPage'>;
      tasks.push(...value.tasks);
      from = value.next;
    }
    const results = (order: 'index' | 'ended') => {
      const rows: object[] = [];
      for (let from: number | undefined = 0; from !== undefined; ) {
        const { value } = this.#ask({
          type: 'readResults',
          ...about,
          from,
          order,
        }) as MessageOf<'resultPage'>;
        rows.push(...value.tasks!);
        from = value.next;
      }
      return rows;
    };
    const { value } = this.#ask({ type: 'describeJob', ...about, spec: false }) as MessageOf<'jobDetail'>;
    const { state, tasks: counts, attempts, failures, meanRunMs } = value;
    const stories = [0, 5, 7, PAGE - 1, PAGE + 3].map((task) => {
      const answer = this.#ask({ type: 'explainJob', ...about, task }) as MessageOf<'jobExplanation'>;
      return answer.value.task;
    });
    return {
      tasks,
      byIndex: results('index'),
      byEnd: results('ended'),
      job: { state, counts, attempts, failures, meanRunMs },
      stories,
    };
  }
}

/** Compares texts first, because `toEqual` is slow for thousands of rows. */
function expectSame(one: object, other: object): void {
  if (JSON.stringify(one) !== JSON.stringify(other)) expect(one).toEqual(other);
}

/** Number of tasks that were settled since the last call. */
function settled(): number {
  const { calls, results } = settle.mock;
  const sum = results.reduce((total, { value }) => total + (value as number), 0);
  expect(calls.length).toBeGreaterThan(0);
  settle.mockClear();
  return sum;
}

let settle: MockInstance<TaskTable['archivePage']>;
beforeEach(() => {
  settle = vi.spyOn(TaskTable.prototype, 'archivePage');
});
afterEach(() => settle.mockRestore());

describe('an open job whose ended tasks are only in the journal', () => {
  test('shows what a job does that keeps them, through a restart, more tasks and a retry', () => {
    const settling = new OpenJob(true);
    const keeping = new OpenJob(false);
    const both = (action: (job: OpenJob) => void) => {
      for (const job of [settling, keeping]) action(job);
      expectSame(settling.shown(), keeping.shown());
    };
    both((job) => {
      job.append(0, PAGE + 500, false);
      job.run(PAGE + 100);
    });
    expect(settled()).toBeGreaterThan(0.9 * PAGE);
    both((job) => {
      job.append(PAGE + 500, TASKS - PAGE - 500, true);
      job.run();
    });
    expect(settled()).toBeGreaterThan(0.9 * PAGE);
    both((job) => job.retry());
    both((job) => job.run());
    expect(settling.shown().job).toMatchObject({ state: 'completed', counts: { completed: TASKS } });
    const before = settling.shown();
    settle.mockClear();
    settling.restart();
    expect(settled()).toBeGreaterThan(1.9 * PAGE);
    expectSame(settling.shown(), before);
  });

  test('continues after a restart with the tasks that have not ended, and retries failed ones of settled pages', () => {
    const job = new OpenJob(true);
    job.append(0, TASKS, false);
    job.run(2 * PAGE + 90);
    const before = job.shown();
    const ended = (shown: ReturnType<OpenJob['shown']>) =>
      shown.byEnd.map((row) => (row as { task: number }).task);
    settle.mockClear();
    job.restart();
    expect(settled()).toBeGreaterThan(1.9 * PAGE);
    expect(ended(job.shown())).toEqual(ended(before));
    job.append(TASKS, 0, true);
    job.run();
    job.retry();
    job.restart();
    job.run();
    const after = job.shown();
    expect(after.job).toMatchObject({ state: 'completed', counts: { total: TASKS, completed: TASKS } });
    const attempts: number[] = [];
    const rows = after.byIndex.map((row) => {
      const { attempt, ...rest } = row as { attempt: number };
      attempts.push(attempt);
      return rest;
    });
    expect(rows).toEqual(
      Array.from({ length: TASKS }, (_, task) => {
        const value = task % 3 === 0 ? undefined : { twice: 2 * task };
        return { task, stage: 'tasks', state: 'completed', value };
      }),
    );
    for (const [task, attempt] of attempts.entries()) {
      const runs = task % 97 === 5 ? 3 : task % 61 === 7 ? 2 : 1;
      // Tasks that had not ended before a restart may have used a number.
      if (runs === 1 && task < 2 * PAGE) expect([task, attempt]).toEqual([task, 1]);
      else expect(attempt).toBeGreaterThanOrEqual(runs);
    }
  });
});
