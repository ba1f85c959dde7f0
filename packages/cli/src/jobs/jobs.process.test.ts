import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cluster, connect, type JobSubmission } from '@goshawk/client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { isRunning, type ProcessOptions } from '../goshawk-process.fixture.js';
import { TestCluster } from '../test-cluster.fixture.js';

let up: TestCluster;
/** Cluster for setup and teardown of tests. */
let cluster: Cluster;

beforeAll(async () => {
  up = await TestCluster.start(['--workers', '20', '--schedulers', '3']);
  cluster = await connect(up.url);
});

afterAll(async () => {
  await cluster.close();
  expect((await up.stop()).exitCode).toBe(0);
});

/** Runs a command that must succeed. */
async function stdoutOf(args: string[], options?: ProcessOptions): Promise<string> {
  const { exitCode, stdout, stderr } = await up.goshawk(args, options);
  expect(stderr, args.join(' ')).not.toMatch(/^goshawk: /m);
  expect(exitCode, stderr).toBe(0);
  return stdout;
}

/** @returns the id */
async function submit(job: JobSubmission): Promise<string> {
  return (await cluster.submit(job)).id;
}

async function jsonOf(...args: string[]) {
  return JSON.parse(await stdoutOf([...args, '--json']));
}

describe('a failed task with truncated output', () => {
  const FLOODS = 'seq 400000; echo cause >&2; seq 400000 >&2; echo last; echo end >&2; exit 3';

  it('has both ends of both streams in its log, and the last lines in the failure summary', async () => {
    const { exitCode, stdout, stderr } = await up.goshawk(['submit', '--wait', '--', 'sh', '-c', FLOODS]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/\n +\| 400000\n +\| last\n(.*\n)* +\| 400000\n +\| end\n/);
    const id = stdout.trim();
    const logs = await up.goshawk(['logs', id, '--failed']);
    const gap = /\ngoshawk: (\d+) bytes of std(?:out|err) omitted here\n/;
    for (const [stream, last] of [
      ['stdout', 'last'],
      ['stderr', 'end'],
    ] as const) {
      expect(logs[stream]).toMatch(/^(cause\n)?1\n2\n3\n/);
      expect(logs[stream]).toMatch(gap);
      expect(logs[stream]).toMatch(new RegExp(`\\n399999\\n400000\\n${last}\\n$`));
    }
    const tail = await up.goshawk(['logs', id, '--tail', '2']);
    expect([tail.stdout, tail.stderr]).toEqual(['', '400000\nend\n']);
  });

  it('names the file of its stderr, in the summary and in the log', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'goshawk-err-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'err.txt');
    const { stdout, stderr } = await up.goshawk([
      'submit',
      '--wait',
      '--stderr',
      file,
      '--',
      'sh',
      '-c',
      'echo cause >&2; exit 3',
    ]);
    expect(stderr).toContain(`  stderr: ${file}\n`);
    expect(stderr).not.toContain('goshawk logs');
    const logs = await up.goshawk(['logs', stdout.trim()]);
    expect(logs.stdout).toBe('');
    expect(logs.stderr).toContain(file);
  });
});

