import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { runHere } from '@goshawk/cli/testing';
import { ESTIMATOR_FORMS } from '@goshawk/predictor';
import type { Comparison } from '@goshawk/report';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-simulate-test-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Writes these jobs as a `jsonl` trace. */
async function traceOf(...jobs: readonly object[]): Promise<string> {
  const file = join(folder, 'jobs.jsonl');
  const lines = [{ schema: 'goshawk.trace/1' }, ...jobs].map((each) => JSON.stringify(each));
  await writeFile(file, lines.join('\n'));
  return file;
}

async function simulate(...args: string[]): Promise<Comparison> {
  const { exitCode, stdout, stderr } = await runHere(['simulate', ...args, '--json', '--parallel', '1']);
  expect(stderr).not.toContain('goshawk:');
  expect(exitCode).toBe(0);
  return JSON.parse(stdout) as Comparison;
}

const SMALL = ['--workers', '20', '--policy', 'hawk,sparrow'];

/** Writes a trace in the format of the Sparrow simulator. */
async function trOf(...lines: readonly string[]): Promise<string> {
  const file = join(folder, 'jobs.tr');
  await writeFile(file, lines.map((line) => `${line}\n`).join(''));
  return file;
}

describe('simulate rejects with one line and without a report', () => {
  const good = () => trOf('0 1 5 5', '1 3 5 5 5 5', '30 1 50 50');

  async function expectRefusal(args: readonly string[], line: string | RegExp): Promise<void> {
    const report = join(folder, 'refused.html');
    const asked = args.includes('--report') ? args : [...args, '--report', report];
    const { exitCode, stdout, stderr } = await runHere(['simulate', ...asked]);
    expect(stderr).toMatch(line);
    expect(stderr).toMatch(/^goshawk: [^\n]*\n$/);
    expect(stdout).toBe('');
    expect(exitCode).toBe(2);
    expect(await readdir(folder)).not.toContainEqual(expect.stringMatching(/^refused/));
  }

  it.each([
    [
      'too few durations',
      '3 3 1 1 1',
      ':2: 1 of 3 task durations is missing; list one duration for each task',
    ],
    ['too many durations', '3 1 1 1 1', ':2: the line has 2 durations for 1 task;'],
    ['one column', '3', ':2: the line ends after 1 fields; each line must be'],
    [
      'a duration that is not a number',
      '3 2 1 1 NaN',
      ":2: duration 2 of 2 is 'NaN'; it must be a number of seconds",
    ],
    ['a negative time', '-3 1 1 1', ":2: the submission time is '-3'; it must be a number of seconds from 0"],
  ])('a line with %s', async (_what, line, problem) => {
    const file = await trOf('0 1 1 1', line);
    await expectRefusal([file], `goshawk: ${file}${problem}`);
  });

  it('a `jsonl` duration that is not a number', async () => {
    const file = join(folder, 'nan.jsonl');
    await writeFile(file, '{"schema":"goshawk.trace/1"}\n{"submitSeconds":0,"durationsSeconds":[1,NaN]}\n');
    await expectRefusal([file], `goshawk: ${file}:2: not JSON: `);
  });

  it('an empty trace in any format', async () => {
    const file = await trOf();
    await expectRefusal([file], `goshawk: ${file}: the trace is empty; known formats are swf, tr, `);
    const headed = await traceOf();
    await expectRefusal([headed], `goshawk: ${headed}: the trace is empty; write one job as JSON per line`);
  });

  it('a truncated part of the Google tables and a row with too few columns', async () => {
    const rows = { job_events: '', task_events: '' };
    for (let job = 1; job <= 500; job++) {
      const row = (seconds: number, rest: string) => `${Math.round(seconds * 1e6)},,${job},${rest}\n`;
      rows.job_events += row(job, '0,u,0,n,l') + row(job + 0.9, '4,u,0,n,l');
      for (const [at, event] of [
        [0.1, 0],
        [0.2, 1],
        [0.8, 4],
      ] as const) {
        rows.task_events += row(job + at, `0,,${event},u,0,0,0.5,0.5,0.5,0`);
      }
    }
    const tables = join(folder, 'google');
    const part = join(tables, 'task_events', 'part-00000-of-00500.csv.gz');
    for (const [table, text] of Object.entries(rows)) {
      await mkdir(join(tables, table), { recursive: true });
      await writeFile(join(tables, table, 'part-00000-of-00500.csv.gz'), gzipSync(text));
    }
    const { workload } = await simulate(tables, '--workers', '20');
    expect(workload).toMatchObject({ jobs: 500, tasks: 500 });
    const whole = gzipSync(rows.task_events);
    await writeFile(part, whole.subarray(0, whole.length >> 1));
    await expectRefusal(
      [tables, '--workers', '20'],
      /part-00000-of-00500\.csv\.gz:\d+: the gzip data ends too early; copy or download the file again/,
    );
    await writeFile(part, gzipSync(rows.task_events.replace(',0.5,0.5,0.5,0\n', ',0.5\n')));
    await expectRefusal([tables, '--workers', '20'], /csv\.gz:1: the line has 10 columns instead of 13/);
  });

  const options: [what: string, args: string[], line: string][] = [
    ['no schedulers', ['--schedulers', '0'], '--schedulers: 0 is out of range; it must be from 1 to 10000'],
    ['no load', ['--load', '0'], '--load: 0 is out of range; it must be from 0.001 to 100'],
    ['no seeds', ['--seeds', '0'], '--seeds: 0 is out of range; it must be from 1 to 1000'],
    ['no thread', ['--parallel', '0'], '--parallel: 0 is out of range; it must be from 1 to 64'],
    ['no worker', ['--workers', '0'], '--workers: 0 is out of range; it must be from 1 to 200000'],
    [
      'a percentile past the last',
      ['--cutoff', 'p101'],
      '--cutoff: "p101" is not a number of seconds, a time such as 10s, p90 or learned',
    ],
    [
      'a negative cutoff',
      ['--cutoff', '-3'],
      '--cutoff: "-3" is not a number of seconds, a time such as 10s, p90 or learned',
    ],
    ['a cutoff of an unknown unit', ['--cutoff', '3w'], '--cutoff: "3w" is not a duration'],
    [
      'an unknown estimator',
      ['--estimator', 'crystal-ball'],
      `--estimator: there is no estimator "crystal-ball"; known: ${ESTIMATOR_FORMS}`,
    ],
    [
      'a negative delay',
      ['--network-delay', '-1ms'],
      '--network-delay: "-1ms" is not a duration; write a number with a unit',
    ],
    [
      'too large a partition',
      ['--short-partition', '1.5'],
      '--short-partition: "1.5" is neither a fraction from 0 to 1,',
    ],
    [
      'an interval without a unit',
      ['--bitmap', '10'],
      '--bitmap: "10" is not a duration; write a number with a unit',
    ],
    [
      'an unknown policy',
      ['--policy', 'hawk,kestrel'],
      'unknown policy "kestrel"; `goshawk policies` lists all policies',
    ],
    [
      'a resource without an amount',
      ['--resources', 'gpu'],
      '--resources: "gpu" is not NAME=AMOUNT; write them as',
    ],
    ['no number of CPUs', ['--cpus', 'some'], '--cpus: "some" is not a whole number'],
    [
      'workers without a number of CPUs',
      ['--policy', 'bfjs', '--cpus', 'none', '--resources', 'cpu=1'],
      '--cpus: "none" is not a whole number',
    ],
    [
      'one worker for a policy that divides them',
      ['--policy', 'hawk,split', '--workers', '1'],
      '--workers 1: split divides the workers between short and long jobs, so it needs at least two; use two or more',
    ],
    [
      'trimming that leaves nothing',
      ['--warm-up', '2s', '--cool-down', '5s'],
      '--warm-up and --cool-down exclude all 3 jobs, which are submitted over 30 s; shorten them',
    ],
    [
      'a report in a missing folder',
      ['--report', '/no/such/folder/x.html'],
      '--report: /no/such/folder is not a writable folder',
    ],
    [
      'results in the file of the report',
      ['--save-results', 'x.html', '--report', './x.html'],
      '--report and --save-results: both write to ',
    ],
    ['a report in place of a folder', ['--report', '/'], '--report: / is a folder; use a file name'],
    [
      'a report in place of a device',
      ['--report', '/dev/null'],
      '--report: /dev/null is not a regular file; use another file',
    ],
  ];
  it.each(options)('%s', async (_what, args, line) => {
    await expectRefusal([await good(), ...args], `goshawk: ${line}`);
  });

  it('a report in place of the workload', async () => {
    const file = await good();
    await expectRefusal([file, '--report', file], `goshawk: --report: ${file} is the input workload`);
    expect(await readFile(file, 'utf8')).toMatch(/^0 1 5 5\n/);
  });

  it('a load that no cluster can produce', async () => {
    await expectRefusal(
      [await trOf('5 1 5 5', '5 1 5 5'), '--load', '0.9'],
      'goshawk: --load: all jobs of the workload are submitted at once; use --workers instead',
    );
    await expectRefusal(
      [await trOf('5 1 0 0', '6 1 0 0'), '--load', '0.9'],
      'goshawk: --load: all tasks of the workload take 0 s; use --workers instead',
    );
    await expectRefusal(
      [await trOf('5 1 1e9 1e9', '6 1 1e9 1e9'), '--load', '0.9'],
      /^goshawk: --load: 0\.9 takes 2,222,222,222 workers, and 200,000 is the maximum/,
    );
  });

  it('tasks that fit no worker', async () => {
    const job = { submitSeconds: 0, durationsSeconds: [1], demand: { memory: 1024 } };
    await expectRefusal(
      [await traceOf({ ...job, name: 'sort' })],
      'goshawk: a task of "sort" needs 1024 of memory, and a worker has 0; describe the workers with --resources memory=1024',
    );
    const staged = { submitSeconds: 0, stages: [{ name: 'a', durationsSeconds: [1], demand: { cpu: 3 } }] };
    await expectRefusal(
      [await traceOf({ submitSeconds: 0, durationsSeconds: [1] }, staged), '--cpus', '2'],
      'goshawk: a task of job 2 needs 3 of cpu, and a worker has 2; describe the workers with --resources cpu=3',
    );
  });

  it('bad options before the workload is read', async () => {
    await expectRefusal(['no/such.tr', '--cutoff', 'p101'], '--cutoff');
    await expectRefusal(['no/such.tr', '--estimator', 'x'], '--estimator');
  });
});

