import { mkdir, mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type Cluster, connect, type JobHandle } from '@goshawk/client';
import { databases } from '@goshawk/journal/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Daemons } from './daemons.fixture.js';
import { runGoshawk } from './goshawk-process.fixture.js';
import { removeFolder } from './test-cluster.fixture.js';

const database = databases();
let folder = '';
let daemons: Daemons;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-usage-'));
  await mkdir(join(folder, 'clocks'));
  daemons = new Daemons(folder);
});
afterAll(async () => {
  await daemons.stop();
  await removeFolder(folder);
});

function startScheduler(name: string, journal: string) {
  return daemons.start(name, [
    ...['scheduler', '--name', name, '--central-url', daemons.url, '--journal', journal],
  ]);
}

/**
 * A command that writes the time at which it was forked, and ten times per second the current time without the pauses of
 * more than a second. In hundredths of a second since boot.
 */
function clock(seconds: number, test = 'true') {
  const file = join(folder, 'clocks', '$GOSHAWK_JOB-$GOSHAWK_TASK-$GOSHAWK_ATTEMPT');
  const script = `f=${file}; read -r stat </proc/$$/stat; set -- $stat; echo \${22} >$f.start; i=0; paused=0; last=\${22}
while [ $i -lt ${10 * seconds} ]; do sleep 0.1; read -r now _ </proc/uptime; now=\${now%.*}\${now#*.}
[ $((now-last)) -le 100 ] || paused=$((paused+now-last-10)); last=$now; echo $((now-paused)) >$f.part
mv $f.part $f.end; i=$((i+1)); done; ${test}`;
  return { exec: ['sh', '-c', script] as [string, ...string[]] };
}

/** Seconds by the commands' own clocks, and the number of attempts. */
async function clocks(): Promise<{ seconds: number; attempts: number }> {
  const names = await readdir(join(folder, 'clocks'));
  const started = names.filter((name) => name.endsWith('.start'));
  let seconds = 0;
  for (const start of started) {
    const [from, to] = await Promise.all(
      [start, start.replace('.start', '.end')].map((name) => readFile(join(folder, 'clocks', name), 'utf8')),
    );
    seconds += (Number(to) - Number(from)) / 100;
  }
  return { seconds, attempts: started.length };
}

async function runningAt(job: JobHandle): Promise<string> {
  for (;;) {
    for await (const { state, worker } of job.tasks())
      if (state === 'running' && worker !== undefined) return worker;
    await setTimeout(50);
  }
}

/** Waits until some attempts' clocks run. */
async function hasStarted(job: JobHandle, attempts: number): Promise<void> {
  for (;;) {
    const names = await readdir(join(folder, 'clocks'));
    const ended = names.filter((name) => name.startsWith(`${job.id}-`) && name.endsWith('.end'));
    if (ended.length >= attempts) return;
    await setTimeout(50);
  }
}

async function totals(cluster: Cluster) {
  const { totals: sums, silent } = await cluster.usage({ by: ['user', 'day'] });
  return { sums, silent };
}

describe.runIf(database.isThere && process.platform === 'linux')('usage', () => {
  test('agrees with the clocks of the tasks across a retry, a loan, kills, and a takeover', async () => {
    const journal = await database();
    expect((await runGoshawk(['journal', 'init', journal])).exitCode).toBe(0);
    await daemons.startCentral();
    const schedulers = new Map([
      ['s0', await startScheduler('s0', journal)],
      ['s1', await startScheduler('s1', journal)],
    ]);
    const workers = new Map([
      ['w0', await daemons.startWorker('w0', ['--cpus', '1'])],
      ['w1', await daemons.startWorker('w1', ['--cpus', '1'])],
    ]);
    await using cluster = await connect(daemons.url);
    const submit = (name: string, task: ReturnType<typeof clock>, fields: object = {}) =>
      cluster.submit({ name, user: 'ann', tasks: [task], ...fields });

    const retried = await submit('retried', clock(3, '[ $GOSHAWK_ATTEMPT -gt 1 ]'), { retries: 1 });
    await retried.wait();

    const victims = await cluster.submit({
      ...{ name: 'victims', user: 'ann', preemptible: true, estimate: '60s' },
      tasks: [clock(20), clock(20)],
    });
    await hasStarted(victims, 2);
    const urgent = await submit('urgent', clock(3), { deadline: '20s', estimate: '15s' });
    await urgent.wait();
    await victims.wait();

    const cancelled = await submit('cancelled', clock(60));
    await hasStarted(cancelled, 1);
    await setTimeout(2_000);
    await cancelled.cancel();
    await cancelled.wait();

    const lost = await submit('lost', clock(6));
    await hasStarted(lost, 1);
    const name = await runningAt(lost);
    await setTimeout(2_000);
    await workers.get(name)!.kill();
    await lost.wait();

    const moved = await submit('moved', clock(12));
    await hasStarted(moved, 1);
    const { schedulers: known } = await cluster.describe();
    const owner = known.find(({ tag }) => moved.id.startsWith(`${tag}-`))!;
    await schedulers.get(owner.name)!.kill();
    schedulers.delete(owner.name);
    await expect(moved.wait()).resolves.toMatchObject({ state: 'completed' });

    const own = await clocks();
    const expectToAgree = async () => {
      await expect
        .poll(async () => (await totals(cluster)).sums.attempts, { timeout: 60_000 })
        .toBe(own.attempts);
      const { sums } = await totals(cluster);
      expect(sums).toMatchObject({ failed: 1, cancelled: 1, lost: 1, waits: 7 });
      // The kernel measured all attempts but the lost one, whose worker was killed.
      expect(sums.cpuUsedMs).toBeGreaterThan(0);
      expect(sums.cpuUsedMs).toBeLessThan(sums.runMs);
      expect(sums.cpuUnknownMs).toBeGreaterThan(0);
      expect(sums.cpuUnknownMs).toBeLessThan(10_000);
      const share = sums.runMs / 1_000 / own.seconds;
      expect(share).toBeGreaterThan(0.99);
      // On a busy machine, a program starts and ends its clock late.
      expect(share).toBeLessThan(1.1);
      return sums.runMs;
    };
    const before = await expectToAgree();

    const [[other, scheduler]] = [...schedulers] as [[string, (typeof daemons.all)[number]]];
    await scheduler.kill();
    await startScheduler(other, journal);
    expect(await expectToAgree()).toBeCloseTo(before, 0);

    const shown = await runGoshawk(['usage', '--cluster', daemons.url, '--by', 'user,name']);
    expect(shown.stdout).toMatch(/ann +retried +2 /);
    const csv = await runGoshawk(['usage', '--cluster', daemons.url, '--csv']);
    expect(csv.stdout).toMatch(/^user,attempts,completed,.*\nann,9,6,1,1,0,1,/);
  });
});