describe('submit', () => {
  it('prints only the id on stdout, waits, and exits with the outcome', async () => {
    const { exitCode, stdout, stderr } = await up.goshawk([
      'submit',
      '--tasks',
      '200',
      '--sleep',
      '50ms',
      '--wait',
    ]);
    expect(stdout).toMatch(/^\w+-\d+\n$/);
    expect(stderr).toMatch(/^\S+ completed: 200 tasks, after [\d.]+ m?s$/m);
    expect(exitCode).toBe(0);
    const job = await jsonOf('job', stdout.trim());
    expect(job).toMatchObject({
      schema: 'goshawk.job/1',
      state: 'completed',
      tasks: { total: 200, completed: 200, failed: 0 },
      attemptCounts: { total: 200, failed: 0, lost: 0 },
    });
    expect(Date.parse(job.endedAt)).toBeGreaterThan(Date.parse(job.startedAt));
  });

  it('streams output in complete lines, prefixed with the task', async () => {
    const script = 'for i in 1 2 3; do echo line $i of $GOSHAWK_TASK; done; echo oops >&2';
    const { exitCode, stdout, stderr } = await up.goshawk([
      'submit',
      '--tasks',
      '4',
      '--logs',
      '--prefix',
      'always',
      '--',
      'sh',
      '-c',
      script,
    ]);
    expect(exitCode).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(stderr).toMatch(/^\w+-\d+\n/);
    const expected = [0, 1, 2, 3].flatMap((task) =>
      [1, 2, 3].map((i) => `task ${task} | line ${i} of ${task}`),
    );
    expect(lines.toSorted()).toEqual(expected.toSorted());
    expect(stderr.match(/^task \d \| oops$/gm)).toHaveLength(4);
  });

  it('writes output to files, which `logs` prints', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'goshawk-files-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const files = ['--stdout', 'out/{index}.txt', '--stderr', 'out/{index}.txt', '--cwd', folder];
    const command = ['--tasks', '3', '--wait', '--', 'sh', '-c', 'echo $GOSHAWK_TASK; echo e >&2'];
    const id = (await stdoutOf(['submit', ...files, ...command])).trim();
    for (const task of [0, 1, 2]) {
      expect(await readFile(join(folder, 'out', `${task}.txt`), 'utf8')).toBe(`${task}\ne\n`);
    }
    expect(await stdoutOf(['logs', id])).toBe('0\ne\n1\ne\n2\ne\n');
    expect(await stdoutOf(['logs', `${id}/1`, '--tail', '1'])).toBe('e\n');
    const bad = ['submit', '--wait', '--stdout', '/proc/none/x', '--', 'true'];
    const { exitCode, stderr } = await up.goshawk(bad);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('stdout cannot go to "/proc/none/x" on this worker: ');
  });

  it('lists a full page that ends with the last job', async () => {
    const id = (await stdoutOf(['submit', '--hold', '--name', 'only-one', '--sleep', '1ms'])).trim();
    const { stdout, stderr } = await up.goshawk(['jobs', 'name:only-one', '--limit', '1']);
    expect(stdout).toContain('only-one');
    expect(stderr).not.toContain('more job');
    await stdoutOf(['cancel', id]);
  });

  it('ends a job that exceeds its time limit', async () => {
    const job = ['--tasks', '3', '--time-limit', '300ms', '--wait', '--', 'sleep', '1000'];
    const { exitCode, stdout, stderr } = await up.goshawk(['submit', ...job]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("the job's time limit of 300 ms has passed");
    expect(await stdoutOf(['job', stdout.trim()])).toMatch(/limit +300 ms from its first start/);
    expect(await jsonOf('job', stdout.trim())).toMatchObject({ state: 'failed', timeLimitSeconds: 0.3 });
    const idle = async () =>
      (await jsonOf('workers')).workers.every((one: { busy: number }) => one.busy === 0);
    await expect.poll(idle, { timeout: 60_000 }).toBe(true);
  });

  it('starts jobs after their predecessors on any scheduler, and not after failed ones', async () => {
    const blocker = await cluster.submit({ name: 'blocker', tasks: [{ exec: ['sleep', '1000'] }] });
    const held = await Promise.all(
      Array.from({ length: 6 }, () =>
        cluster.submit({ tasks: [{ sleep: 1 }], after: [blocker], afterOk: [blocker.id] }),
      ),
    );
    const args = ['--after', blocker.id, '--', 'echo', 'at last'];
    const any = (await stdoutOf(['submit', ...args])).trim();
    await expect
      .poll(() => stdoutOf(['why', any]), { timeout: 60_000 })
      .toMatch(new RegExp(`waits for job ${blocker.id} \\(running, 0% done\\)`));
    expect(await jsonOf('job', any)).toMatchObject({ state: 'waiting', after: [{ id: blocker.id }] });
    await stdoutOf(['cancel', blocker.id]);
    for (const job of held) {
      await expect
        .poll(() => stdoutOf(['why', job.id]), { timeout: 60_000 })
        .toContain(`${blocker.id} (cancelled), on hold until a retry of it completes`);
      expect(await job.cancel()).toMatchObject({ state: 'cancelled' });
    }
    expect(await stdoutOf(['wait', any, '--wait-timeout', '60s'])).toContain('completed');
    const chain = [any];
    for (let link = 0; link < 5; link++) {
      const args = ['submit', '--after-ok', chain.at(-1)!, '--after', chain[0]!, '--sleep', '1ms'];
      chain.push((await stdoutOf(args)).trim());
    }
    expect(await stdoutOf(['wait', chain.at(-1)!, '--wait-timeout', '60s'])).toContain('completed');
    const { exitCode, stderr } = await up.goshawk(['submit', '--after', 'nothing-x', '--', 'true']);
    expect([exitCode, stderr.trim().split('\n').length]).toEqual([2, 1]);
    const none = await up.goshawk(['submit', '--after', `${any}999`, '--', 'true']);
    expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining('there is no job')]);
    const folder = await mkdtemp(join(tmpdir(), 'goshawk-after-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'job.json');
    await writeFile(file, JSON.stringify({ tasks: [{ sleep: 1 }], afterOk: [`${any}999`] }));
    const inFile = await up.goshawk(['submit', file]);
    expect([inFile.exitCode, inFile.stderr]).toEqual([2, expect.stringContaining('there is no job')]);
  });

  it('retries after a delay, and only for the given failures', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'goshawk-retries-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const script = `date +%s%N >> ${folder}/$GOSHAWK_TASK; test $GOSHAWK_TASK = 1 && exit 1; test $GOSHAWK_ATTEMPT = 3 || exit 75`;
    const retries = ['--retries', '5', '--retry-backoff', '400ms', '--retry-on', '75,137'];
    const { exitCode, stdout } = await up.goshawk([
      'submit',
      '--tasks',
      '2',
      '--wait',
      ...retries,
      '--',
      'sh',
      '-c',
      script,
    ]);
    expect(exitCode).toBe(1);
    const starts = async (task: number) =>
      (await readFile(join(folder, `${task}`), 'utf8'))
        .trim()
        .split('\n')
        .map((ns) => Number(ns) / 1e6);
    const [first, second, third, ...more] = await starts(0);
    expect(second! - first!).toBeGreaterThanOrEqual(200);
    expect(third! - second!).toBeGreaterThanOrEqual(400);
    expect(more).toEqual([]);
    expect(await starts(1)).toHaveLength(1);
    expect(await jsonOf('job', stdout.trim())).toMatchObject({ tasks: { completed: 1, failed: 1 } });
  });

  it('creates one job per key', async () => {
    const args = ['--key', 'only-once', '--sleep', '1ms'];
    const first = await stdoutOf(['submit', ...args]);
    expect(await stdoutOf(['submit', ...args])).toBe(first);
    await stdoutOf(['wait', first.trim()]);
    const { stdout, stderr } = await up.goshawk(['submit', ...args]);
    expect(stdout).toBe(first);
    expect(stderr).toContain(
      `the job with this key has already ended: completed; \`goshawk job ${first.trim()}\` shows it`,
    );
  });

  it('accepts job files with stages, also from stdin, and prints their outcome as JSON', async () => {
    const job = {
      stages: [
        { name: 'reduce', after: ['map'], tasks: [{ exec: ['sh', '-c', 'cat part-* > whole; rm part-*'] }] },
        { name: 'map', tasks: ['a', 'b'].map((x) => ({ exec: ['sh', '-c', `echo ${x} > part-${x}`] })) },
      ],
    };
    const stdout = await stdoutOf(['submit', '-', '--wait', '--json'], { input: JSON.stringify(job) });
    const { ended, ...submitted } = JSON.parse(stdout);
    expect(submitted).toEqual({ schema: 'goshawk.submit/1', job: ended.id, state: 'completed' });
    expect(ended).toMatchObject({ schema: 'goshawk.job/1', state: 'completed', tasks: { total: 3 } });
    expect(await readFile(join(up.folder, 'whole'), 'utf8')).toBe('a\nb\n');
  });

  it('rejects a demand that no worker can meet, and names the closest one', async () => {
    const { exitCode, stdout, stderr } = await up.goshawk(['submit', '--cpus', '1000', '--sleep', '1ms']);
    expect(stderr).toMatch(/^goshawk: no worker has cpu 1000; the closest is w\d+ with cpu 1, .*\n$/);
    expect(stdout).toBe('');
    expect(exitCode).toBe(2);
  });
});