describe('simulate accepts', () => {
  it.each(['fifo-ff', 'bfjs', 'vqs', 'vqs-bf', 'goshawk'])(
    'tasks that share CPUs under %s',
    async (policy) => {
      // Two tasks fit at a time by memory, and more by CPUs.
      const jobs = Array.from({ length: 4 }, () => ({
        submitSeconds: 0,
        durationsSeconds: [10],
        demand: { cpu: 0.01, memory: 512 },
      }));
      const args = ['--policy', policy, '--workers', '1', '--resources', 'memory=1024,cpu=1'];
      const { cluster, runs } = await simulate(await traceOf(...jobs), ...args);
      expect(cluster).toMatchObject({ workers: 1, slots: 1 });
      const { p50, max } = runs[0]!.runtimeSeconds.all;
      expect([p50, max].map((seconds) => Math.floor(seconds! / 10))).toEqual([1, 2]);
    },
  );

  it('the number of CPUs of a worker, also with --vary', async () => {
    const file = await traceOf({ submitSeconds: 0, durationsSeconds: [10, 10, 10, 10] });
    const longest = async (...args: string[]): Promise<(number | null)[]> =>
      (await simulate(file, '--workers', '1', ...args)).runs.map(({ runtimeSeconds }) =>
        Math.floor(runtimeSeconds.all.max!),
      );
    expect(await longest('--cpus', '4')).toEqual([10]);
    expect(await longest('--vary', 'cpus=2,4')).toEqual([20, 10]);
  });

  it('jobs in any order, from the first submission on', async () => {
    const shuffled = await simulate(await trOf('130 1 7 7', '100 2 5 5 5', '107 1 2 2'), ...SMALL);
    const sorted = await simulate(await trOf('0 2 5 5 5', '7 1 2 2', '30 1 7 7'), ...SMALL);
    expect(shuffled.workload).toMatchObject({ jobs: 3, spanSeconds: 30 });
    expect(shuffled.runs.map((run) => run.runtimeSeconds)).toEqual(
      sorted.runs.map((run) => run.runtimeSeconds),
    );
  });

  it('a job with more tasks than slots, which runs in several rounds', async () => {
    const trace = await trOf(`0 5000 1${' 1'.repeat(5_000)}`);
    const policies = 'hawk,sparrow,central,split';
    for (const cutoff of ['10', '500ms']) {
      const { runs } = await simulate(trace, '--workers', '3', '--policy', policies, '--cutoff', cutoff);
      expect(runs).toHaveLength(4);
      for (const { jobs, tasks, runtimeSeconds } of runs) {
        expect(jobs.completed).toBe(1);
        expect(tasks).toEqual({ submitted: 5_000, completed: 5_000, attempts: 5_000 });
        // The job runs on one, two or three workers, depending on the partition of its class.
        expect(runtimeSeconds.all.max).toBeGreaterThan(5_000 / 3);
        expect(runtimeSeconds.all.max).toBeLessThan(5_010);
      }
    }
  });

  it('more probes than there are workers', async () => {
    const trace = await trOf('0 1 5 5', '1 3 5 5 5 5', '30 1 50 50');
    const { runs } = await simulate(
      trace,
      '--probe-ratio',
      '50',
      '--workers',
      '10',
      '--policy',
      'hawk,sparrow',
    );
    for (const { jobs } of runs) expect(jobs).toEqual({ submitted: 3, completed: 3, failed: 0 });
  });

  it('one worker, with a note that none is reserved for short jobs', async () => {
    const trace = await trOf('0 1 5 5', '1 3 5 5 5 5', '30 1 50 50');
    const args = ['simulate', trace, '--workers', '1', '--cutoff', '10', '--parallel', '1'];
    const { runs } = await simulate(...args.slice(1, -2), '--policy', 'hawk,sparrow');
    const { exitCode, stderr } = await runHere([...args, '--policy', 'hawk,sparrow']);
    expect(exitCode).toBe(0);
    expect(runs.map(({ jobs }) => jobs.completed)).toEqual([3, 3]);
    const notes = stderr.split('\n').filter((line) => line.includes('rounds to zero'));
    expect(notes).toEqual(['hawk: 17% of one worker rounds to zero: no worker is reserved for short tasks']);
    const large = await runHere(['simulate', trace, '--workers', '6', '--parallel', '1']);
    expect(large.stderr).not.toContain('kept free');
  });

  it('simultaneous jobs and tasks without run time', async () => {
    const { runs, workload } = await simulate(
      await trOf('3 2 0 0 0', '3 1 0 0'),
      '--policy',
      'hawk',
      '--short-partition',
      'auto',
    );
    expect(workload).toMatchObject({ spanSeconds: 0, taskSeconds: 0 });
    expect(runs[0]).toMatchObject({ jobs: { completed: 2 }, options: { load: null, shortPartition: 0 } });
  });

  it('warm-up and cool-down, which the results exclude', async () => {
    const trace = await trOf('0 1 5 5', '10 3 5 5 5 5', '30 1 50 50');
    const counted = async (...args: string[]) =>
      (await simulate(trace, '--workers', '5', ...args)).runs[0]!.jobs.submitted;
    expect(await counted()).toBe(3);
    expect(await counted('--warm-up', '5s')).toBe(2);
    expect(await counted('--warm-up', '5s', '--cool-down', '5s')).toBe(1);
    expect(await counted('--warm-up', '10s', '--cool-down', '20s')).toBe(1);
    // Arrivals are stretched to three times the time.
    const stretched = ['--load', `${65 / 30 / 5 / 3}`, '--warm-up', '29s'];
    expect(await counted(...stretched)).toBe(2);
  });

  it('a report that exists already, which it replaces', async () => {
    const report = join(folder, 'out.html');
    await writeFile(report, 'old');
    await simulate(await trOf('0 1 5 5'), '--workers', '5', '--report', report);
    expect(await readFile(report, 'utf8')).toMatch(/^<!doctype html>/i);
    expect(await readdir(folder)).not.toContainEqual(expect.stringContaining('partial'));
  });
});

