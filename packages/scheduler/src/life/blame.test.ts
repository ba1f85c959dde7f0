import { type Address, COMPLETED, type MessageOf, type Outcome } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { CENTRAL, CLIENT, joined, W1, W2 } from '../lone-scheduler.fixture.js';

interface Detail {
  readonly state: string;
  readonly tasks: { readonly completed: number; readonly failed: number };
  readonly failures: readonly { readonly task: number; readonly message: string }[];
}

function detail(bench: DurableBench, job = 1): Detail {
  bench.commit();
  bench.take();
  bench.receive(CLIENT, { type: 'describeJob', request: 77, id: `s-${job}`, spec: false });
  return bench.take().find((message) => message.type === 'jobDetail')!.value as Detail;
}

function waits(bench: DurableBench): MessageOf<'jobExplanation'>['value']['waiting'] {
  bench.commit();
  bench.take();
  bench.receive(CLIENT, { type: 'explainJob', request: 78, id: 's-1', task: undefined });
  return bench.take().find((message) => message.type === 'jobExplanation')!.value.waiting;
}

/** The ends of earlier attempts are durable, and back-offs that are over have ended, so that the next one may start. */
function ask(bench: DurableBench, worker: Address, job: number): MessageOf<'run'> | undefined {
  bench.commit();
  if ((bench.timers.get(`retry ${job}`) ?? Number.POSITIVE_INFINITY) <= bench.now) {
    bench.timers.delete(`retry ${job}`);
    bench.scheduler.wake('retry', job, bench.now);
  }
  return bench.ask(worker, job);
}

function submitted(count: number, retries: number, ...workers: Address[]): DurableBench {
  const bench = new DurableBench();
  bench.members(...workers);
  bench.submit({ tasks: { count, run: { sleep: 1 } }, retries });
  return bench;
}

describe('a retry', () => {
  test('goes to another worker than the one it failed on', () => {
    const bench = submitted(1, 2, W1, W2);
    bench.end(W1, ask(bench, W1, 1)!, FAILED);
    expect(ask(bench, W1, 1)).toBeUndefined();
    bench.end(W2, ask(bench, W2, 1)!, COMPLETED);
    expect(detail(bench).state).toBe('completed');
  });

  test('goes to the same worker if there is no other', () => {
    const bench = submitted(1, 2, W1);
    bench.end(W1, ask(bench, W1, 1)!, FAILED);
    expect(ask(bench, W1, 1)).toMatchObject({ task: 0 });
  });

  test('goes to the same worker after two minutes without another', () => {
    const bench = submitted(1, 2, W1, W2);
    bench.end(W1, ask(bench, W1, 1)!, FAILED);
    bench.now += 119_000;
    expect(ask(bench, W1, 1)).toBeUndefined();
    bench.now += 1_000;
    expect(ask(bench, W1, 1)).toMatchObject({ task: 0 });
  });

  test('leaves the worker on which it failed to tasks that never ran', () => {
    const bench = submitted(3, 2, W1, W2);
    bench.end(W1, ask(bench, W1, 1)!, FAILED);
    expect(ask(bench, W1, 1)).toMatchObject({ task: 1 });
    expect(ask(bench, W2, 1)).toMatchObject({ task: 0 });
  });
});