describe('modules', () => {
  beforeAll(() =>
    writeFile(
      join(up.folder, 'work.mjs'),
      'export const twice = (n) => { console.log("got", n); return { twice: 2 * n }; };\n' +
        'export const fail = () => { throw new RangeError("out of luck"); };\n',
    ),
  );

  it('return values', async () => {
    const args = ['submit', '--module', './work.mjs#twice', '--array', '1-3', '--results'];
    const { stdout, stderr } = await up.goshawk(args);
    const [id] = stderr.split('\n');
    const values = stdout.trim().split('\n');
    expect(values.map((line) => JSON.parse(line))).toEqual([{ twice: 2 }, { twice: 4 }, { twice: 6 }]);
    expect(await stdoutOf(['logs', id!])).toBe('got 1\ngot 2\ngot 3\n');
    const { results } = await jsonOf('wait', id!, '--results');
    expect(results).toMatchObject([0, 1, 2].map((index) => ({ index, value: { twice: 2 * index + 2 } })));
    const again = await jsonOf('submit', '--module', './work.mjs#twice', '--array', '1-3', '--results');
    expect(again.ended.results.map(({ value }: { value: unknown }) => value)).toEqual(
      [1, 2, 3].map((n) => ({ twice: 2 * n })),
    );
  });

  it('return the other results if one fails, with the exit code of a failed job', async () => {
    const module = join(up.folder, 'some.mjs');
    await writeFile(module, 'export default (n) => { if (n === 2) throw new Error("two"); return n; };\n');
    const args = ['submit', '--module', module, '--array', '1-3', '--results'];
    const { exitCode, stdout, stderr } = await up.goshawk(args);
    const [id] = stderr.split('\n');
    expect(exitCode).toBe(1);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      1,
      { index: 1, state: 'failed', attempt: 1, error: { message: expect.stringContaining('two') } },
      3,
    ]);
    // The outcome goes to stderr, so that a program can parse stdout.
    const text = await up.goshawk(['wait', id!, '--results']);
    expect([text.exitCode, text.stdout]).toEqual([1, stdout]);
    expect(text.stderr).toContain('1 of 3 tasks failed');
    const again = await up.goshawk(['wait', id!, '--results', '--json']);
    expect(again.exitCode).toBe(1);
    expect(JSON.parse(again.stdout).results).toMatchObject([
      { index: 0, state: 'completed', value: 1, error: null },
      { index: 1, state: 'failed', value: null },
      { index: 2, state: 'completed', value: 3 },
    ]);
  });

  it('return values, while commands have exit codes and the location of their output', async () => {
    const script = ['--', 'sh', '-c', '[ $GOSHAWK_TASK = 0 ] || exit 7'];
    const { exitCode, stdout, stderr } = await up.goshawk(['submit', '--tasks', '2', '--results', ...script]);
    const [id] = stderr.split('\n');
    expect(exitCode).toBe(1);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { index: 0, exitCode: 0, output: { logs: `goshawk logs ${id}/0` } },
      { index: 1, exitCode: 7, error: { code: 'exit-code' } },
    ]);
  });

  it('fail with the error that they threw', async () => {
    const { exitCode, stderr } = await up.goshawk(['submit', '--module', './work.mjs#fail', '--wait']);
    expect(stderr).toMatch(/^ {2}task 0 on w\d+: RangeError: out of luck/m);
    expect(exitCode).toBe(1);
  });
});