it('an interrupted report is not written, and the old one remains', async () => {
  const report = join(folder, 'interrupted.html');
  await writeFile(report, 'old');
  const args = ['simulate', await trOf('0 1 5 5'), '--workers', '5', '--report', report];
  const { exitCode, stdout, stderr } = await runHere([...args, '--parallel', '1'], {
    interruptAt: 'writing the report',
  });
  expect(exitCode).toBe(130);
  expect(stdout).toBe('');
  expect(stderr).toContain('interrupted: all runs ended, but the report was not written');
  expect(await readFile(report, 'utf8')).toBe('old');
  expect(await readdir(folder)).not.toContainEqual(expect.stringContaining('partial'));
});

describe('a simulated job', () => {
  const staged = {
    submitSeconds: 0,
    stages: [
      { name: 'map', durationsSeconds: [10, 20] },
      { name: 'reduce', after: ['map'], durationsSeconds: [5, 5] },
    ],
  };

  it('starts a stage when those before it have ended', async () => {
    const { runs, workload } = await simulate(await traceOf(staged), ...SMALL, '--cutoff', '100');
    expect(workload).toMatchObject({ jobs: 1, tasks: 4, taskSeconds: 40 });
    for (const { jobs, tasks, runtimeSeconds, queueingSeconds } of runs) {
      expect(jobs).toEqual({ submitted: 1, completed: 1, failed: 0 });
      expect(tasks).toEqual({ submitted: 4, completed: 4, attempts: 4 });
      expect(runtimeSeconds.short.p50).toBeGreaterThanOrEqual(25);
      expect(runtimeSeconds.short.p50).toBeLessThan(25.1);
      expect(queueingSeconds.short.max).toBeGreaterThanOrEqual(20);
    }
  });

  it('has the class that its submitter states, if schedulers get it', async () => {
    // Central places long jobs only.
    const placed = async (estimator: string) => {
      const trace = await traceOf({ ...staged, estimateSeconds: 500 });
      const given = ['--policy', 'hawk', '--cutoff', '100', '--estimator', estimator];
      const { runs } = await simulate(trace, '--workers', '20', ...given);
      return runs[0]!.messages.byType.place ?? 0;
    };
    expect(await placed('oracle')).toBe(0);
    expect(await placed('given')).toBeGreaterThan(0);
  });

  it('runs at most as many tasks at a time as it states and as fit', async () => {
    const job = { submitSeconds: 0, durationsSeconds: new Array<number>(8).fill(10) };
    const runtime = async (changes: object, ...args: string[]) => {
      const { runs } = await simulate(await traceOf({ ...job, ...changes }), '--workers', '1', ...args);
      return Math.round(runs[0]!.runtimeSeconds.all.max!);
    };
    expect(await runtime({}, '--cpus', '8')).toBe(10);
    expect(await runtime({ maxRunning: 4 }, '--cpus', '8')).toBe(20);
    expect(await runtime({ demand: { cpu: 2 } }, '--cpus', '8')).toBe(20);
    expect(await runtime({ demand: { gpu: 1 } }, '--cpus', '8', '--resources', 'gpu=2')).toBe(40);
  });

  it('fails with the command if a task exceeds its time limit', async () => {
    const trace = await traceOf(
      { ...staged, timeoutSeconds: 15, retries: 1 },
      { submitSeconds: 1, durationsSeconds: [3] },
    );
    const { exitCode, stdout } = await runHere(['simulate', trace, ...SMALL, '--json', '--parallel', '1']);
    expect(exitCode).toBe(1);
    const { runs } = JSON.parse(stdout) as Comparison;
    for (const { jobs, tasks } of runs) {
      expect(jobs).toEqual({ submitted: 2, completed: 1, failed: 1 });
      expect(tasks).toEqual({ submitted: 5, completed: 2, attempts: 4 });
    }
  });
});

