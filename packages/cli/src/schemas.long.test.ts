import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publishedSchemas } from '@goshawk/gateway';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PublishedChecks } from './schemas.fixture.js';
import { commandSchemas } from './schemas.js';
import { TestCluster } from './test-cluster.fixture.js';

/**
 * The tests check real outputs of a cluster, with `--json` and over HTTP, against the schemas that `goshawk
 * schema` prints. Outputs of commands without a cluster are in schemas.test.ts, and those of the laboratory
 * in its own test of that name.
 */

const NEED_NO_CLUSTER = [
  'goshawk.config/1',
  'goshawk.journal-backup/1',
  'goshawk.journal-import/1',
  'goshawk.journal-init/1',
  'goshawk.journal-owners/1',
  'goshawk.journal-repair/1',
  'goshawk.journal-verify/1',
  'goshawk.journal/1',
  'goshawk.keygen/1',
  'goshawk.keys-list/1',
  'goshawk.keys-revoked/1',
  'goshawk.policies/1',
  'goshawk.schemas/1',
];

let cluster: TestCluster;
/** Folder for the audit log and other files of the test. */
let own: string;
/** HTTP address of central. */
let http: string;
const published = new PublishedChecks();
let completed: string;
let failed: string;
let held: string;

async function linesOf(...args: string[]): Promise<Record<string, unknown>[]> {
  const { stdout, stderr } = await cluster.goshawk([args[0]!, '--json', ...args.slice(1)]);
  const text = `${stdout}${stderr}`.trim();
  return text.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
}

async function idOf(...args: string[]): Promise<string> {
  const { stdout } = await cluster.goshawk(['submit', ...args]);
  return stdout.trim();
}

async function api(path: string, body?: object): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json' };
  const request = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) };
  const answer = await fetch(new URL(path, cluster.dashboard), request);
  return (await answer.json()) as Record<string, unknown>;
}

async function expectToFit(output: Record<string, unknown>, schema: string): Promise<void> {
  expect(output.schema).toBe(schema);
  await published.expectToFit(output);
}

beforeAll(async () => {
  own = await mkdtemp(join(tmpdir(), 'goshawk-schemas-'));
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  http = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  await new Promise((resolve) => server.close(resolve));
  cluster = await TestCluster.start([
    ...['--workers', '2', '--schedulers', '1', '--dashboard', '--http', http],
    ...['--shadow', 'history', '--audit-log', join(own, 'audit.jsonl')],
    ...['--notify-command', `cat >> ${join(own, 'notified.jsonl')}`],
  ]);
  completed = (await idOf('--tasks', '2', '--', 'echo', 'hello')).trim();
  failed = await idOf('--tasks', '2', '--', 'sh', '-c', 'echo no >&2; exit 3');
  held = await idOf('--hold', '--sleep', '1h');
  await cluster.goshawk(['wait', completed, failed]);
});
afterAll(async () => {
  await cluster.stop();
  await rm(own, { recursive: true });
});