describe('logs', () => {
  it('are those of the last attempt of each task, unless another one or all are requested', async () => {
    const script = 'echo attempt $GOSHAWK_ATTEMPT; [ $GOSHAWK_ATTEMPT = 2 ]';
    const { stdout } = await up.goshawk([
      'submit',
      '--wait',
      '-q',
      '--retries',
      '1',
      '--',
      'sh',
      '-c',
      script,
    ]);
    const id = stdout.trim();
    const earlier = 'earlier attempts of tasks also printed output: --attempt all shows it\n';
    expect(await up.goshawk(['logs', id])).toMatchObject({ stdout: 'attempt 2\n', stderr: earlier });
    expect(await up.goshawk(['logs', id, '--attempt', '1'])).toMatchObject({
      stdout: 'attempt 1\n',
      stderr: '',
    });
    expect(await up.goshawk(['logs', id, '--attempt', '3'])).toMatchObject({
      stdout: '',
      stderr: 'there is no output of attempt 3\n',
    });
    expect(await up.goshawk(['logs', id, '--attempt', 'all'])).toMatchObject({
      stdout: 'attempt 1\nattempt 2\n',
      stderr: 'task 0: attempt 2 begins\n',
    });
  });

  it('are printed in task order, each on its stream', async () => {
    const script = 'echo $GOSHAWK_TASK of $GOSHAWK_JOB; echo "no newline" >&2; [ $GOSHAWK_TASK != 2 ]';
    const id = await submit({ tasks: { count: 4, run: { exec: ['sh', '-c', script] } } });
    const all = await up.goshawk(['logs', id, '--follow', '--prefix', 'never']);
    expect(all.stdout.trim().split('\n').toSorted()).toEqual([0, 1, 2, 3].map((task) => `${task} of ${id}`));
    const { stdout, stderr } = await up.goshawk(['logs', id]);
    expect(stdout).toBe([0, 1, 2, 3].map((task) => `${task} of ${id}\n`).join(''));
    expect(stderr).toBe('no newline\n'.repeat(4));
    expect((await up.goshawk(['logs', `${id}/1`])).stdout).toBe(`1 of ${id}\n`);
    const failed = await up.goshawk(['logs', id, '--failed', '-f', '-n', '1', '--prefix', 'always']);
    expect(failed).toMatchObject({ stdout: '', stderr: 'task 2 | no newline\n', exitCode: 0 });
  });
});

describe('a command that fails', () => {
  it('is retried, and the user sees what happened and what to do', async () => {
    const script =
      'echo try $GOSHAWK_ATTEMPT >&2; [ $GOSHAWK_TASK = 0 ] || [ $GOSHAWK_ATTEMPT -gt 3 ] || exit 7';
    const run = ['submit', '--tasks', '2', '--retries', '2', '--wait', '--', 'sh', '-c', script];
    const { exitCode, stdout, stderr } = await up.goshawk(run);
    const id = stdout.trim();
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^\S+ failed: 1 of 2 tasks failed, 1 completed, after /m);
    expect(stderr).toMatch(
      /^ {2}task 1 on w\d+, the last of 3 attempts: the command ended with exit code 7$/m,
    );
    expect(stderr).toMatch(/^ {2}lost +[\d.]+ m?s to 3 failed attempts$/m);
    expect(stderr).toContain(`goshawk logs ${id} --failed`);

    const job = await jsonOf('job', id);
    expect(job.attemptCounts).toEqual({ total: 4, failed: 3, lost: 0 });
    const ended = { task: 1, state: 'failed', code: 'exit-code', exitCode: 7, signal: null };
    expect(job.attempts.slice(0, 3)).toMatchObject([1, 2, 3].map((attempt) => ({ ...ended, attempt })));

    const { exitCode: outcome, stdout: page } = await up.goshawk(['retry', id, '--failed', '--wait']);
    expect(outcome).toBe(0);
    expect(page.startsWith(`${id}\n`)).toBe(true);
    expect(page).toMatch(/completed: 2 tasks,/);
    expect((await jsonOf('job', id)).tasks).toMatchObject({ total: 2, completed: 2, failed: 0 });
    const refused = await up.goshawk(['retry', id, '--failed']);
    expect(refused).toMatchObject({
      exitCode: 2,
      stderr: `goshawk: no task of ${id} failed; only failed and cancelled tasks run again\n`,
    });
  });

  it('is addressed by its stage or index in every command about tasks', async () => {
    const exec = ['sh', '-c', 'echo $GOSHAWK_TASK; [ $GOSHAWK_ATTEMPT = 2 ]'];
    const tasks = { count: 2, run: { exec } };
    const stages = ['left', 'right'].map((name) => ({ name, tasks }));
    const id = await submit({ stages, retries: 0 });
    expect((await up.goshawk(['wait', id])).exitCode).toBe(1);
    expect(await stdoutOf(['logs', `${id}/right`])).toBe('2\n3\n');
    expect(await stdoutOf(['logs', `${id}/0,2-3`])).toBe('0\n2\n3\n');
    expect(await stdoutOf(['logs', `${id}/right/3`])).toBe('3\n');
    const listed = async (...args: string[]) =>
      (await jsonOf('tasks', ...args)).tasks.map(({ index }: { index: number }) => index);
    expect(await listed(`${id}/right`)).toEqual([2, 3]);
    expect(await listed(`${id}/0,2-3`, '--state', 'failed')).toEqual([0, 2, 3]);
    const page = ['tasks', `${id}/0,2-3`, '--limit', '1', '--from', '1'];
    expect(await jsonOf(...page)).toMatchObject({
      tasks: [{ index: 2 }],
      total: 3,
      truncated: true,
      next: 3,
    });
    expect((await jsonOf('why', `${id}/right/3`)).task.task).toBe(3);
    for (const args of [['logs'], ['why'], ['tasks'], ['retry'], ['cancel']]) {
      const { exitCode, stderr } = await up.goshawk([...args, `${id}/right/1`]);
      expect(stderr, args[0]).toContain('has no task 1; its');
      expect(exitCode).toBe(2);
    }
    const both = await up.goshawk(['retry', `${id}/right`, '--failed']);
    expect(both.stderr).toMatch(/^goshawk: retry: selected tasks cannot be combined with --failed/);
    expect((await up.goshawk(['retry', `${id}/right`, '--wait'])).exitCode).toBe(1);
    expect((await jsonOf('job', id)).tasks).toMatchObject({ completed: 2, failed: 2 });
    expect(await stdoutOf(['retry', `${id}/left`, '--wait'])).toMatch(/completed: 4 tasks/);
  });

  it('is distinguished from a missing command, and from one that a signal ended', async () => {
    const missing = await up.goshawk(['submit', '--wait', '--', 'no-such-command']);
    expect(missing.stderr).toMatch(/task 0 on w\d+(, the last of \d attempts)?: .*no-such-command/);
    expect(missing.exitCode).toBe(1);
    const shot = await up.goshawk(['submit', '--wait', '--', 'sh', '-c', 'kill -SEGV $$']);
    expect(shot.stderr).toMatch(/task 0 on w\d+: .*SIGSEGV/);
    const slow = await up.goshawk(['submit', '--wait', '--task-timeout', '200ms', '--', 'sleep', '1000']);
    expect(slow.stderr).toMatch(/task 0 on w\d+: ran longer than its timeout/);
    expect(slow.exitCode).toBe(1);
  });
});