describe('a time limit', () => {
  it('ends a job that exceeds it, including tasks that have not started', async () => {
    const trace = await traceOf(
      { submitSeconds: 0, durationsSeconds: [3, 30, 5], timeLimitSeconds: 10 },
      { submitSeconds: 50, durationsSeconds: [3, 5], timeLimitSeconds: 10 },
    );
    const { exitCode, stdout } = await runHere(['simulate', trace, '--workers', '1', '--json']);
    expect(exitCode).toBe(1);
    const { runs } = JSON.parse(stdout) as Comparison;
    for (const { jobs, tasks } of runs) {
      expect(jobs).toEqual({ submitted: 2, completed: 1, failed: 1 });
      expect(tasks).toMatchObject({ submitted: 5, completed: 3 });
    }
  });
});

describe('a priority', () => {
  it('moves a job ahead of others that would otherwise be earlier', async () => {
    const others = Array.from({ length: 10 }, () => ({ submitSeconds: 0, durationsSeconds: [12, 12] }));
    const waitOf = async (priority: string) => {
      const ours = { submitSeconds: 1, durationsSeconds: new Array(10).fill(10), priority };
      const args = ['--workers', '1', '--cutoff', '11', '--policy', 'goshawk'];
      const { runs } = await simulate(await traceOf(...others, ours), ...args);
      return runs[0]!.queueingSeconds.short.mean!;
    };
    const [low, normal, high] = [await waitOf('low'), await waitOf('normal'), await waitOf('high')];
    expect(normal).toBeGreaterThan(240);
    expect(low).toBeGreaterThanOrEqual(normal);
    expect(high).toBeLessThan(normal / 2);
  });
});

