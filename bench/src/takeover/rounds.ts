import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, connect, type JobHandle } from '@goshawk/client';
import { type Millis, sumOf } from '@goshawk/core';
import { GOSHAWK, until } from '../daemons.js';
import type { SharedCluster } from './cluster.js';

interface RoundsOptions {
  readonly cluster: SharedCluster;
  readonly rounds: number;
  readonly jobs: number;
  readonly tasksPerJob: number;
  /** Whether schedulers are killed, or stopped and continued once another scheduler has their jobs. */
  readonly how: 'killed' | 'stopped';
  readonly note: (line: string) => void;
}

interface RoundsReport {
  readonly jobs: number;
  readonly notCompleted: readonly string[];
  /** Runs beyond one per task. */
  readonly reruns: number;
  /** Time from the kill or stop until central reports the takeover, in ms. */
  readonly takeoverMs: readonly Millis[];
  /** Times from SIGCONT of a suspended scheduler to its exit, in ms. */
  readonly endedMs: readonly Millis[];
  /** Per `goshawk wait` command that started before the loss: its exit code and message if it failed, otherwise ''. */
  readonly waits: readonly string[];
}

/** Run times in ms: tasks that end before the takeover, so that their workers must keep results, and after it. */
const SLEEPS = [3_000, 10_000];
const WAITING_COMMANDS = 4;

/**
 * Repeatedly takes down a scheduler under full load, and checks that its successor continues all its jobs, and that it gets
 * them back when it returns.
 */
export async function rounds(options: RoundsOptions): Promise<RoundsReport> {
  const { cluster, note } = options;
  const report = {
    jobs: 0,
    notCompleted: [] as string[],
    reruns: 0,
    takeoverMs: [] as Millis[],
    endedMs: [] as Millis[],
    waits: [] as string[],
  };
  for (let round = 0; round < options.rounds; round++) {
    await using client = await connect(cluster.url);
    const jobs = await submitAll(client, options);
    await until(async () => (await waitingOf(client)) === 0);
    const name = `s${round % cluster.schedulers.size}`;
    const tag = await tagOf(client, name);
    const commands = await waitingCommands(cluster, jobs, tag);
    const daemon = cluster.expectEnd(name);
    const lostAt = performance.now();
    if (options.how === 'killed') await daemon.kill();
    else daemon.signal('SIGSTOP');
    await until(async () =>
      (await client.describe()).schedulers.some(
        (scheduler) => scheduler.tag === tag && scheduler.adopted === true,
      ),
    );
    report.takeoverMs.push(performance.now() - lostAt);
    if (options.how === 'stopped') {
      await pause(Math.random() * 1_000);
      const continuedAt = performance.now();
      daemon.signal('SIGCONT');
      await daemon.ended;
      report.endedMs.push(performance.now() - continuedAt);
    }
    // It takes its jobs back, those that still run, too.
    await cluster.startScheduler(name);
    await until(async () =>
      (await client.describe()).schedulers.some(
        (scheduler) => scheduler.name === name && scheduler.tag === tag,
      ),
    );
    for (const job of jobs) {
      const { state, attempts } = await job.wait();
      report.jobs++;
      if (state !== 'completed') report.notCompleted.push(job.id);
      report.reruns += attempts.total - options.tasksPerJob;
    }
    report.waits.push(...(await Promise.all(commands)));
    const again = report.endedMs.at(-1);
    note(
      `round ${round + 1}: ${name} ${options.how}, taken over after ${report.takeoverMs.at(-1)!.toFixed(0)} ms${again === undefined ? '' : `, ended ${again.toFixed(0)} ms after it went on`}; ${report.reruns} runs again, ${report.notCompleted.length} jobs not completed`,
    );
  }
  return report;
}

async function submitAll(client: Cluster, { jobs, tasksPerJob }: RoundsOptions): Promise<JobHandle[]> {
  return Promise.all(
    Array.from({ length: jobs }, () =>
      client.submit({
        name: 'round',
        tasks: Array.from({ length: tasksPerJob }, (_, i) => ({ sleep: SLEEPS[i % SLEEPS.length]! })),
      }),
    ),
  );
}

/** Counts waiting tasks. A task that waits when its scheduler is lost has no run to repeat. */
async function waitingOf(client: Cluster): Promise<number> {
  const { jobs } = await client.jobs({ states: ['running', 'waiting'], all: true });
  return sumOf(jobs, ({ tasks }) => tasks.waiting);
}

/**
 * Starts `goshawk wait` for jobs of the scheduler that will be lost. The promises resolve with the exit code and message of
 * a command that fails, otherwise with an empty text.
 */
async function waitingCommands(
  cluster: SharedCluster,
  jobs: readonly JobHandle[],
  tag: string,
): Promise<Promise<string>[]> {
  const waiting = jobs.filter(({ id }) => id.startsWith(`${tag}-`)).slice(0, WAITING_COMMANDS);
  return waiting.map(async ({ id }) => {
    const command = spawn(process.execPath, [GOSHAWK, 'wait', '--cluster', cluster.url, '--quiet', id], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const exit = once(command, 'exit') as Promise<[number | null]>;
    const message = await text(command.stderr);
    const [code] = await exit;
    return code === 0 ? '' : `${code ?? 1}: ${message.trim()}`;
  });
}

async function tagOf(client: Cluster, name: string): Promise<string> {
  let tag: string | undefined;
  await until(async () => {
    tag = (await client.describe()).schedulers.find((scheduler) => scheduler.name === name)?.tag;
    return tag !== undefined;
  });
  return tag!;
}