describe('waiting', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('ends after %s with exit code %d; the job continues', async (signal, exitCode) => {
    const waiting = up.run(['submit', '--wait', '--', 'sh', '-c', 'echo started; exec sleep 1000']);
    const id = await waiting.firstLine;
    const following = up.run(['logs', id, '--follow']);
    expect(await following.firstLine).toBe('started');
    for (const command of [following, waiting]) {
      command.kill(signal);
      expect((await command.finished).exitCode).toBe(exitCode);
    }
    expect((await cluster.job(id).cancel()).state).toBe('running');
  });

  it('ends with Ctrl-C; the job continues, and another command can wait for it', async () => {
    const go = join(up.folder, 'go');
    const script = `while [ ! -e ${go} ]; do sleep 0.05; done`;
    const first = up.run(['submit', '--wait', '--', 'sh', '-c', script]);
    const id = await first.firstLine;
    const second = up.run(['wait', id]);
    const started = up.run(['logs', id, '--follow']);
    first.kill('SIGINT');
    const left = await first.finished;
    expect(left.exitCode).toBe(130);
    expect(left.stderr).toMatch(new RegExp(`^ {2}goshawk wait ${id} .*\\n {2}goshawk cancel ${id} `, 'm'));
    expect((await cluster.job(id).describe()).state).toMatch(/waiting|running/);
    await writeFile(go, '');
    const { exitCode, stdout } = await second.finished;
    expect(stdout).toMatch(new RegExp(`^${id} completed: 1 task,`));
    expect(exitCode).toBe(0);
    expect((await started.finished).exitCode).toBe(0);
    // The command returns immediately for an ended job.
    expect((await up.goshawk(['wait', id])).exitCode).toBe(0);
  });

  it('has a timeout; the job continues, or is cancelled on request', async () => {
    const { exitCode, stdout, stderr } = await up.goshawk([
      'submit',
      '--sleep',
      '1h',
      '--wait-timeout',
      '100ms',
    ]);
    const id = stdout.trim();
    expect(exitCode).toBe(124);
    expect(stderr).toMatch(
      `goshawk: ${id} has not ended within 100 ms; the job continues; \`goshawk wait ${id}\``,
    );
    const quick = await submit({ tasks: [{ sleep: 1 }] });
    const any = await up.goshawk(['wait', id, quick, '--any']);
    expect(any).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(`^${quick} completed`) });
    await cluster.job(id).cancel();
    const other = await up.goshawk([
      'submit',
      '--sleep',
      '1h',
      '--wait-timeout',
      '100ms',
      '--cancel-on-exit',
    ]);
    expect(other.exitCode).toBe(124);
    expect((await cluster.job(other.stdout.trim()).wait()).state).toBe('cancelled');
  });

  it('cancels the job if the terminal is closed and --cancel-on-exit was given', async () => {
    const waiting = up.run(['submit', '--sleep', '1h', '--wait', '--cancel-on-exit']);
    const id = await waiting.firstLine;
    waiting.kill('SIGHUP');
    expect((await waiting.finished).exitCode).toBe(129);
    expect((await cluster.job(id).wait()).state).toBe('cancelled');
  });

  it('prints the id on stdout, also with --quiet', async () => {
    const { exitCode, stdout, stderr } = await up.goshawk(['submit', '-q', '--', 'true']);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(await stdoutOf(['wait', stdout.trim()])).toContain('completed');
  });

  it('fails for an unknown job', async () => {
    const { exitCode, stderr } = await up.goshawk(['wait', 'nobody-7']);
    expect(stderr).toMatch(/^goshawk: no scheduler of this cluster knows "nobody-7"; .*\n$/);
    expect(exitCode).toBe(2);
  });
});