describe('simulate goshawk', () => {
  it('sends few messages, whose types add up', async () => {
    const { runs } = await simulate('google-like:jobs=300,seed=5', '--policy', 'goshawk', '--workers', '300');
    const { messages, tasks } = runs[0]!;
    expect(messages.byType).toMatchObject({ run: tasks.completed, ended: tasks.completed });
    expect((messages.total - 300 * 3) / tasks.completed).toBeLessThan(4.5);
  });
});

describe('shadow estimators', () => {
  const jobs = Array.from(
    { length: 40 },
    (_, i) => `${5 * i} 4 ${i % 2 === 0 ? '2 2 2 2 2' : '90 90 90 90 90'}`,
  );

  it('are scored on knowledge from the past and change nothing', async () => {
    const trace = await trOf(...jobs);
    const [features, history] = [join(folder, 'features.csv'), join(folder, 'history.csv')];
    await writeFile(features, `line,user\n${jobs.map((_, i) => `${i + 1},u${i % 2}\n`).join('')}`);
    const past = Array.from({ length: 10 }, (_, i) => `${i},${i},${i + (i % 2 === 0 ? 2 : 90)},u${i % 2}\n`);
    await writeFile(history, `submit_s,start_s,end_s,user\n${past.join('')}`);
    const asked = [trace, '--workers', '20', '--cutoff', '50', '--features', features, '--effects-hash'];
    const hashOf = ({ runs: [run] }: Comparison) =>
      (run as { effectsHash?: string } | undefined)?.effectsHash;
    const alone = await simulate(...asked);
    expect(alone.runs[0]!.shadow).toBeUndefined();
    const watched = await simulate(...asked, '--history', history, '--shadow', 'pilot,history,hybrid');
    expect(hashOf(watched)).toBe(hashOf(alone));
    const scores = watched.runs[0]!.shadow!;
    expect(scores.map(({ estimator }) => estimator)).toEqual(['pilot', 'history', 'hybrid']);
    for (const { estimator, jobs: scored, errorPercent, misclassifiedJobsPercent } of scores) {
      expect(scored).toBe(40);
      // The prior barely changes the pilots' estimate if the tasks of a job are alike.
      expect(errorPercent.p90).toBeCloseTo(0, estimator === 'pilot' ? 2 : 6);
      expect(misclassifiedJobsPercent).toBe(0);
    }
    // A long job's pilot runs until the job is known to be long, a short job's pilot until it ends.
    expect(scores[0]!.delaySeconds!.mean).toBeCloseTo((2 + 50) / 2, 6);
    expect(scores[1]!.delaySeconds!.mean).toBe(0);
  });

  it('are also shown on the terminal', async () => {
    const trace = await trOf(...jobs);
    const { stdout } = await runHere([
      'simulate',
      trace,
      '--workers',
      '20',
      '--shadow',
      'pilot',
      '--parallel',
      '1',
    ]);
    expect(stdout).toContain('estimators in shadow of goshawk, seed 1: 40 jobs');
  });

  it('learn by the requested features only', async () => {
    const asked = ['no/such', '--history-features', 'user+moon'];
    const { stderr, exitCode } = await runHere(['simulate', ...asked]);
    expect(stderr).toContain('there is no attribute "moon" for the feature "user+moon"');
    expect(exitCode).toBe(2);
    const trace = await trOf(...jobs);
    const { runs } = await simulate(
      trace,
      '--workers',
      '20',
      '--history-features',
      'name, tasks',
      '--shadow',
      'history',
    );
    expect(runs[0]!.options.historyFeatures).toBe('name,tasks');
    expect(runs[0]!.shadow).toHaveLength(1);
  });

  it('are rejected before the workload is read if they are unknown', async () => {
    const { stderr, exitCode } = await runHere(['simulate', 'no/such', '--shadow', 'moon']);
    expect(stderr).toContain('there is no estimator "moon"');
    expect(exitCode).toBe(2);
  });
});