describe('a worker that fails tasks that complete elsewhere', () => {
  const unfit = (bench: DurableBench): MessageOf<'unfit'>[] =>
    bench.take().filter((message) => message.type === 'unfit');

  /** The job's tasks complete at W2, then some fail at W1. @returns the messages to W1 */
  function after(completed: number, failed: number, failedElsewhere = 0): MessageOf<'unfit'>[] {
    const bench = new DurableBench();
    bench.members(W1, W2);
    bench.submit({ user: 'ann', tasks: { count: 100, run: { sleep: 1 } } });
    for (let task = 0; task < completed; task++) bench.end(W2, ask(bench, W2, 1)!, COMPLETED);
    for (let task = 0; task < failedElsewhere; task++) bench.end(W2, ask(bench, W2, 1)!, FAILED);
    const tasks = Array.from({ length: failed }, () => ask(bench, W1, 1)!);
    bench.take();
    for (const task of tasks) bench.end(W1, task, FAILED);
    return unfit(bench);
  }

  test('is notified', () => {
    expect(after(20, 4)).toEqual([]);
    expect(after(20, 5)).toEqual([
      { type: 'unfit', reason: 'tasks of s-1 fail here but complete elsewhere', user: 'ann' },
    ]);
  });

  test('is not notified about a job that fails everywhere, or an unknown one', () => {
    expect(after(20, 5, 10)).toEqual([]);
    expect(after(0, 50)).toEqual([]);
  });

  test('is not notified if only it has completed tasks of the job', () => {
    const bench = submitted(100, 0, W1, W2);
    for (let task = 0; task < 20; task++) bench.end(W1, ask(bench, W1, 1)!, COMPLETED);
    bench.take();
    for (let task = 0; task < 20; task++) bench.end(W1, ask(bench, W1, 1)!, FAILED);
    expect(unfit(bench)).toEqual([]);
  });

  test('is not notified about tasks that no other worker can run', () => {
    const bench = new DurableBench();
    const sent = joined(1, [W1, W2], 4) as MessageOf<'members'>;
    const changed = sent.changed.map((member) =>
      member.address === W1 ? { ...member, attributes: [{ name: 'gpu', value: 'a100' }] } : member,
    );
    bench.receive(CENTRAL, { ...sent, changed });
    bench.submit({
      stages: [
        { name: 'first', tasks: { count: 20, run: { sleep: 1 } } },
        {
          tasks: { count: 20, run: { sleep: 1 } },
          require: { gpu: 'a100' },
          name: 'second',
          after: ['first'],
        },
      ],
    });
    for (let task = 0; task < 20; task++) bench.end(W2, ask(bench, W2, 1)!, COMPLETED);
    bench.take();
    for (let task = 0; task < 20; task++) {
      const run = bench.ask(W1, 1, 1);
      expect(run).toBeDefined();
      bench.end(W1, run!, FAILED);
    }
    expect(unfit(bench)).toEqual([]);
  });
});

describe('a worker that fails the first attempts of many small jobs, which complete elsewhere', () => {
  const notThere: Outcome = { ...FAILED, kind: 'lost', errorCode: 'command-not-found', errorMessage: 'x' };
  const unfit = (bench: DurableBench) => bench.take().filter(({ type }) => type === 'unfit');

  /** A job of one task, which one worker cannot start and the other can. @returns the messages to the first */
  function job(bench: DurableBench, number: number, completes: boolean, user?: string) {
    bench.submit({ user, tasks: [{ exec: ['x'] }] }, `k${number}`, number);
    bench.end(W1, ask(bench, W1, number)!, notThere);
    const again = ask(bench, W2, number)!;
    bench.take();
    bench.end(W2, again, completes ? COMPLETED : FAILED);
    return unfit(bench);
  }

  test('is notified after five of them', () => {
    const bench = submitted(1, 0, W1, W2);
    const sent = Array.from({ length: 5 }, (_, place) => job(bench, place + 2, true));
    expect(sent.flat()).toEqual([
      { type: 'unfit', reason: 'tasks fail here but complete elsewhere, including one of s-6' },
    ]);
    expect(sent[4]).toHaveLength(1);
  });

  test('gets the user in the message if all of them have the same', () => {
    const bench = submitted(1, 0, W1, W2);
    const sentTo = (first: number, user: (number: number) => string | undefined) =>
      Array.from({ length: 5 }, (_, place) => job(bench, first + place, true, user(place))).flat();
    expect(sentTo(2, () => 'ann')).toMatchObject([{ type: 'unfit', user: 'ann' }]);
    expect(sentTo(7, (place) => (place === 2 ? 'bob' : 'ann'))).toMatchObject([{ user: undefined }]);
    expect(sentTo(12, (place) => (place === 2 ? undefined : 'ann'))).toMatchObject([{ user: undefined }]);
    expect(sentTo(17, () => 'bob')).toMatchObject([{ user: 'bob' }]);
  });

  test('is not notified if it is the last one that accepts work', () => {
    const bench = submitted(1, 0, W1, W2);
    for (let place = 0; place < 4; place++) expect(job(bench, place + 2, true)).toEqual([]);
    bench.submit({ tasks: [{ exec: ['x'] }] }, 'last', 6);
    bench.end(W1, ask(bench, W1, 6)!, notThere);
    const again = ask(bench, W2, 6)!;
    const sent = joined(2, [W2], 4) as MessageOf<'members'>;
    const changed = sent.changed.map((member) => ({ ...member, draining: true }));
    bench.receive(CENTRAL, { ...sent, since: 1, changed });
    bench.take();
    bench.end(W2, again, COMPLETED);
    expect(unfit(bench)).toEqual([]);
  });

  test('is not notified about tasks that also fail elsewhere, or while others complete on it', () => {
    const bench = submitted(1, 0, W1, W2);
    for (let place = 0; place < 10; place++) expect(job(bench, place + 2, false)).toEqual([]);
    for (let number = 12; number < 40; number += 2) {
      expect(job(bench, number, true)).toEqual([]);
      bench.submit({ tasks: [{ exec: ['y'] }] }, `y${number}`, number + 1);
      bench.end(W1, ask(bench, W1, number + 1)!, COMPLETED);
      expect(unfit(bench)).toEqual([]);
    }
  });
});