describe('cancel', () => {
  it('kills running commands and their children', async () => {
    const running = up.run(['submit', '--wait', '--', 'sh', '-c', 'sleep 1000 & echo $!; wait']);
    const id = await running.firstLine;
    const logs = up.run(['logs', id, '--follow']);
    const pid = Number(await logs.firstLine);
    expect(isRunning(pid)).toBe(true);
    expect(await stdoutOf(['cancel', id])).toMatch(/cancel/);
    const { exitCode, stderr } = await running.finished;
    expect(stderr).toMatch(/cancelled: 0 of 1 task had completed/);
    expect(exitCode).toBe(1);
    await expect.poll(() => isRunning(pid)).toBe(false);
    await logs.finished;
    expect(await jsonOf('cancel', id)).toEqual({ schema: 'goshawk.cancel/1', job: id, state: 'cancelled' });
    const wrong = await up.goshawk(['cancel', 'none-x', id, 'none-y']);
    expect(wrong).toMatchObject({ exitCode: 2, stdout: `${id} cancelled\n` });
    expect(wrong.stderr).toMatch(/"none-y".*\n.*"none-x"/);
  });
});

/** Distinguishes retries of the test, which must not find jobs of earlier tries. */
let listTries = 0;

describe('cancel of tasks, and of jobs by properties', () => {
  it('ends the given tasks, prints their number, and keeps the others', async () => {
    const tasks = { count: 4, run: { sleep: 60_000 } };
    const id = await submit({
      stages: [
        { name: 'extract', tasks },
        { name: 'train', after: ['extract'], tasks },
      ],
    });
    expect(await stdoutOf(['cancel', `${id}/train/5-6`])).toBe(`${id}/train/5-6: 2 tasks cancelled\n`);
    await expect.poll(async () => (await cluster.job(id).describe()).tasks.running).toBe(4);
    expect(await jsonOf('cancel', `${id}/1,3`)).toMatchObject({
      schema: 'goshawk.cancel/1',
      job: id,
      tasks: { cancelled: 0, killing: 2, ended: 0 },
    });
    await expect.poll(async () => (await cluster.job(id).describe()).tasks.cancelled).toBe(4);
    const wrong = await up.goshawk(['cancel', `${id}/train/3-5`]);
    expect(wrong).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('has no task 3; its 4 tasks are 4 to 7'),
    });
    await stdoutOf(['cancel', `${id}/extract`]);
    expect((await cluster.job(id).wait()).tasks).toMatchObject({ cancelled: 8 });
  });

  it('ends only jobs that match a name and a user', async () => {
    const sleeper = { tasks: { count: 2, run: { sleep: 60_000 } } };
    const [one, two] = [
      await submit({ ...sleeper, name: 'bulk-1' }),
      await submit({ ...sleeper, name: 'bulk-2' }),
    ];
    const other = await submit({ ...sleeper, name: 'other' });
    expect(await jsonOf('cancel', '--name', 'bulk-*', '--user', 'nobody-here', '--yes')).toMatchObject({
      jobs: 0,
    });
    for (const filter of [['--name', 'bulk-*'], ['--all'], ['--all', '--json'], ['--state', 'running']])
      expect(await up.goshawk(['cancel', ...filter])).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('--yes'),
      });
    expect(await jsonOf('cancel', '--name', 'bulk-*', '--yes')).toMatchObject({
      schema: 'goshawk.cancelled/1',
      jobs: 2,
      silent: [],
    });
    for (const id of [one, two]) expect((await cluster.job(id).wait()).state).toBe('cancelled');
    expect((await cluster.job(other).describe()).state).toMatch(/waiting|running/);
    expect(await stdoutOf(['cancel', '--all', '--yes'])).toMatch(/^1 job cancelled: /);
    expect(await up.goshawk(['cancel'])).toMatchObject({ exitCode: 2 });
    expect(await up.goshawk(['cancel', other, '--all'])).toMatchObject({ exitCode: 2 });
    const ended = await up.goshawk(['cancel', '--state', 'failed', '--yes']);
    expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('cannot be cancelled') });
  });
});

describe('jobs', () => {
  it('are filtered before limits apply, and show how to continue', async () => {
    const user = `list-tester-${++listTries}`;
    const jobs = [0, 1].map(() => cluster.submit({ user, tasks: [{ sleep: 1 }] }));
    const ids = (await Promise.all(jobs)).map(({ id }) => id);
    await Promise.all(ids.map((id) => cluster.job(id).wait()));
    const page = await jsonOf('jobs', '--user', user, '--limit', '1');
    expect(page).toMatchObject({ schema: 'goshawk.jobs/1', total: 2, truncated: true, next: 1 });
    const rest = await jsonOf('jobs', '--user', user, '--from', '1');
    expect(rest).toMatchObject({ total: 2, truncated: false, next: null });
    expect([...page.jobs, ...rest.jobs].map((job: { id: string }) => job.id).toSorted()).toEqual(
      ids.toSorted(),
    );
    expect(await jsonOf('jobs', '--user', user, '--state', 'failed')).toMatchObject({ jobs: [], total: 0 });
    const table = await stdoutOf(['jobs', '--all']);
    expect(table).toMatch(/^id +name +user +class +state +done +tasks/);
    expect(table).toMatch(new RegExp(`^${ids[0]} +job +${user} +short +completed +1 +1 `, 'm'));
  });

  it('can be watched one by one', async () => {
    const id = await submit({ tasks: { count: 60, run: { sleep: 50 } } });
    const lines = (await stdoutOf(['job', id, '--watch', '--json'])).trim().split('\n');
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ id, state: 'completed' });
    expect(await stdoutOf(['job', id])).toMatch(/^ {2}tasks +60: 60 completed$/m);
    expect(await jsonOf('job', id, '--spec')).toMatchObject({
      spec: { stages: [{ tasks: { count: 60, run: { sleep: 50 } } }] },
    });
  });
});