it('simulated schedulers learn from earlier jobs first', async () => {
  const trace = await trOf('0 2 500 500 500', '10 2 500 500 500');
  const [features, history] = [join(folder, 'features.csv'), join(folder, 'history.csv')];
  await writeFile(features, 'line,user\n1,ada\n2,ada\n');
  await writeFile(history, `submit_s,start_s,end_s,user\n${'0,0,500,ada\n'.repeat(3)}`);
  const asked = [
    trace,
    '--workers',
    '20',
    '--cutoff',
    '100',
    '--features',
    features,
    '--estimator',
    'history',
  ];
  const { runs } = await simulate(...asked, '--history', history);
  expect(runs[0]!.predictor).toMatchObject({ meanAbsoluteErrorPercent: 0, misclassifiedPercent: 0 });
  const { runs: blind } = await simulate(...asked);
  expect(blind[0]!.predictor).toMatchObject({ misclassifiedPercent: 100 });
});

it('a task that requests nothing takes one CPU under every policy', async () => {
  const file = await traceOf(
    { submitSeconds: 0, durationsSeconds: [15], demand: { cpu: 3 } },
    { submitSeconds: 0.1, durationsSeconds: [10, 10] },
  );
  const cluster = ['--workers', '1', '--cpus', '4'];
  const { runs } = await simulate(file, ...cluster, '--policy', 'goshawk,hawk,drf,bfjs');
  for (const { policy, runtimeSeconds } of runs)
    expect([policy, Math.round(runtimeSeconds.all.max!)]).toEqual([policy, 20]);
});