/** The worker is lost; another one takes its place. */
function lose(bench: DurableBench, version: number, worker: Address, next: Address): void {
  bench.commit();
  bench.receive(CENTRAL, { ...joined(version, [next], 4), since: version - 1, left: [worker] } as never);
}

describe('a task that kills its workers', () => {
  test('runs alone after two of them, fails after eight, and its neighbors complete', () => {
    const bench = submitted(4, 0, W1);
    let worker = W1 as number;
    let version = 1;
    let lost = 0;
    const apart = new Set<number>();
    for (let round = 0; round < 40 && detail(bench).state !== 'failed'; round++) {
      bench.now += 31_000;
      let hasPoison = false;
      const running: MessageOf<'run'>[] = [];
      for (let slot = 0; slot < 4; slot++) {
        const task = ask(bench, worker as Address, 1);
        if (task === undefined) break;
        running.push(task);
        hasPoison ||= task.task === 0;
        if (task.apartMs === undefined) continue;
        apart.add(task.task);
        // The worker starts no other task beside it.
        break;
      }
      if (hasPoison) {
        lost++;
        lose(bench, ++version, worker as Address, ++worker as Address);
      } else for (const task of running) bench.end(worker as Address, task, COMPLETED);
    }
    expect(lost).toBe(8);
    expect(apart.has(0)).toBe(true);
    expect(detail(bench)).toMatchObject({
      state: 'failed',
      tasks: { completed: 3, failed: 1 },
      failures: [{ task: 0, message: expect.stringMatching(/lost its worker 8 times.*memory/) }],
    });
  });

  test('waits for its back-off, not for a worker, after the second one, and only since its last attempt', () => {
    const bench = submitted(1, 0, W1, W2);
    const killed = (): void => {
      const task = ask(bench, W1, 1)!;
      bench.now += 5_000;
      bench.end(W1, task, { ...COMPLETED, kind: 'lost', errorCode: 'worker-lost' }, 5_000);
    };
    bench.now += 60_000;
    killed();
    bench.now += 10;
    expect(waits(bench)).toMatchObject([{ reason: 'probing', tasks: 1, waitedMs: 10 }]);
    killed();
    expect(waits(bench)).toMatchObject([{ reason: 'back-off', tasks: 1, waitedMs: 0 }]);
    bench.now += 999;
    expect(ask(bench, W2, 1)).toBeUndefined();
    bench.now += 1;
    expect(ask(bench, W2, 1)).toMatchObject({ task: 0 });
  });

  test('a job of a thousand of them is given up after sixteen workers', () => {
    const workers = [11, 12, 13, 14, 15, 16] as Address[];
    const bench = submitted(1_000, 0, ...workers);
    let version = 1;
    let lost = 0;
    let next = 17;
    for (let round = 0; round < 100 && detail(bench).state !== 'failed'; round++) {
      bench.now += 31_000;
      const hit = workers.filter(
        (worker) => [1, 2].filter(() => ask(bench, worker, 1) !== undefined).length > 0,
      );
      for (const worker of hit) {
        lost++;
        workers[workers.indexOf(worker)] = next as Address;
        lose(bench, ++version, worker, next++ as Address);
      }
    }
    expect(detail(bench)).toMatchObject({ state: 'failed', tasks: { completed: 0, failed: 1_000 } });
    expect(lost).toBeLessThanOrEqual(16);
    // The next incarnation knows this, too.
    const after = new DurableBench(
      { ...bench.inheritance(), chunkSize: Number.POSITIVE_INFINITY },
      1_000_000,
    );
    after.commit();
    expect(detail(after)).toMatchObject({ state: 'failed', tasks: { failed: 1_000 } });
  });

  test('a job that lost many workers at once continues once one task has survived its time alone', () => {
    const workers = Array.from({ length: 20 }, (_, place) => 11 + place) as Address[];
    const bench = submitted(100, 0, ...workers);
    for (const worker of workers) ask(bench, worker, 1);
    bench.receive(CENTRAL, {
      ...joined(2, [101, 102, 103] as Address[], 4),
      since: 1,
      left: workers,
    } as never);
    expect(ask(bench, 101 as Address, 1)).toMatchObject({ apartMs: 10_000 });
    expect(ask(bench, 102 as Address, 1)).toBeUndefined();
    bench.now += 11_000;
    bench.scheduler.wake('sweep', 0, bench.now);
    expect(ask(bench, 102 as Address, 1)).toMatchObject({ apartMs: undefined });
    expect(ask(bench, 103 as Address, 1)).toMatchObject({ apartMs: undefined });
  });
});