describe('tasks', () => {
  it('lists each task as text, JSON and CSV, by state and stage', async () => {
    const shell = (script: string) => ({ exec: ['sh', '-c', script] });
    const id = await submit({
      stages: [
        { name: 'extract', tasks: { count: 3, run: shell('[ $GOSHAWK_TASK != 1 ] || exit 7') } },
        { name: 'train', after: ['extract'], tasks: { count: 2, run: shell('true') } },
      ],
    });
    await cluster.job(id).wait();
    const listed = await jsonOf('tasks', id);
    expect(listed).toMatchObject({ schema: 'goshawk.tasks/1', job: id, total: 5, truncated: false });
    const rows = listed.tasks as { index: number; stage: string; state: string; exitCode: number | null }[];
    expect(rows.map(({ index, stage, state, exitCode }) => [index, stage, state, exitCode])).toEqual([
      [0, 'extract', 'completed', 0],
      [1, 'extract', 'failed', 7],
      [2, 'extract', 'completed', 0],
      [3, 'train', 'cancelled', null],
      [4, 'train', 'cancelled', null],
    ]);
    expect(await jsonOf('tasks', id, '--state', 'failed', '--stage', 'extract')).toMatchObject({
      total: 1,
      tasks: [
        {
          index: 1,
          attempt: 1,
          worker: expect.stringMatching(/^w/),
          error: 'the command ended with exit code 7',
        },
      ],
    });
    expect(await stdoutOf(['tasks', id, '--state', 'failed'])).toMatch(/^task .*\n +1 +extract +failed +1 /);
    expect((await stdoutOf(['tasks', id, '--csv'])).split('\n')[2]).toMatch(/^1,extract,failed,1,w\d+,7,/);
    const wrong = await up.goshawk(['tasks', id, '--stage', 'trian']);
    expect(wrong).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('its stages are extract, train'),
    });
    expect(await jsonOf('job', id)).toMatchObject({
      attemptsTruncated: false,
      stages: [
        { name: 'extract', state: 'failed', counts: { completed: 2, failed: 1 } },
        { name: 'train', state: 'cancelled', counts: { cancelled: 2 } },
      ],
    });
  });
});

describe('hold, release and update', () => {
  it('keep a job from starting, let it start, and show it everywhere', async () => {
    const id = (await stdoutOf(['submit', '--hold', '--tasks', '3', '--sleep', '1ms'])).trim();
    expect(await stdoutOf(['jobs'])).toMatch(new RegExp(`^${id} .* waiting, held `, 'm'));
    expect(await stdoutOf(['job', id])).toContain(`until \`goshawk release ${id}\``);
    expect(await stdoutOf(['why', id])).toContain('their job is on hold');
    const { waiting } = (await jsonOf('why', id)) as { waiting: { reason: string; tasks: number }[] };
    expect(new Set(waiting.map(({ reason }) => reason))).toEqual(new Set(['held']));
    expect(waiting.reduce((sum, { tasks }) => sum + tasks, 0)).toBe(3);
    expect(await jsonOf('update', id, '--priority', 'high')).toMatchObject({
      schema: 'goshawk.update/1',
      job: id,
      priority: 'high',
      held: true,
    });
    expect(await jsonOf('job', id)).toMatchObject({ state: 'waiting', held: true, priority: 'high' });
    expect(await stdoutOf(['release', id])).toBe(`${id} is released\n`);
    expect(await stdoutOf(['wait', id])).toContain('completed');
    const late = await up.goshawk(['hold', id]);
    expect(late).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('has ended (completed)') });
    expect(await up.goshawk(['update', id])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('nothing to change'),
    });
  });

  it('do not affect running tasks, and let a job that begins later start now', async () => {
    const id = (await stdoutOf(['submit', '--begin', '+2h', '--sleep', '1ms'])).trim();
    expect(await jsonOf('job', id)).toMatchObject({ state: 'waiting', held: false });
    expect(await stdoutOf(['jobs'])).toMatch(new RegExp(`^${id} .* waiting, begins later `, 'm'));
    expect(await jsonOf('why', id)).toMatchObject({ waiting: [{ reason: 'begin', tasks: 1 }] });
    await stdoutOf(['release', id]);
    await cluster.job(id).wait();
    const running = await submit({ tasks: { count: 25, run: { sleep: 4_000 } }, maxRunning: 5 });
    await expect.poll(async () => (await cluster.job(running).describe()).tasks.running).toBe(5);
    expect(await stdoutOf(['hold', running])).toMatch(/is on hold: [1-5] tasks? runs? to the end/);
    await expect.poll(async () => (await cluster.job(running).describe()).tasks.running).toBe(0);
    expect((await cluster.job(running).describe()).tasks.waiting).toBeGreaterThan(0);
    await stdoutOf(['release', running]);
    await expect.poll(async () => (await cluster.job(running).describe()).tasks.running).toBeGreaterThan(0);
    await cluster.job(running).cancel();
  });
});