it('--save-results records the assumed class and the outcome of each job, run by run', async () => {
  const file = join(folder, 'results.jsonl');
  const trace = await trOf('0 1 5 5', '1 3 5 5 5 5', '30 1 50 50');
  await simulate(trace, ...SMALL, '--cutoff', '20', '--save-results', file);
  const [head, ...records] = (await readFile(file, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(head).toEqual({ schema: 'goshawk.results/1' });
  expect(records.map(({ policy, job, class: of, judged }) => [policy, job, of, judged])).toEqual([
    ['hawk', 1, 'short', 'short'],
    ['hawk', 2, 'short', 'short'],
    ['hawk', 3, 'long', 'long'],
    ['sparrow', 1, 'short', 'short'],
    ['sparrow', 2, 'short', 'short'],
    ['sparrow', 3, 'long', 'long'],
  ]);
  for (const record of records) {
    expect(record.runtimeSeconds).toBeGreaterThanOrEqual(record.meanSeconds as number);
    expect(record).toMatchObject({ seed: 1, outcome: 'completed', estimateSeconds: record.meanSeconds });
  }
});

it('pilot tasks depend on the seed and the position of each job, even with shadow estimators', async () => {
  const records = async (...args: string[]): Promise<string[]> => {
    const file = join(folder, 'pilots.jsonl');
    const workload = 'google-like:jobs=200,seed=3';
    await simulate(workload, '--workers', '300', '--estimator', 'pilot', '--save-results', file, ...args);
    return (await readFile(file, 'utf8')).trimEnd().split('\n');
  };
  const alone = await records();
  expect(await records('--shadow', 'pilot,history')).toEqual(alone);
  expect(await records('--seed', '2')).not.toEqual(alone);

  // Identical jobs have pilots in different positions.
  const mixed = Array.from({ length: 40 }, (_, at) => ({
    submitSeconds: at * 1_000,
    durationsSeconds: Array.from({ length: 10 }, (_, task) => 10 + task),
  }));
  const trace = await traceOf(...mixed);
  const file = join(folder, 'alike.jsonl');
  const pilot = ['--estimator', 'pilot', '--durations', 'task', '--cutoff', '1000', '--save-results', file];
  await simulate(trace, '--workers', '20', ...pilot);
  const [, ...jobs] = (await readFile(file, 'utf8')).trimEnd().split('\n');
  const estimates = jobs.map((line) => (JSON.parse(line) as { estimateSeconds: number }).estimateSeconds);
  expect(new Set(estimates.map((seconds) => Math.round(seconds))).size).toBeGreaterThan(5);
});

describe('demands of a trace of another system', () => {
  const LINES = ['submit,duration,cpu,memory', '0,10,2,4GiB', '0,10,2,4GiB'];

  async function simulated(...args: string[]) {
    const file = join(folder, 'needs.csv');
    await writeFile(file, LINES.join('\n'));
    const { exitCode, stderr, stdout } = await runHere([
      'simulate',
      file,
      ...['--policy', 'fifo-ff', '--workers', '1', '--network-delay', '0ms', '--csv', '--parallel', '1'],
      ...args,
    ]);
    const [names = [], values = []] = stdout.split('\n').map((line) => line.split(','));
    return {
      exitCode,
      stderr,
      longest: Number(values[names.indexOf('runtimeSeconds.all.max')]),
    };
  }

  it('are left out with a note unless workers have the resource', async () => {
    const { stderr, longest } = await simulated();
    expect(stderr).toContain(
      '2  jobs whose demand for cpu is ignored (to use it, set the capacity of each worker with --resources cpu=AMOUNT',
    );
    expect(stderr).toContain(
      '2  jobs whose demand for memory is ignored (to use it, set the capacity of each worker with --resources memory=AMOUNT',
    );
    expect(longest).toBe(20);
  });

  it('count if options define the resource', async () => {
    const { stderr, longest } = await simulated('--cpus', '4', '--resources', 'memory=6GiB');
    expect(stderr).not.toContain('left out');
    expect(longest).toBe(20);
    expect((await simulated('--cpus', '4', '--resources', 'memory=8GiB')).longest).toBe(10);
    expect((await simulated('--cpus', '1', '--resources', 'memory=1GiB')).exitCode).toBe(2);
  });
});

describe('a workload that names its cluster', () => {
  const mixed = 'mixed:jobs=60,workers=4,seed=2';

  it('is simulated on it under every policy, including gangs', async () => {
    const { cluster, runs } = await simulate(mixed, '--policy', 'goshawk,hawk,drf');
    expect(cluster).toMatchObject({ workers: 4, slots: 4 });
    expect(runs[0]!.options).toMatchObject({ resources: 'memory=8GiB,gpu=1' });
    const completed = runs.map(({ policy, jobs }) => [policy, jobs.completed]);
    expect(Object.fromEntries(completed)).toEqual({ goshawk: 60, hawk: 60, drf: 60 });
  });

  it('reports the policies that start gang tasks one by one', async () => {
    const args = ['simulate', mixed, '--policy', 'goshawk,drf', '--parallel', '1'];
    const { exitCode, stderr } = await runHere(args);
    expect(exitCode).toBe(0);
    expect(stderr).toContain('drf does not support gangs; their tasks start one by one');
    expect(stderr).not.toContain('goshawk does not support gangs');
  });

  it('is simulated on another cluster if options define it', async () => {
    const { cluster } = await simulate(
      mixed,
      '--cpus',
      '8',
      '--resources',
      'memory=16GiB,gpu=2',
      '--workers',
      '2',
    );
    expect(cluster).toMatchObject({ workers: 2, slots: 8 });
  });

  it('is rejected if a gang could never start', async () => {
    const { exitCode, stderr } = await runHere(['simulate', 'mixed:jobs=60,workers=20', '--workers', '1']);
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringMatching(/tasks of "gang" start together, and the cluster has room for 2/),
    ]);
  });
});

