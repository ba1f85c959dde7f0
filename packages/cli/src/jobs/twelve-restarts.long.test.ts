import { join } from 'node:path';
import { type Cluster, connect } from '@goshawk/client';
import type { HappenedEvent, HistoryPoint } from '@goshawk/core';
import { databases } from '@goshawk/journal/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Daemon } from '../daemons.fixture.js';
import { childrenOf, type RunningGoshawk, runGoshawk, startGoshawk } from '../goshawk-process.fixture.js';
import { TestDaemons } from '../test-daemons.fixture.js';

const daemons = new TestDaemons('restarts', { beforeEach, afterEach });
const database = databases();

/** Records what a user has seen of a cluster, and compares it after each restart. */
class Observer {
  readonly #printed = new Map<string, string>();
  readonly #events = new Map<number, HappenedEvent>();
  readonly #points = new Map<number, HistoryPoint>();

  /** Runs a job, and remembers what it printed. */
  async run(cluster: Cluster, text: string): Promise<void> {
    const job = await cluster.submit({
      tasks: [{ exec: ['sh', '-c', `echo ${text}; echo why >&2; exit 3`] }],
    });
    expect((await job.wait()).state).toBe('failed');
    this.#printed.set(job.id, `${text}\n`);
  }

  /** Compares output, events and the points of the charts with what was there before, over all ways to read them. */
  async look(cluster: Cluster, url: string, gateway: string): Promise<void> {
    for (const [id, text] of this.#printed) {
      expect(await runGoshawk(['logs', id, '--cluster', url])).toMatchObject({
        stdout: text,
        stderr: 'why\n',
      });
      expect(await textOverHttp(gateway, id)).toBe(`${text}why\n`);
    }
    const { events } = await cluster.events();
    const numbers = events.map(({ number }) => number);
    expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other));
    const byNumber = new Map(events.map((event) => [event.number, event]));
    for (const [number, event] of this.#events) expect(byNumber.get(number)).toEqual(event);
    for (const event of events) this.#events.set(event.number, event);
    const { points } = await cluster.history();
    const byTime = new Map(points.map((point) => [point.at, point]));
    for (const [at, point] of this.#points) expect(byTime.get(at)).toEqual(point);
    for (const point of points) this.#points.set(point.at, point);
    // A dashboard reads new points every minute.
    const known = points.map(({ at }) => at).filter((at) => Date.now() / 1_000 - at > 70);
    const shown = await pointsOverHttp(gateway, 86_400);
    expect(shown).toEqual(expect.arrayContaining(known));
    // The dashboard has just started, and its chart of the last hour begins before.
    expect(await pointsOverHttp(gateway, 3_600)).toEqual(expect.arrayContaining([points[0]!.at]));
  }

  get points(): number {
    return this.#points.size;
  }

  count(kind: string): number {
    return [...this.#events.values()].filter((event) => event.kind === kind).length;
  }
}

async function textOverHttp(gateway: string, id: string): Promise<string> {
  const response = await fetch(new URL(`/v1/jobs/${id}/logs`, gateway));
  const { chunks } = (await response.json()) as { chunks: { text: string }[] };
  return chunks.map(({ text }) => text).join('');
}

/** Times of the points that the dashboard has, once it has polled the cluster. */
async function pointsOverHttp(gateway: string, seconds: number): Promise<number[]> {
  for (;;) {
    const response = await fetch(new URL(`/v1/history?seconds=${seconds}`, gateway));
    const { points } = (await response.json()) as { points: { at: number }[] };
    if (points.length > 0) return points.map(({ at }) => at);
  }
}

/** Resolves when central has recorded a point after this one. */
async function pointAfter(cluster: Cluster, after: number): Promise<void> {
  while ((await cluster.history({ after })).points.length === 0);
}

test.runIf(database.isThere)(
  'events, output and charts are complete after restarts of each role, the dashboard, a takeover, and kills of everything',
  async () => {
    const journal = await database();
    expect((await runGoshawk(['journal', 'init', journal])).exitCode).toBe(0);
    const start = {
      central: () => daemons.startCentral(['--data-folder', join(daemons.folder, 'central')]),
      s0: () => daemons.startScheduler('s0', ['--journal', journal]),
      s1: () => daemons.startScheduler('s1', ['--journal', journal]),
      w0: () => daemons.startWorker('w0', ['--cpus', '4']),
      gateway: () =>
        daemons.start('gateway', ['dashboard', '--listen', '127.0.0.1:0', '--cluster', daemons.url]),
    };
    type Role = keyof typeof start;
    const roles = Object.keys(start) as Role[];
    const running = new Map<Role, Daemon>();
    for (const role of roles) running.set(role, await start[role]());
    const observer = new Observer();
    let cluster = await daemons.connect();
    await pointAfter(cluster, 0);
    const rounds: (readonly [how: 'kill' | 'stop', ...Role[]])[] = [
      ['kill', 'w0'],
      ['stop', 'w0'],
      // The other scheduler takes over its jobs, also those that have ended.
      ['kill', 's0'],
      ['kill', 's1'],
      ['kill', 'central'],
      ['stop', 'central'],
      ['kill', 'gateway'],
      ['stop', 'gateway'],
      ['kill', ...roles],
      ['stop', ...roles],
    ];
    for (const [round, [how, ...which]] of rounds.entries()) {
      await observer.run(cluster, `round ${round}`);
      await observer.look(cluster, daemons.url, running.get('gateway')!.endpoint);
      if (which.length > 1) await cluster.close();
      for (const role of which) {
        const daemon = running.get(role)!;
        if (how === 'kill') await daemon.kill();
        else {
          daemon.signal('SIGTERM');
          await daemon.ended;
        }
      }
      for (const role of which) running.set(role, await start[role]());
      if (which.length > 1) cluster = await daemons.connect();
      await observer.look(cluster, daemons.url, running.get('gateway')!.endpoint);
    }
    expect(observer.count('central-started')).toBe(5);
    expect(observer.count('worker-lost')).toBeGreaterThanOrEqual(1);
    await cluster.close();
  },
);

test('events, output and charts are complete after `up` was stopped, and after all of its processes were killed', async () => {
  const up = async () => {
    const args = ['up', '--json', '--workers', '2', '--schedulers', '2', '--dashboard'];
    const process = startGoshawk([...args, '--data-folder', join(daemons.folder, 'data')], {
      XDG_STATE_HOME: daemons.folder,
    });
    const { cluster: url, dashboard } = JSON.parse(await process.firstLine) as Record<string, string>;
    return { process, url: url!, dashboard: dashboard!, cluster: await connect(url!) };
  };
  const observer = new Observer();
  let now = await up();
  try {
    await pointAfter(now.cluster, 0);
    for (const how of ['SIGTERM', 'SIGKILL'] as const) {
      await observer.run(now.cluster, `before ${how}`);
      await observer.look(now.cluster, now.url, now.dashboard);
      await now.cluster.close();
      await endAll(now.process, how);
      now = await up();
      await observer.look(now.cluster, now.url, now.dashboard);
    }
    expect(observer.count('central-started')).toBe(3);
    // Charts continue: the restarted central adds points to the earlier ones.
    const before = observer.points;
    const { points } = await now.cluster.history();
    await pointAfter(now.cluster, points.at(-1)!.at);
    await observer.look(now.cluster, now.url, now.dashboard);
    expect(observer.points).toBeGreaterThan(before);
  } finally {
    await now.cluster.close();
    await endAll(now.process, 'SIGTERM');
  }
});

async function endAll(up: RunningGoshawk, how: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const children = how === 'SIGKILL' ? childrenOf(up.pid) : [];
  up.kill(how);
  for (const { pid } of children) process.kill(pid, how);
  await up.finished;
}