describe('if half of the workers fail all tasks at once', () => {
  const workers = Array.from({ length: 8 }, (_, place) => 11 + place) as Address[];
  const isBad = (worker: Address): boolean => worker % 2 === 0;

  /** Bad workers fail three tasks while a good one completes one. @returns tasks that failed permanently */
  function failures(jobs: readonly { readonly job: number; readonly tasks: number }[]): number {
    const bench = new DurableBench();
    bench.members(...workers);
    for (const { job, tasks } of jobs)
      bench.submit(
        { user: 'ann', retries: 2, tasks: { count: tasks, run: { exec: ['x'] } } },
        `k${job}`,
        job,
      );
    const details = () => jobs.map(({ job }) => detail(bench, job));
    for (let round = 0; round < 300; round++) {
      bench.now += 1_000;
      const open = jobs.filter(({ job }) => !['failed', 'completed'].includes(detail(bench, job).state));
      if (open.length === 0) break;
      const taskFor = (worker: Address) => {
        for (const { job } of open) {
          const run = ask(bench, worker, job);
          if (run !== undefined) return run;
        }
        return undefined;
      };
      const running = workers
        .filter((worker) => !isBad(worker))
        .map((worker) => [worker, taskFor(worker)] as const);
      for (let turn = 0; turn < 3; turn++) {
        for (const worker of workers.filter(isBad)) {
          const run = taskFor(worker);
          if (run !== undefined) bench.end(worker, run, FAILED);
        }
      }
      for (const [worker, run] of running) if (run !== undefined) bench.end(worker, run, COMPLETED);
    }
    return details().reduce((sum, { tasks }) => sum + tasks.failed, 0);
  }

  test('two retries are enough for the tasks of a job', () => {
    // One task can meet three of them before their failures are known.
    expect(failures([{ job: 1, tasks: 120 }])).toBeLessThanOrEqual(1);
  });

  test('two retries are enough for jobs of one task', () => {
    const jobs = Array.from({ length: 40 }, (_, place) => ({ job: place + 1, tasks: 1 }));
    expect(failures(jobs)).toBeLessThanOrEqual(1);
  });
});

describe('jobs of one task that kill their workers', () => {
  /**
   * Submits jobs, and loses each worker that runs one of their tasks. @returns number of workers lost until all have
   * failed
   */
  function lostBy(bench: DurableBench, jobs: readonly number[], spec: (job: number) => object): number {
    for (const job of jobs) bench.submit(spec(job) as never, `k${job}`, job);
    const workers = Array.from({ length: 12 }, (_, place) => 100 * jobs[0]! + place) as Address[];
    let next = 100 * jobs[0]! + 12;
    let version = 10 * jobs[0]!;
    let lost = 0;
    bench.receive(CENTRAL, { ...joined(version, workers, 1), since: 0 } as never);
    for (let round = 0; round < 100; round++) {
      bench.pass(31_000);
      const open = jobs.filter((job) => detail(bench, job).state !== 'failed');
      if (open.length === 0) return lost;
      const free = [...workers];
      const hit: Address[] = [];
      for (const job of open) {
        const worker = free.pop();
        if (worker !== undefined && ask(bench, worker, job) !== undefined) hit.push(worker);
      }
      for (const worker of hit) {
        lost++;
        workers[workers.indexOf(worker)] = next as Address;
        lose(bench, ++version, worker, next++ as Address);
      }
    }
    return Number.POSITIVE_INFINITY;
  }

  const crash = (job: number, user = 'ann') => ({ user, tasks: [{ exec: ['crash', `--seed=${job}`] }] });

  test('cost few workers together, and one each for later jobs of the same program', () => {
    const bench = new DurableBench();
    expect(lostBy(bench, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], (job) => crash(job))).toBeLessThanOrEqual(28);
    expect(lostBy(bench, [11], () => crash(11))).toBe(1);
  });

  test('cost as few attempts if they kill only the process that starts commands', () => {
    const bench = new DurableBench();
    const outcome = {
      ...COMPLETED,
      kind: 'lost',
      errorCode: 'spawner-lost',
      errorMessage: 'it died',
    } as const;
    const workers = Array.from({ length: 12 }, (_, place) => 100 + place) as Address[];
    bench.members(...workers);
    for (let job = 1; job <= 10; job++) bench.submit(crash(job) as never, `k${job}`, job);
    let lost = 0;
    for (let round = 0; round < 20; round++) {
      bench.now += 31_000;
      for (let job = 1; job <= 10; job++) {
        const worker = workers[job]!;
        const task = detail(bench, job).state === 'failed' ? undefined : ask(bench, worker, job);
        if (task === undefined) continue;
        lost++;
        bench.end(worker, task, outcome);
      }
    }
    expect(lost).toBeLessThanOrEqual(28);
    for (let job = 1; job <= 10; job++) expect(detail(bench, job).state).toBe('failed');
  });

  test('affect no other user and no other program', () => {
    const bench = new DurableBench();
    lostBy(bench, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], (job) => crash(job));
    expect(lostBy(bench, [11], () => crash(11, 'bob'))).toBe(8);
    expect(lostBy(bench, [12], () => ({ user: 'ann', tasks: [{ exec: ['other'] }] }))).toBe(8);
  });
});

