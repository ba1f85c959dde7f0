import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Daemons, GOSHAWK, WITH_HTTP } from '@goshawk/cli/testing';
import { type Cluster, connect } from '@goshawk/client';
import { OWNER_REASONS } from '@goshawk/core';
import { METRICS, type MetricSpec } from '@goshawk/runtime';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Family, families, lint } from './lint.js';

/** Metrics are read from real processes that have done some work. */
const ROLES = ['central', 'scheduler', 'worker'] as const;
type Role = (typeof ROLES)[number];

const texts = new Map<Role, string>();
let daemons: Daemons;

beforeAll(async () => {
  daemons = new Daemons(await mkdtemp(join(tmpdir(), 'goshawk-metrics-test-')));
  await daemons.startCentral(['--policy', 'hawk', '--cutoff', '1', ...WITH_HTTP]);
  await daemons.startScheduler('scheduler', WITH_HTTP);
  await daemons.startWorker('worker', ['--workers', '3', ...WITH_HTTP]);
  await using cluster = await connect(daemons.url);
  await runSomething(cluster);
  execFileSync(process.execPath, [GOSHAWK, 'journal', 'backup', 'scheduler', 'backup'], {
    cwd: daemons.folder,
  });
  for (const role of ROLES) texts.set(role, await metricsOf(role));
});

afterAll(async () => {
  await daemons.stop();
  await rm(daemons.folder, { recursive: true, force: true });
});

async function metricsOf(name: string, token?: string): Promise<string> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return (await fetch(`${await daemons.httpAddressOf(name)}/metrics`, { headers })).text();
}

async function runSomething(cluster: Cluster): Promise<void> {
  await vi.waitFor(async () => expect((await cluster.describe()).workers).toHaveLength(3), 60_000);
  const jobs = [
    await cluster.submit({ tasks: { count: 20, run: { sleep: 1 } }, estimate: 1 }),
    await cluster.submit({ tasks: { count: 3, run: { sleep: 1 } }, estimate: 60_000 }),
    await cluster.submit({ tasks: { count: 1, run: { exec: ['false'] } }, estimate: 1, retries: 1 }),
  ];
  for (const job of jobs) await job.wait();
}

function familiesOf(role: Role): readonly Family[] {
  return families(texts.get(role)!);
}

function readingOf(
  role: Role,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const all = familiesOf(role).flatMap(({ series }) => series);
  return all.find((one) => one.name === name && Object.entries(labels).every(([l, v]) => one.labels[l] === v))
    ?.value;
}

describe.each(ROLES)('/metrics of a %s', (role) => {
  it('passes the lint', () => {
    expect(lint(familiesOf(role))).toEqual([]);
  });

  it('has all metrics of this role in the catalogue, and no others', () => {
    const expected = Object.entries<MetricSpec>(METRICS)
      .filter(([, { of }]) => (typeof of === 'string' ? role === 'scheduler' : of.includes(role)))
      .map(([name]) => name);
    expect(familiesOf(role).map(({ name }) => name)).toEqual(expected);
  });

  it('passes promtool, where that is installed', ({ skip }) => {
    const { error, status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: texts.get(role)!,
      encoding: 'utf8',
    });
    if (error !== undefined) return skip('promtool is not installed');
    expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: '' });
  });
});

