import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestCluster } from './test-cluster.fixture.js';

/** Real outputs of `--json` and of the HTTP API against the schemas that `goshawk schema` prints. */

let cluster: TestCluster;
const checks = new Map<string, ValidateFunction>();
const seen = new Set<string>();
let completed: string;
let failed: string;
let held: string;

async function linesOf(...args: string[]): Promise<Record<string, unknown>[]> {
  const { stdout, stderr } = await cluster.goshawk([...args, '--json']);
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

function expectToFit(output: Record<string, unknown>, schema: string): void {
  expect(output.schema).toBe(schema);
  const check = checks.get(schema)!;
  check(output);
  expect(check.errors ?? [], JSON.stringify(output)).toEqual([]);
  seen.add(schema);
}

beforeAll(async () => {
  cluster = await TestCluster.start(['--workers', '2', '--schedulers', '1', '--dashboard']);
  const { stdout } = await cluster.goshawk(['schema']);
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  for (const name of stdout.trim().split('\n')) {
    const schema = JSON.parse((await cluster.goshawk(['schema', name])).stdout) as object;
    checks.set(name, ajv.compile(schema));
  }
  completed = (await idOf('--tasks', '2', '--', 'echo', 'hello')).trim();
  failed = await idOf('--tasks', '2', '--', 'sh', '-c', 'echo no >&2; exit 3');
  held = await idOf('--hold', '--sleep', '1h');
  await cluster.goshawk(['wait', completed, failed]);
});
afterAll(() => cluster.stop());

describe('an output fits its schema', () => {
  it.each<[schema: string, args: () => string[]]>([
    ['goshawk.submit/1', () => ['submit', '--sleep', '1ms']],
    ['goshawk.jobs/1', () => ['jobs', '--all']],
    ['goshawk.job/1', () => ['job', completed, failed, held]],
    ['goshawk.job/1', () => ['wait', completed, failed]],
    ['goshawk.tasks/1', () => ['tasks', failed]],
    ['goshawk.log/1', () => ['logs', completed]],
    ['goshawk.why/1', () => ['why', held]],
    ['goshawk.why/1', () => ['why', completed]],
    ['goshawk.waiting/1', () => ['why']],
    ['goshawk.workers/1', () => ['workers']],
    ['goshawk.drain/1', () => ['drain', 'w0']],
    ['goshawk.workers/1', () => ['workers', '--state', 'drained']],
    ['goshawk.drain/1', () => ['drain', 'w0', '--undo']],
    ['goshawk.hold/1', () => ['hold', held]],
    ['goshawk.update/1', () => ['update', held, '--priority', 'high']],
    ['goshawk.release/1', () => ['release', held]],
    ['goshawk.retry/1', () => ['retry', failed]],
    ['goshawk.cancel/1', () => ['cancel', held]],
    ['goshawk.cancelled/1', () => ['cancel', '--name', 'nothing-*', '--yes']],
    ['goshawk.error/1', () => ['job', 'nobody-1']],
  ])('%s of the command', async (schema, args) => {
    const lines = await linesOf(...args());
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expectToFit(line, schema);
  });

  it.each<[schema: string, path: () => string, body?: object]>([
    ['goshawk.session/1', () => '/v1/session'],
    ['goshawk.submit/1', () => '/v1/jobs', { tasks: [{ sleep: 1 }] }],
    ['goshawk.jobs/1', () => '/v1/jobs'],
    ['goshawk.users/1', () => '/v1/users'],
    ['goshawk.job/1', () => `/v1/jobs/${completed}?wait=1`],
    ['goshawk.tasks/1', () => `/v1/jobs/${completed}/tasks`],
    ['goshawk.logs/1', () => `/v1/jobs/${completed}/logs`],
    ['goshawk.results/2', () => `/v1/jobs/${failed}/results`],
    ['goshawk.why/1', () => `/v1/jobs/${completed}/why`],
    ['goshawk.waiting/1', () => '/v1/why'],
    ['goshawk.workers/1', () => '/v1/workers'],
    ['goshawk.worker/1', () => '/v1/workers/w1'],
    ['goshawk.drain/1', () => '/v1/workers/w1/drain', {}],
    ['goshawk.drain/1', () => '/v1/workers/w1/undrain', {}],
    ['goshawk.policy/1', () => '/v1/policy'],
    ['goshawk.predictor/1', () => '/v1/predictor'],
    ['goshawk.overview/1', () => '/v1/overview'],
    ['goshawk.history/1', () => '/v1/history'],
    ['goshawk.cancelled/1', () => '/v1/jobs/cancel', { name: 'nothing-*' }],
    ['goshawk.error/1', () => '/v1/nothing'],
  ])('%s over HTTP', async (schema, path, body) => {
    expectToFit(await api(path(), body), schema);
  });

  it('and each schema has been tried', () => {
    expect([...checks.keys()].filter((name) => !seen.has(name))).toEqual(['job']);
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
    expect(checks.get('job')!(job)).toBe(exitCode === 0);
  });
});