describe('an output fits its schema', () => {
  it.each<[schema: string, args: () => string[]]>([
    ['goshawk.submit/1', () => ['submit', '--sleep', '1ms']],
    ['goshawk.jobs/1', () => ['jobs', '--all']],
    ['goshawk.job/1', () => ['job', completed, failed, held]],
    ['goshawk.job/1', () => ['wait', completed, failed]],
    ['goshawk.tasks/1', () => ['tasks', failed]],
    ['goshawk.tasks/1', () => ['tasks', `${failed}/1`, '--limit', '1']],
    ['goshawk.log/1', () => ['logs', completed]],
    ['goshawk.log/1', () => ['logs', `${failed}/tasks`, '--failed']],
    ['goshawk.job/1', () => ['job', completed, '--watch']],
    ['goshawk.job/1', () => ['wait', completed, failed, '--any']],
    ['goshawk.job/1', () => ['wait', failed, '--results']],
    ['goshawk.why/1', () => ['why', `${failed}/0`]],
    ['goshawk.cancel/1', () => ['cancel', `${failed}/0-1`]],
    ['goshawk.why/1', () => ['why', held]],
    ['goshawk.why/1', () => ['why', completed]],
    ['goshawk.waiting/1', () => ['why']],
    ['goshawk.workers/1', () => ['workers']],
    ['goshawk.event/1', () => ['events', '--since', '1h']],
    ['goshawk.drain/1', () => ['drain', 'w0']],
    ['goshawk.workers/1', () => ['workers', '--state', 'drained']],
    ['goshawk.drain/1', () => ['drain', 'w0', '--undo']],
    ['goshawk.hold/1', () => ['hold', held]],
    ['goshawk.update/1', () => ['update', held, '--priority', 'high']],
    ['goshawk.release/1', () => ['release', held]],
    ['goshawk.retry/1', () => ['retry', failed]],
    ['goshawk.cancel/1', () => ['cancel', held]],
    ['goshawk.cancelled/1', () => ['cancel', '--name', 'nothing-*', '--yes']],
    ['goshawk.job/1', () => ['job', completed, '--spec']],
    ['goshawk.job/1', () => ['wait', completed, '--results']],
    ['goshawk.submit/1', () => ['submit', '--wait', '--results', '--', 'true']],
    ['goshawk.predictor/1', () => ['predictor']],
    ['goshawk.overview/1', () => ['top']],
    ['goshawk.clusters/1', () => ['clusters']],
    ['goshawk.plan/1', () => ['plan', '--tasks', '3', '--estimate', '2s', '--', 'true']],
    ['goshawk.plan/1', () => ['plan', '--require', 'gpu=a100', '--', 'true']],
    ['goshawk.shares/1', () => ['shares']],
    ['goshawk.shares/1', () => ['shares', '--by', 'user']],
    ['goshawk.usage/1', () => ['usage', '--by', 'day,user']],
    ['goshawk.event/1', () => ['events']],
    ['goshawk.takeover/1', () => ['takeover', '--all']],
    ['goshawk.error/1', () => ['job', 'nobody-1']],
  ])('%s of the command', async (schema, args) => {
    const lines = await linesOf(...args());
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) await expectToFit(line, schema);
  });

  it.each<[schema: string, path: () => string, body?: object]>([
    ['goshawk.session/1', () => '/v1/session'],
    ['goshawk.submit/1', () => '/v1/jobs', { tasks: [{ sleep: 1 }] }],
    ['goshawk.jobs/1', () => '/v1/jobs'],
    ['goshawk.users/1', () => '/v1/users'],
    ['goshawk.usage/1', () => '/v1/usage?by=user,project,name,day&since=1d'],
    ['goshawk.job/1', () => `/v1/jobs/${completed}?wait=1`],
    ['goshawk.tasks/1', () => `/v1/jobs/${completed}/tasks`],
    ['goshawk.tasks/1', () => `/v1/jobs/${completed}/tasks?used=true`],
    ['goshawk.logs/1', () => `/v1/jobs/${completed}/logs`],
    ['goshawk.results/2', () => `/v1/jobs/${failed}/results`],
    ['goshawk.why/1', () => `/v1/jobs/${completed}/why`],
    ['goshawk.waiting/1', () => '/v1/why'],
    ['goshawk.workers/1', () => '/v1/workers'],
    ['goshawk.events/1', () => '/v1/events/past'],
    ['goshawk.worker/1', () => '/v1/workers/w1'],
    ['goshawk.drain/1', () => '/v1/workers/w1/drain', {}],
    ['goshawk.drain/1', () => '/v1/workers/w1/undrain', {}],
    ['goshawk.policy/1', () => '/v1/policy'],
    ['goshawk.predictor/1', () => '/v1/predictor'],
    ['goshawk.overview/1', () => '/v1/overview'],
    ['goshawk.history/1', () => '/v1/history'],
    ['goshawk.cancelled/1', () => '/v1/jobs/cancel', { name: 'nothing-*' }],
    ['goshawk.bulk/1', () => '/v1/jobs/bulk', { action: 'cancel', q: 'name:nothing-*', dryRun: true }],
    ['goshawk.plan/1', () => '/v1/plan', { tasks: [{ sleep: 1 }] }],
    ['goshawk.stream/1', () => '/v1/stream'],
    ['goshawk.error/1', () => '/v1/nothing'],
  ])('%s over HTTP', async (schema, path, body) => {
    await expectToFit(await api(path(), body), schema);
  });

  it('of changes of a job over HTTP, and of what is left', async () => {
    const id = await idOf('--hold', '--deadline', '3h', '--tasks', '2', '--sleep', '1h');
    for (const [verb, schema, body] of [
      ['update', 'update', { priority: 'high' }],
      ['release', 'release', {}],
      ['hold', 'hold', {}],
      ['cancel', 'cancel', { tasks: '0', stage: 'tasks' }],
      ['cancel', 'cancel', {}],
    ] as const)
      await expectToFit(await api(`/v1/jobs/${id}/${verb}`, body), `goshawk.${schema}/1`);
    await cluster.goshawk(['wait', id]);
    await expectToFit(await api(`/v1/jobs/${id}/results`), 'goshawk.results/2');
    await expectToFit(await api(`/v1/jobs/${id}/tasks`), 'goshawk.tasks/1');
    await expectToFit(await api(`/v1/jobs/${id}/why?task=0`), 'goshawk.why/1');
    await expectToFit(await api(`/v1/jobs/${id}/retry`, { stage: 'tasks' }), 'goshawk.retry/1');
    await cluster.goshawk(['cancel', id]);
  });

  it('goshawk.append/1 over HTTP', async () => {
    const task = { exec: ['true'] };
    const { job } = await api('/v1/jobs', { open: '1h' });
    const body = { common: task, tasks: [{}], close: true };
    await expectToFit(await api(`/v1/jobs/${job}/tasks`, body), 'goshawk.append/1');
  });

  it('goshawk.submit-skipped/1 of a command whose tasks have all run', async () => {
    const skip = ['--skip-existing', '/proc/{file}', '--param', 'file=version'];
    const { stdout } = await cluster.goshawk(['submit', '--json', ...skip, '--', 'true']);
    await expectToFit(JSON.parse(stdout) as Record<string, unknown>, 'goshawk.submit-skipped/1');
  });

  it('goshawk.job-whatif/1 of the command and over HTTP', async () => {
    const id = await idOf('--tasks', '2', '--max-running', '1', '--sleep', '1h');
    const [line] = await linesOf('why', id, '--what-if', 'workers=+1,priority=high');
    await expectToFit(line!, 'goshawk.job-whatif/1');
    await expectToFit(await api(`/v1/jobs/${id}/whatif?policy=hawk`), 'goshawk.job-whatif/1');
    await cluster.goshawk(['cancel', id]);
  });

  it.each([
    ['goshawk.up/1', ['up', '--workers', '1', '--schedulers', '1', '--data-folder', 'second']],
    ['goshawk.daemon/1', ['dashboard', '--listen', '127.0.0.1:0']],
  ])('%s of a command that keeps running', async (schema, args) => {
    const staying = cluster.run([...args, '--json']);
    const first = JSON.parse(await staying.firstLine) as Record<string, unknown>;
    staying.kill('SIGINT');
    await staying.finished;
    await expectToFit(first, schema);
  });

  it('goshawk.autoscale/1 of a pool on Slurm', async () => {
    const programs = join(own, 'programs');
    await mkdir(programs);
    for (const name of ['squeue', 'sbatch', 'scancel']) {
      await writeFile(join(programs, name), '#!/bin/sh\n');
      await chmod(join(programs, name), 0o700);
    }
    const args = ['autoscale', 'slurm', '--min', '1', '--max', '2', '--dry-run', '--json'];
    const scaling = cluster.run(args, { environment: { PATH: `${programs}:${process.env.PATH}` } });
    const first = JSON.parse(await scaling.firstLine) as Record<string, unknown>;
    scaling.kill('SIGINT');
    await scaling.finished;
    await expectToFit(first, 'goshawk.autoscale/1');
  });

  it('goshawk.status/1 of central, schedulers and workers', async () => {
    const groups = (await (await fetch(`http://${http}/targets`)).json()) as { targets: string[] }[];
    expect(groups).toHaveLength(3);
    for (const { targets } of groups) {
      const answer = await fetch(`http://${targets[0]}/status`);
      await expectToFit((await answer.json()) as Record<string, unknown>, 'goshawk.status/1');
    }
  });

  it('goshawk.notification/1 of each line that --notify-command gets', async () => {
    const notificationLines = async () =>
      (await readFile(join(own, 'notified.jsonl'), 'utf8')).trim().split('\n');
    await expect.poll(async () => (await notificationLines().catch(() => [])).length).toBeGreaterThan(2);
    for (const line of await notificationLines())
      await expectToFit(JSON.parse(line) as Record<string, unknown>, 'goshawk.notification/1');
  });

  it('goshawk.audit/1 of each line of an audit log', async () => {
    const text = await readFile(join(own, 'audit.jsonl'), 'utf8');
    const lines = text.trim().split('\n');
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines)
      await expectToFit(JSON.parse(line) as Record<string, unknown>, 'goshawk.audit/1');
  });

  it('for each schema', () => {
    const names = [...commandSchemas().keys(), ...publishedSchemas().keys()];
    expect(names.filter((name) => !published.seen.has(name)).sort()).toEqual(NEED_NO_CLUSTER);
  });
});

describe('the schema of job files and `submit` agree about', () => {
  it.each<[string, object]>([
    ['a job of tasks', { tasks: [{ exec: ['true'] }, { sleep: '1s' }] }],
    ['a job of stages', { stages: [{ name: 'a', tasks: { count: 2, run: { sleep: 1 } } }] }],
    ['a command that returns a value', { tasks: [{ exec: ['true'], returns: true }] }],
    ['an unknown field', { tasks: [{ sleep: 1 }], often: 2 }],
    ['an unknown field of a task', { tasks: [{ sleep: 1, often: 2 }] }],
    ['a task of two kinds', { tasks: [{ sleep: 1, exec: ['true'] }] }],
    ['a number of retries that is too large', { tasks: [{ sleep: 1 }], retries: 1e9 }],
    ['an empty command', { tasks: [{ exec: [] }] }],
  ])('%s', async (_, job) => {
    const file = join(cluster.folder, 'job.json');
    await writeFile(file, JSON.stringify(job));
    const { exitCode } = await cluster.goshawk(['plan', file]);
    expect((await published.of('job'))(job)).toBe(exitCode === 0);
  });
});