describe('completed work', () => {
  it('is counted by class and outcome', () => {
    const ended = 'goshawk_scheduler_tasks_ended_total';
    expect(readingOf('scheduler', ended, { class: 'short', outcome: 'completed' })).toBe(20);
    expect(readingOf('scheduler', ended, { class: 'long', outcome: 'completed' })).toBe(3);
    expect(readingOf('scheduler', ended, { class: 'short', outcome: 'failed' })).toBe(1);
    expect(readingOf('scheduler', 'goshawk_scheduler_retries_total')).toBe(1);
    expect(
      readingOf('scheduler', 'goshawk_scheduler_jobs_ended_total', { class: 'short', outcome: 'failed' }),
    ).toBe(1);
    expect(
      readingOf('worker', 'goshawk_worker_tasks_ended_total', { class: 'short', outcome: 'failed' }),
    ).toBe(2);
    expect(readingOf('central', 'goshawk_central_tasks_placed_total')).toBe(3);
  });

  it('is measured: waiting, running, commits of the journal', () => {
    expect(readingOf('scheduler', 'goshawk_scheduler_queueing_seconds_count', { class: 'short' })).toBe(21);
    expect(readingOf('scheduler', 'goshawk_scheduler_queueing_seconds_count', { class: 'long' })).toBe(3);
    expect(readingOf('scheduler', 'goshawk_scheduler_job_duration_seconds_count', { class: 'short' })).toBe(
      2,
    );
    expect(readingOf('worker', 'goshawk_worker_task_run_seconds_count', { class: 'short' })).toBe(22);
    expect(readingOf('scheduler', 'goshawk_journal_commit_seconds_count')).toBeGreaterThan(0);
  });

  it('continues: timers report the event loop delay', async () => {
    for (const role of ROLES)
      await expect.poll(() => metricsOf(role)).toMatch(/^goshawk_event_loop_delay_seconds_count [1-9]/m);
  });

  it('is counted by user while it runs', async () => {
    await using cluster = await connect(daemons.url);
    const run = { sleep: 3_600_000 };
    const jobs = [
      await cluster.submit({ user: 'ann', tasks: { count: 2, run }, estimate: 3_600_000 }),
      // Only a short job may run on the third worker.
      await cluster.submit({ user: 'bob', tasks: { count: 1, run }, estimate: 1 }),
      await cluster.submit({ user: 'ann', tasks: { count: 4, run }, hold: true }),
    ];
    const byUser = async (name: string) => {
      const all = families(await metricsOf('scheduler'));
      const { series = [] } = all.find((family) => family.name === `goshawk_scheduler_user_${name}`) ?? {};
      return Object.fromEntries(series.map(({ labels, value }) => [labels.user, value]));
    };
    await expect.poll(() => byUser('running_tasks')).toEqual({ ann: 2, bob: 1 });
    expect(await byUser('running_cpus')).toEqual({ ann: 2, bob: 1 });
    expect(await byUser('waiting_tasks')).toEqual({ ann: 4, bob: 0 });
    expect(await byUser('jobs')).toEqual({ ann: 2, bob: 1 });
    for (const job of jobs) await job.cancel();
  });

  it('leaves nothing waiting, and present workers', () => {
    const waiting = familiesOf('scheduler').find(({ name }) => name === 'goshawk_waiting_tasks')!.series;
    // Each reason has one row for short tasks and one for long tasks.
    expect(waiting).toHaveLength(2 * OWNER_REASONS.length);
    expect(waiting.filter(({ value }) => value !== 0)).toEqual([]);
    expect(readingOf('central', 'goshawk_central_schedulers', { state: 'present' })).toBe(1);
    expect(readingOf('worker', 'goshawk_worker_workers', { state: 'member' })).toBe(3);
  });
});

it('connection attempts without a key of the cluster are counted and logged', async () => {
  const keys = join(daemons.folder, 'keys');
  const other = join(daemons.folder, 'other-keys');
  for (const each of [keys, other]) execFileSync(process.execPath, [GOSHAWK, 'keygen', each, '--quiet']);
  const token = 'a-token-of-at-least-16-characters';
  const tokenFile = join(daemons.folder, 'http.token');
  await writeFile(tokenFile, token, { mode: 0o600 });
  const central = await daemons.start('with keys', [
    ...['central', '--bind', 'tcp://127.0.0.1:0', '--keys', join(keys, 'central.key'), ...WITH_HTTP],
    ...['--http-token-file', tokenFile],
  ]);
  // They try until this signal.
  const giveUp = new AbortController();
  const options = { connectTimeoutMs: 60_000, signal: giveUp.signal };
  const refused = [{}, { keys: join(other, 'client.key') }].map((more) =>
    connect(central.endpoint, { ...options, ...more }),
  );
  const outcomes = Promise.allSettled(refused);
  const attempts = async (...reasons: readonly string[]): Promise<number> => {
    const { series } = families(await metricsOf('with keys', token)).find(
      ({ name }) => name === 'goshawk_connections_rejected_total',
    )!;
    return series
      .filter(({ labels }) => reasons.includes(labels.reason!))
      .reduce((sum, { value }) => sum + value, 0);
  };
  await expect.poll(() => attempts('noKey')).toBeGreaterThan(0);
  await expect.poll(() => attempts('unknownKey', 'wrongServerKey')).toBeGreaterThan(0);
  giveUp.abort();
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await expect
    .poll(() => daemons.logOf('with keys').match(/rejected connections from outside this cluster/g))
    .toHaveLength(1);
});

it('users of a cluster with keys are named only on request, and to readers with the token', async () => {
  const keys = join(daemons.folder, 'private-keys');
  execFileSync(process.execPath, [GOSHAWK, 'keygen', keys, '--quiet']);
  const token = 'a-token-of-at-least-16-characters';
  const tokenFile = join(daemons.folder, 'private.token');
  await writeFile(tokenFile, token, { mode: 0o600 });
  const http = [...WITH_HTTP, '--http-token-file', tokenFile];
  const central = await daemons.start('private central', [
    ...['central', '--bind', 'tcp://127.0.0.1:0', '--keys', join(keys, 'central.key')],
  ]);
  const scheduler = ['scheduler', '--central-url', central.endpoint, '--keys', join(keys, 'scheduler.key')];
  await daemons.start('s-private', [...scheduler, '--name', 's-private', ...http]);
  await daemons.start('s-named', [...scheduler, '--name', 's-named', ...http, '--metrics-users', '5']);
  const users = /goshawk_scheduler_user_/;
  expect(await metricsOf('s-private', token)).toMatch(/goshawk_scheduler_jobs/);
  expect(await metricsOf('s-private', token)).not.toMatch(users);
  expect(await metricsOf('s-named', token)).toMatch(users);
  expect(await metricsOf('s-named')).toBe('a bearer token is required (Authorization: Bearer TOKEN)\n');
});