it('shares the cluster by the weights of a users file', async () => {
  const jobs = Array.from({ length: 120 }, (_, place) => ({
    submitSeconds: 0,
    durationsSeconds: [1],
    user: place % 2 === 0 ? 'ana' : 'ben',
  }));
  const trace = await traceOf(...jobs);
  const users = join(folder, 'users.json');
  await writeFile(users, JSON.stringify({ ben: { weight: 3 } }));
  const results = join(folder, 'users-results.jsonl');
  const lastOf = async (...args: string[]): Promise<{ ana: number; ben: number }> => {
    await simulate(trace, '--workers', '4', '--save-results', results, ...args);
    const lines = (await readFile(results, 'utf8')).trimEnd().split('\n').slice(1);
    await rm(results);
    const last = { ana: 0, ben: 0 };
    for (const line of lines) {
      const { job, runtimeSeconds } = JSON.parse(line) as { job: number; runtimeSeconds: number };
      const user = job % 2 === 1 ? 'ana' : 'ben';
      last[user] = Math.max(last[user], runtimeSeconds);
    }
    return last;
  };
  const equal = await lastOf();
  expect(Math.abs(equal.ana - equal.ben)).toBeLessThan(2);
  // With three of four workers, 60 tasks of 1 s take 20 s instead of 30.
  const weighted = await lastOf('--users', users);
  expect(weighted.ben).toBeLessThan(22);
  expect(weighted.ana).toBeGreaterThan(28);
});

it('measures load and utilization in CPUs, which tasks may demand', async () => {
  const job = { durationsSeconds: [100] };
  const file = await traceOf(
    { submitSeconds: 0, ...job, demand: { cpu: 64 } },
    { submitSeconds: 50, ...job, demand: { cpu: 32 } },
    { submitSeconds: 100, ...job },
  );
  const size = ['--workers', '1', '--cpus', '64', '--network-delay', '0ms'];
  const { runs } = await simulate(file, ...size);
  // 97 CPUs × 100 s of work: 64 CPUs are busy for 100 s, then 33 for 100 s.
  expect(runs[0]!.options.load).toBeCloseTo(97 / 64, 12);
  expect(runs[0]!.utilisation).toMatchObject({ mean: 97 / 128, max: 1, whileSubmitting: { mean: 1 } });
});

it('counts no CPU for a task that demands only another resource, as workers do', async () => {
  const job = { durationsSeconds: [100], demand: { gpu: 1 } };
  const file = await traceOf({ submitSeconds: 0, ...job }, { submitSeconds: 100, ...job });
  const size = ['--workers', '1', '--cpus', '4', '--resources', 'gpu=1', '--network-delay', '0ms'];
  const { runs } = await simulate(file, ...size);
  expect(runs[0]!.options.load).toBe(0);
  expect(runs[0]!.utilisation).toMatchObject({ mean: 0, max: 0 });
});