describe('drain', () => {
  it('of a busy worker loses no task, and runs none twice', async () => {
    const short = await cluster.submit({ tasks: { count: 600, run: { sleep: 50 } } });
    const long = await cluster.submit({ tasks: { count: 60, run: { sleep: 200 } }, estimate: '1h' });
    const drained = await jsonOf('drain', 'w3', '--wait');
    expect(drained).toEqual({
      ...{ schema: 'goshawk.drain/1', worker: 'w3', state: 'drained', running: 0 },
      deadlineSeconds: null,
    });
    expect(await jsonOf('workers', '--state', 'drained')).toMatchObject({
      schema: 'goshawk.workers/1',
      workers: [{ name: 'w3', slots: 1, busy: 0, resources: { cpu: 1 } }],
      total: 1,
    });
    for (const job of [await short.wait(), await long.wait()]) {
      const { total } = job.tasks;
      expect(job).toMatchObject({ tasks: { completed: total }, attempts: { total, failed: 0, lost: 0 } });
    }
    expect(await stdoutOf(['drain', 'w3', '--undo'])).toBe('w3 accepts tasks\n');
    expect(await stdoutOf(['workers'])).toMatch(/^w3 +active /m);
    expect(await up.goshawk(['drain', 'nobody'])).toMatchObject({
      exitCode: 2,
      stderr: 'goshawk: there is no worker nobody; `goshawk workers` lists all workers\n',
    });
    // Existing workers are drained even if another name is unknown.
    expect(await up.goshawk(['drain', 'w1', 'nobody', 'w2', '--wait'])).toMatchObject({
      exitCode: 2,
      stdout: 'w1 is drained: no tasks are running\nw2 is drained: no tasks are running\n',
      stderr: expect.stringMatching(/there is no worker nobody/),
    });
    expect(await stdoutOf(['drain', 'w1', 'w2', '--undo'])).toBe('w1 accepts tasks\nw2 accepts tasks\n');
  });
});

describe('--each-line', () => {
  it('passes lines in arguments and in a variable', async () => {
    const input = `a "b" 'c'\n$HOME \\ *\n\nü`;
    const args = ['submit', '--each-line', '-', '--', 'printf', '<%s>', '{}'];
    const id = (await stdoutOf(args, { input })).trim();
    await cluster.job(id).wait();
    expect(await stdoutOf(['logs', id])).toBe(`<a "b" 'c'><$HOME \\ *><><ü>`);
  });
});

describe('goshawk why', () => {
  it('explains why tasks of a job, a single task, and tasks of the cluster wait', async () => {
    const id = await submit({ name: 'limited', tasks: { count: 3, run: { sleep: 600_000 } }, maxRunning: 1 });
    onTestFinished(async () => void (await cluster.job(id).cancel()));
    await expect.poll(async () => (await cluster.job(id).describe()).tasks.running).toBe(1);
    const why = JSON.parse(await stdoutOf(['why', id, '--json']));
    expect(why).toMatchObject({ schema: 'goshawk.why/1', id, waiting: [{ reason: 'job-limit', tasks: 2 }] });
    expect(why.line).toMatchObject({ slots: 20, needs: [] });
    expect(await stdoutOf(['why', id])).toMatch(
      /2 tasks, waiting for .*; now: their job is running its maximum number of tasks/,
    );
    // The pilot, which runs first, is chosen at random.
    const pages = [
      await stdoutOf(['why', `${id}/0`]),
      await stdoutOf(['why', `${id}/1`]),
      await stdoutOf(['why', `${id}/2`]),
    ];
    expect(
      pages.filter((page) => /task +\d: waiting\n.*\(job-limit\)/.test(page)),
      pages.join('\n'),
    ).toHaveLength(2);
    const all = JSON.parse(await stdoutOf(['why', '--json']));
    expect(all).toMatchObject({ schema: 'goshawk.waiting/1', silent: [] });
    expect(all.waiting).toContainEqual(
      expect.objectContaining({ reason: 'job-limit', tasks: 2, example: id }),
    );
    expect(await stdoutOf(['why'])).toMatch(/helps: a higher --max-running/);
    expect((await up.goshawk(['why', `${id}/3`])).stderr).toMatch(/has no task 3; its tasks are 0 to 2/);
  });

  it('shows the time breakdown of an ended job', async () => {
    const id = await submit({ name: 'quick', tasks: { count: 2, run: { sleep: 20 } } });
    await cluster.job(id).wait();
    const why = JSON.parse(await stdoutOf(['why', id, '--json']));
    expect(why).toMatchObject({ state: 'completed', waiting: [], line: null, waitSeconds: { tasks: 2 } });
    expect(why.last.ranSeconds).toBeGreaterThanOrEqual(0.02);
    expect(why.last.endedSeconds).toBeCloseTo(why.last.waitedSeconds + why.last.ranSeconds, 5);
  });
});