describe('a worker that takes tasks of a user and exits, again and again,', () => {
  const job = (number: number) => ({ user: 'ann', tasks: { count: 20, run: { exec: ['x', `${number}`] } } });

  /** The worker `w0` takes tasks of the job and exits five times. @param others other workers */
  function exitsFiveTimes(...others: Address[]): DurableBench {
    const bench = new DurableBench();
    bench.members(...others);
    bench.submit(job(1) as never, 'k1', 1);
    const next = (version: number, left: readonly Address[]): Address => {
      const address = (100 + version) as Address;
      const message = joined(version, [address], 2) as MessageOf<'members'>;
      const changed = message.changed.map((member) => ({ ...member, name: 'w0' }));
      bench.receive(CENTRAL, { ...message, changed, since: version - 1, left });
      return address;
    };
    let address = next(2, []);
    for (let version = 3; version < 8; version++) {
      expect([ask(bench, address, 1), ask(bench, address, 1)]).toContainEqual(
        expect.objectContaining({ type: 'run' }),
      );
      bench.pass(31_000);
      bench.commit();
      address = next(version, [address]);
    }
    return bench;
  }

  test('does not make others run the tasks of this job, or of others with the same program, alone', () => {
    const bench = exitsFiveTimes(W1, W2);
    expect([W1, W2, W1, W2].map((worker) => ask(bench, worker, 1)!.apartMs)).toEqual(
      Array.from({ length: 4 }),
    );
    bench.submit(job(2) as never, 'k2', 2);
    expect([W1, W2, W1, W2].map((worker) => ask(bench, worker, 2)!.apartMs)).toEqual(
      Array.from({ length: 4 }),
    );
  });

  test('runs them alone if it is the only one', () => {
    const bench = exitsFiveTimes();
    bench.submit(job(2) as never, 'k2', 2);
    expect(ask(bench, 107 as Address, 2)!.apartMs).toBeGreaterThan(0);
  });
});

test('a command that always kills the process that starts commands fails with that reason', () => {
  const bench = submitted(1, 0, W1, W2);
  const outcome = { ...COMPLETED, kind: 'lost', errorCode: 'spawner-lost', errorMessage: 'it died' } as const;
  for (let round = 0; round < 40 && detail(bench).state !== 'failed'; round++) {
    bench.now += 31_000;
    const worker = round % 2 === 0 ? W1 : W2;
    const task = ask(bench, worker, 1);
    if (task !== undefined) bench.end(worker, task, outcome);
  }
  const message = expect.stringMatching(/lost 8 times with the process that starts commands/);
  expect(detail(bench)).toMatchObject({ state: 'failed', failures: [{ task: 0, message }] });
});

describe('an abandoned task', () => {
  test('is cancelled at its possible workers, immediately and when they return', () => {
    const bench = submitted(1, 0, W1, W2);
    const { attempt } = ask(bench, W1, 1)!;
    const cancels = () => bench.take().filter((message) => message.type === 'cancelTask');
    bench.commit();
    bench.receive(CENTRAL, { ...joined(2, []), since: 1, left: [W1] } as never);
    bench.commit();
    expect(cancels()).toEqual([{ type: 'cancelTask', job: 1, task: 0, attempt }]);
    bench.receive(CENTRAL, { ...joined(3, [W1]), since: 2 } as never);
    bench.commit();
    expect(cancels()).toEqual([{ type: 'cancelTask', job: 1, task: 0, attempt }]);
    bench.receive(W1, { type: 'declined', job: 1, stage: 0, probes: 0, placed: { task: 0, attempt } });
    bench.receive(CENTRAL, { ...joined(4, [W1]), since: 3 } as never);
    expect(cancels()).toEqual([]);
  });
});
