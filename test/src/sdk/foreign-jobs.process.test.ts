import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cluster, connect } from '@goshawk/client';
import { type ClusterSettings, DEFAULT_POLICY, LIVE_TIMINGS } from '@goshawk/core';
import { type Gateway, openGateway } from '@goshawk/gateway';
import { type Daemon, startCentral, startScheduler, startWorkers } from '@goshawk/runtime';
import { addClient, generateKeys, readKeys, SILENT_LOGGER, writeKeyFolder } from '@goshawk/transport';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** A real cluster with keys, and a gateway with the key of ann. Jobs of bob must look like jobs that do not exist. */
const SETTINGS: ClusterSettings = { policy: { ...DEFAULT_POLICY, cutoffMs: 5_000 }, timings: LIVE_TIMINGS };

let folder: string;
const daemons: Daemon[] = [];
const sessions: Cluster[] = [];
let gateway: Gateway;
/** Jobs of bob, one that runs and one that has ended; the last id does not exist. */
let foreign: string[];
let unknown: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-foreign-'));
  const ann = addClient(generateKeys(), { name: 'ann', rights: ['submit', 'read-own'] });
  const bob = addClient(ann.files, { name: 'bob', rights: ['submit', 'read-own'] });
  writeKeyFolder(folder, bob.files, [ann.client, bob.client]);
  const common = (role: 'central' | 'scheduler' | 'worker') => ({
    bind: 'tcp://127.0.0.1:0',
    logger: SILENT_LOGGER,
    keys: readKeys({ path: folder }, role),
  });
  const central = await startCentral({ ...common('central'), settings: SETTINGS });
  const scheduler = await startScheduler({ ...common('scheduler'), name: 's0', central: central.endpoint });
  const workers = await startWorkers({
    ...common('worker'),
    names: ['w0'],
    slots: 1,
    capacity: { cpu: 1 },
    central: central.endpoint,
    dataFolder: join(folder, 'worker'),
  });
  daemons.push(workers, scheduler, central);
  await Promise.all([scheduler.joined, workers.joined]);
  const as = (name: string, signal?: AbortSignal) =>
    connect(central.endpoint, { keys: join(folder, `client.${name}.key`), signal });
  const own = await as('bob');
  sessions.push(own);
  const ended = await own.submit({ name: 'private', tasks: { count: 2, run: { sleep: 1 } } });
  await ended.wait();
  const running = await own.submit({
    name: 'private',
    key: 'nightly',
    tasks: [{ sleep: '1h' }, { sleep: '1h' }],
  });
  foreign = [ended.id, running.id];
  unknown = running.id.replace(/\d+$/, '987');
  gateway = await openGateway({
    bind: '127.0.0.1:0',
    tokens: [],
    where: central.endpoint,
    version: '0.0.0',
    connect: (signal) => as('ann', signal),
  });
});

afterAll(async () => {
  await gateway?.close();
  for (const session of sessions) await session.close();
  for (const daemon of daemons) await daemon.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Route {
  readonly method: string;
  readonly url: string;
  readonly body?: unknown;
  readonly accept?: string;
}

/** Bodies of requests that are valid for an existing job. */
const BODIES: Readonly<Record<string, (id: string) => readonly object[]>> = {
  '/v1/jobs/{id}/cancel': () => [{}, { tasks: '0' }, { stage: 'first' }],
  '/v1/jobs/{id}/hold': () => [{}],
  '/v1/jobs/{id}/release': () => [{}],
  '/v1/jobs/{id}/update': () => [{ priority: 'high' }],
  '/v1/jobs/{id}/tasks': () => [{}, { tasks: [{ sleep: 1 }] }, { close: true }],
  '/v1/jobs/{id}/retry': () => [{}, { asNew: true }, { key: 'again', failed: true }],
  '/v1/jobs/bulk': (id) =>
    ['cancel', 'retry', 'hold', 'release'].flatMap((action) => [
      { action, ids: [id] },
      { action, ids: [id], dryRun: true },
    ]),
};

/** Queries that a route accepts besides its path. */
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  '/v1/jobs/{id}': ['', '?wait=1'],
  '/v1/jobs/{id}/tasks': ['', '?state=running', '?stage=first'],
  '/v1/jobs/{id}/logs': ['', '?task=0', '?failed=true', '?task=99'],
  '/v1/jobs/{id}/results': ['', '?from=1', '?order=index'],
  '/v1/jobs/{id}/why': ['', '?task=0', '?task=99'],
};

async function routesOfJobs(id: string): Promise<Route[]> {
  const document = (await (await fetch(`${gateway.url}/v1/openapi.json`)).json()) as {
    paths: Record<string, Record<string, object>>;
  };
  const routes: Route[] = [];
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const method of Object.keys(methods).map((each) => each.toUpperCase())) {
      const url = path.replace('{id}', id);
      if (method === 'POST' && BODIES[path] !== undefined) {
        for (const body of BODIES[path](id)) routes.push({ method, url, body });
      } else if (path.includes('{id}')) {
        expect(method, `${path} needs bodies in this test`).toBe('GET');
        for (const query of QUERIES[path] ?? ['']) {
          for (const accept of ['application/json', 'text/event-stream', 'application/x-ndjson'])
            routes.push({ method, url: `${url}${query}`, accept });
        }
      }
    }
  }
  return routes;
}

/** Returns status, type and body of the answer, with the id replaced. */
async function ask({ method, url, body, accept = 'application/json' }: Route, id: string) {
  const answer = await fetch(`${gateway.url}${url}`, {
    method,
    headers: { accept, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(20_000),
  });
  const text = (await answer.text()).replaceAll(id, 'ID');
  return { status: answer.status, type: answer.headers.get('content-type'), text };
}

describe('another user’s job over HTTP', () => {
  test('is answered like a job that does not exist, on every route with an id', async () => {
    const expected = await routesOfJobs(unknown);
    expect(expected.length).toBeGreaterThan(40);
    for (const id of foreign) {
      for (const [i, route] of (await routesOfJobs(id)).entries()) {
        const line = `${route.method} ${route.url} ${JSON.stringify(route.body ?? route.accept)}`;
        const [theirs, none] = [await ask(route, id), await ask(expected[i]!, unknown)];
        expect({ line, ...theirs }).toEqual({ line, ...none });
        expect(theirs.text, line).not.toMatch(/private|bob/);
      }
    }
  });

  test('is in no list, count or stream, and its key is free', async () => {
    const document = (await (await fetch(`${gateway.url}/v1/openapi.json`)).json()) as {
      paths: Record<string, { get?: object }>;
    };
    const lists = Object.entries(document.paths).filter(
      ([path, { get }]) => get !== undefined && !path.includes('{') && path !== '/v1/events',
    );
    expect(lists.length).toBeGreaterThan(8);
    const queries = ['', '?all=true', '?user=bob', '?q=private', `?q=${foreign[1]}`];
    for (const [path] of lists) {
      for (const query of path === '/v1/jobs' ? queries : ['']) {
        const answer = await fetch(`${gateway.url}${path}${query}`);
        const text = await answer.text();
        const line = `${path}${query}: ${answer.status} ${text}`;
        if (answer.ok && query === '') expect(text, line).not.toMatch(/private|bob/);
        for (const id of foreign) if (!query.includes(id)) expect(text, line).not.toContain(id);
      }
    }
    const submitted = await fetch(`${gateway.url}/v1/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'private', key: 'nightly', tasks: [{ sleep: 1 }] }),
    });
    expect(submitted.status).toBe(200);
    expect(foreign).not.toContain(((await submitted.json()) as { job: string }).job);
  });
});
