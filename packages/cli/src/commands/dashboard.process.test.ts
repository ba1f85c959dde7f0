import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ROUTES } from '@goshawk/gateway';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningGoshawk, runGoshawk } from '../goshawk-process.fixture.js';
import { TestCluster } from '../test-cluster.fixture.js';

let cluster: TestCluster;
let dashboard: RunningGoshawk;
let url = '';

beforeAll(async () => {
  cluster = await TestCluster.start(['--workers', '3', '--schedulers', '2']);
  dashboard = cluster.run(['dashboard', '--listen', '127.0.0.1:0', '--cluster', cluster.url]);
  url = (await dashboard.firstLine).replace(/\/$/, '');
});

afterAll(async () => {
  dashboard?.kill('SIGKILL');
  await cluster?.stop();
});

// Tests read responses without a static type.
// biome-ignore lint/suspicious/noExplicitAny: shapes are checked against the table of routes
type Answer = { readonly status: number; readonly body: any };

/** Sends a request, and checks the response against the schema of its route. */
async function api(method: 'GET' | 'POST', path: string, body?: unknown, headers = {}): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { ...(method === 'POST' ? { 'content-type': 'application/json' } : {}), ...headers },
    ...(method === 'POST' ? { body: JSON.stringify(body ?? {}) } : {}),
  });
  const answer = (await response.json()) as { schema: string };
  const [asked] = path.split('?');
  const route = ROUTES.find(
    (line) =>
      line.method === method && new RegExp(`^${line.url.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(asked!),
  );
  if (response.ok && typeof route?.answer === 'object') route.answer.parse(answer);
  else expect(answer.schema).toBe('goshawk.error/1');
  return { status: response.status, body: answer };
}

async function submit(job: object): Promise<string> {
  const { status, body } = await api('POST', '/v1/jobs', job);
  expect(status).toBe(200);
  return body.job as string;
}

/** Returns the events of a stream up to the first one that satisfies `until`. */
async function eventsOf(
  path: string,
  until: (event: string, data: Answer['body']) => boolean,
  lastEventId?: string,
): Promise<{ event: string; id: string | undefined; data: Answer['body'] }[]> {
  const stop = new AbortController();
  const accept = { accept: 'text/event-stream' };
  const headers = lastEventId === undefined ? accept : { ...accept, 'last-event-id': lastEventId };
  const response = await fetch(`${url}${path}`, { headers, signal: stop.signal });
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const events: { event: string; id: string | undefined; data: Answer['body'] }[] = [];
  let text = '';
  for await (const bytes of response.body!.pipeThrough(new TextDecoderStream())) {
    text += bytes;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const event = field('event');
      if (event === undefined) continue;
      events.push({ event, id: field('id'), data: JSON.parse(field('data')!) });
      if (!until(event, events.at(-1)!.data)) continue;
      stop.abort();
      return events;
    }
  }
  return events;
}

describe('jobs over HTTP', () => {
  it('are submitted once per key, can be awaited, and have logs and results', async () => {
    const job = { key: 'k1', name: 'hello', tasks: [{ exec: ['sh', '-c', 'echo to stdout; echo ä >&2'] }] };
    const id = await submit(job);
    expect(await submit(job)).toBe(id);
    expect((await api('GET', `/v1/jobs/${id}?wait=60`)).body).toMatchObject({ id, state: 'completed' });
    const { chunks } = (await api('GET', `/v1/jobs/${id}/logs`)).body;
    const at = expect.stringMatching(/Z$/);
    expect(chunks).toContainEqual({ task: 0, attempt: 1, stream: 'stdout', at, text: 'to stdout\n' });
    expect(chunks).toContainEqual({ task: 0, attempt: 1, stream: 'stderr', at, text: 'ä\n' });
    expect((await api('GET', `/v1/jobs/${id}/results`)).body).toMatchObject({
      schema: 'goshawk.results/2',
      state: 'completed',
      results: [{ index: 0, state: 'completed', value: null, exitCode: 0 }],
      total: 1,
      truncated: false,
      next: null,
    });
    expect((await api('GET', `/v1/jobs/${id}/why`)).body.sentence).toMatch(
      /^Completed after .* until it started/,
    );
    const other = { ...job, name: 'other' };
    expect(await api('POST', '/v1/jobs', other)).toMatchObject({
      status: 409,
      body: { code: 'key-conflict' },
    });
  });

  it('keep the parent span of the header, the field or the environment', async () => {
    const of = (span: string) => `00-${'a'.repeat(32)}-${span.repeat(16)}-01`;
    const job = { tasks: [{ sleep: 0 }] };
    const spanOf = async (id: string) => {
      const { stdout } = await cluster.goshawk(['job', id, '--spec', '--json']);
      return JSON.parse(stdout).spec.traceparent as string | undefined;
    };
    const ids = [
      (await api('POST', '/v1/jobs', job, { traceparent: of('b') })).body.job,
      (await api('POST', '/v1/jobs', { ...job, traceparent: of('c') }, { traceparent: of('b') })).body.job,
      (await api('POST', '/v1/jobs', job, { traceparent: 'none' })).body.job,
      (
        await cluster.goshawk(['submit', '--sleep', '1ms'], { environment: { TRACEPARENT: of('d') } })
      ).stdout.trim(),
    ];
    expect(await Promise.all(ids.map(spanOf))).toEqual([of('b'), of('c'), undefined, of('d')]);
  });

  it('are listed by state and by page', async () => {
    const ids = [];
    for (let i = 0; i < 3; i++) ids.push(await submit({ user: 'pages', tasks: [{ sleep: 1 }] }));
    for (const id of ids) await api('GET', `/v1/jobs/${id}?wait=60`);
    const first = (await api('GET', '/v1/jobs?user=pages&all=true&limit=2')).body;
    expect(first).toMatchObject({ total: 3, truncated: true, next: 2 });
    const second = (await api('GET', '/v1/jobs?user=pages&all=true&limit=2&from=2')).body;
    expect(second).toMatchObject({ total: 3, truncated: false, next: null });
    const listed = [...first.jobs, ...second.jobs].map(({ id }: { id: string }) => id);
    expect(listed.sort()).toEqual(ids.sort());
    expect((await api('GET', '/v1/jobs?user=pages&state=waiting,running')).body.total).toBe(0);
  });

  it('stream events to their end; a client that reconnects after that receives nothing', async () => {
    const id = await submit({ tasks: [{ sleep: 50 }] });
    const events = await eventsOf(`/v1/jobs/${id}/events`, (event) => event === 'ended');
    expect(events.at(-1)).toMatchObject({ event: 'ended', id: 'ended', data: { state: 'completed' } });
    const again = await fetch(`${url}/v1/jobs/${id}/events`, { headers: { 'last-event-id': 'ended' } });
    expect(again.status).toBe(204);
  });

  it('stream their results as tasks end, as events or as lines', async () => {
    const tasks = [{ exec: ['false'] }, { exec: ['true'] }, { sleep: 1 }];
    const id = await submit({ tasks });
    const events = await eventsOf(`/v1/jobs/${id}/results`, (event) => event === 'ended');
    expect(events.at(-1)).toMatchObject({ data: { job: id, state: 'failed' } });
    const results = events.slice(0, -1).map(({ data }) => data);
    expect(results.sort((a, b) => a.index - b.index)).toMatchObject([
      { index: 0, state: 'failed', exitCode: 1 },
      { index: 1, state: 'completed', exitCode: 0 },
      { index: 2, state: 'completed', exitCode: null },
    ]);
    const headers = { accept: 'application/x-ndjson' };
    const lines = await fetch(`${url}/v1/jobs/${id}/results?order=index`, { headers });
    expect(lines.headers.get('content-type')).toMatch(/^application\/x-ndjson/);
    const read = (await lines.text()).trim().split('\n');
    expect(read.map((line) => JSON.parse(line).index)).toEqual([0, 1, 2]);
    const none = await fetch(`${url}/v1/jobs/x9-9/results`, { headers });
    expect(none.status).toBe(404);
  });

  it('explain why they wait, can be cancelled, and retried', async () => {
    const id = await submit({ tasks: { count: 4, run: { sleep: 600_000 } }, maxRunning: 1 });
    await expect
      .poll(async () => (await api('GET', `/v1/jobs/${id}/why`)).body.sentence, { timeout: 60_000 })
      .toMatch(/^\d tasks have waited .*: /);
    expect((await api('GET', `/v1/jobs/${id}/why?task=3`)).body.task).toMatchObject({ task: 3 });
    await expect
      .poll(async () => (await api('GET', '/v1/why')).body.waiting, { timeout: 60_000 })
      .not.toEqual([]);
    expect(await api('POST', `/v1/jobs/${id}/retry`)).toMatchObject({
      status: 409,
      body: { code: 'not-ended' },
    });
    expect((await api('GET', `/v1/jobs/${id}/results?from=1&limit=2`)).body).toMatchObject({
      results: [{ index: 1 }, { index: 2 }],
      truncated: true,
      next: 3,
    });
    expect((await api('POST', `/v1/jobs/${id}/cancel`)).status).toBe(200);
    expect((await api('GET', `/v1/jobs/${id}?wait=60`)).body.state).toBe('cancelled');
    expect((await api('POST', `/v1/jobs/${id}/retry`)).body).toMatchObject({ job: id, tasks: 4 });
    await api('POST', `/v1/jobs/${id}/cancel`);
    expect((await api('GET', `/v1/jobs/${id}?wait=60`)).body.state).toBe('cancelled');
  });
});

describe('the cluster over HTTP', () => {
  it('drains workers and undoes drains', async () => {
    expect((await api('GET', '/v1/workers?state=active')).body.total).toBe(3);
    expect((await api('POST', '/v1/workers/w1/drain')).body).toMatchObject({ worker: 'w1' });
    const stateOf = async () => (await api('GET', '/v1/workers/w1')).body.state;
    await expect.poll(stateOf, { timeout: 60_000 }).toBe('drained');
    const seen = await eventsOf(
      '/v1/events',
      (event, data) => event === 'overview' && data.workers.drained === 1,
    );
    expect(seen.at(-1)!.data).toMatchObject({ reachable: true, workers: { active: 2, drained: 1 } });
    await api('POST', '/v1/workers/w1/undrain');
    await expect.poll(stateOf, { timeout: 60_000 }).toBe('active');
    expect((await api('GET', '/v1/workers/w1')).body.counters).toMatchObject({ messages: expect.anything() });
  });

  it('restarts elsewhere what still runs at the deadline of a drain', async () => {
    const id = await submit({ tasks: [{ sleep: 300_000 }] });
    const task = async () => (await api('GET', `/v1/jobs/${id}/tasks`)).body.tasks[0];
    await expect.poll(async () => (await task()).state, { timeout: 60_000 }).toBe('running');
    const { worker } = await task();
    const drain = { deadlineSeconds: 0.2 };
    expect((await api('POST', `/v1/workers/${worker}/drain`, drain)).body).toMatchObject({
      deadlineSeconds: expect.any(Number),
    });
    await expect
      .poll(async () => ((await task()).state === 'running' ? (await task()).worker : worker), {
        timeout: 60_000,
      })
      .not.toBe(worker);
    await expect
      .poll(async () => (await api('GET', `/v1/workers/${worker}`)).body.state, { timeout: 60_000 })
      .toBe('drained');
    await api('POST', `/v1/workers/${worker}/undrain`);
    await api('POST', `/v1/jobs/${id}/cancel`);
  });

  it('has a policy, a predictor, an overview and a history', async () => {
    expect((await api('GET', '/v1/session')).body).toMatchObject({ cluster: cluster.url, role: 'operate' });
    expect((await api('GET', '/v1/policy')).body).toMatchObject({ policy: 'goshawk', cutoffSeconds: 10 });
    expect((await api('GET', '/v1/predictor')).body.estimators).toEqual([]);
    expect((await api('GET', '/v1/overview')).body).toMatchObject({ reachable: true, policy: 'goshawk' });
    expect((await api('GET', '/v1/history')).status).toBe(200);
  });

  it('resumes its events from the last id of a reader', async () => {
    const first = await eventsOf('/v1/events', (event) => event === 'workers');
    expect(first.at(-1)!.data).toMatchObject({ reset: true });
    expect(first.at(-1)!.data.born).toHaveLength(3);
    const next = await eventsOf('/v1/events', (event) => event === 'workers', first.at(-1)!.id);
    expect(next.at(-1)!.data).toMatchObject({ reset: false, born: [] });
    const stranger = await eventsOf('/v1/events', (event) => event === 'workers', 'another.7');
    expect(stranger.at(-1)!.data).toMatchObject({ reset: true });
  });
});

describe('errors', () => {
  it.each([
    ['/v1/jobs/zz-1', 404, /^no scheduler of this cluster knows "zz-1"$/],
    ['/v1/workers/w99', 404, /^there is no worker w99$/],
    ['/v1/jobs?state=asleep', 400, /^query: state/],
    ['/v1/nothing', 404, /^GET \/v1\/nothing does not exist$/],
    ['/src/server.ts', 404, /does not exist$/],
    ['/../package.json', 404, /does not exist$/],
    ['/script/../../package.json', 404, /does not exist$/],
  ])('%s responds with %i and one line', async (path, status, message) => {
    const { body, ...answer } = await api('GET', path);
    expect(answer.status).toBe(status);
    expect(body.message).toMatch(message);
  });

  it.each([
    ['deep', `{"tasks":${'['.repeat(7_000_000)}`, 413, 'the body is nested deeper than 64 levels'],
    [
      'of many values',
      `{"tasks":[${'[],'.repeat(5_000_000)}[]]}`,
      413,
      'the body has more than 1000000 values',
    ],
    ['large', `{"name":"${'x'.repeat(17 * 1024 * 1024)}"}`, 413, 'the body has more than 16777216 bytes'],
    ['no JSON', '{', 400, expect.stringMatching(/^body: not JSON: .* at position 1/)],
    ['no job', '[]', 400, 'body: expected the fields of a job'],
  ])('a body that is %s is rejected', async (_, body, status, message) => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/v1/jobs`, { method: 'POST', headers, body });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ message });
  });

  it('an invalid job has the same message as in the command', async () => {
    const { status, body } = await api('POST', '/v1/jobs', { tasks: [{ slep: 1 }] });
    await writeFile(join(cluster.folder, 'bad.json'), JSON.stringify({ tasks: [{ slep: 1 }] }));
    const said = await cluster.goshawk(['submit', 'bad.json']);
    expect(status).toBe(400);
    expect(body.code).toBe('bad-job');
    expect(said.stderr).toContain(body.message.replace(/^job: /, ''));
  });

  it('cross-site requests are rejected and change nothing', async () => {
    const headers = { origin: 'http://evil.example' };
    expect(await api('POST', '/v1/workers/w0/drain', {}, headers)).toMatchObject({ status: 403 });
    expect(await api('POST', '/v1/workers/w0/drain', {}, { 'content-type': 'text/plain' })).toMatchObject({
      status: 415,
    });
    // `fetch` does not allow another Host header.
    const status = await new Promise((done, failed) => {
      request(`${url}/v1/jobs`, { headers: { host: 'evil.example' } }, (answer) =>
        done(answer.resume().statusCode),
      )
        .on('error', failed)
        .end();
    });
    expect(status).toBe(421);
    expect((await api('GET', '/v1/workers/w0')).body.state).toBe('active');
  });

  it('pages have a strict content security policy, and folders are not listed', async () => {
    const page = await fetch(url);
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'/,
    );
    expect(await page.text()).not.toMatch(/<script(?![^>]*src=)|style=| on\w+=/);
  });

  it('tokens are required beyond loopback', async () => {
    const open = await cluster.goshawk(['dashboard', '--listen', '0.0.0.0:0']);
    expect(open).toMatchObject({ exitCode: 2 });
    expect(open.stderr).toMatch(/beyond loopback, anyone on the network could view the cluster; set tokens/);
    await writeFile(join(cluster.folder, 'tokens'), 'operate 0123456789abcdef\n', { mode: 0o600 });
    const guarded = cluster.run(['dashboard', '--listen', '0.0.0.0:0', '--token-file', 'tokens']);
    try {
      const at = (await guarded.firstLine).replace('0.0.0.0', '127.0.0.1');
      expect((await fetch(`${at}v1/jobs`)).status).toBe(401);
      const headers = { authorization: 'Bearer 0123456789abcdef', 'content-type': 'application/json' };
      expect((await fetch(`${at}v1/jobs`, { headers })).status).toBe(200);
      const refused = await fetch(`${at}v1/jobs`, {
        method: 'POST',
        headers,
        body: '{"tasks":[{"sleep":1}]}',
      });
      expect(refused.status).toBe(403);
      expect(await refused.json()).toMatchObject({ code: 'role-needed' });
    } finally {
      guarded.kill('SIGKILL');
      await guarded.finished;
    }
  });

  it('an unreachable cluster is 503 with the message of the command', async () => {
    const nowhere = ['--cluster', 'tcp://127.0.0.1:9'];
    const alone = cluster.run(['dashboard', '--listen', '127.0.0.1:0', ...nowhere]);
    try {
      const at = await alone.firstLine;
      // Each request waits for its timeout of several seconds.
      const [command, jobs, livez, readyz] = await Promise.all([
        cluster.goshawk(['jobs', ...nowhere]),
        ...['v1/jobs', 'livez', 'readyz'].map((path) => fetch(`${at}${path}`)),
      ]);
      expect(jobs!.status).toBe(503);
      const said = (await jobs!.json()) as { message: string };
      expect(command.stderr).toContain(said.message);
      const overview = (await (await fetch(`${at}v1/overview`)).json()) as Answer['body'];
      expect(overview).toMatchObject({ reachable: false, attention: [{ what: said.message }] });
      expect(livez!.status).toBe(200);
      expect(readyz!.status).toBe(503);
    } finally {
      alone.kill('SIGKILL');
      await alone.finished;
    }
  });
});

describe('goshawk top', () => {
  it('prints the overview once without a terminal', async () => {
    const { stdout, exitCode } = await cluster.goshawk(['top']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/workers +3 active/);
    const { body } = await api('GET', '/v1/overview');
    const said = JSON.parse((await cluster.goshawk(['top', '--json'])).stdout) as Answer['body'];
    expect(said).toMatchObject({ schema: body.schema, cluster: body.cluster, workers: body.workers });
  });
});

describe('python', () => {
  it('the example of docs/HTTP.md works as described', async ({ skip }) => {
    const docs = await readFile(resolve(import.meta.dirname, '../../../../docs/HTTP.md'), 'utf8');
    const example = /```python\n([\s\S]*?)```/.exec(docs)![1]!;
    const run = promisify(execFile);
    const python = await run('python3', ['--version']).catch(() => undefined);
    if (python === undefined) skip('there is no python3 here');
    const { stdout } = await run('python3', ['-c', example], {
      env: { PATH: process.env.PATH, GOSHAWK_API: url },
      timeout: 120_000,
    });
    expect(stdout.trim()).toMatch(/^completed \['hello \d', 'hello \d', 'hello \d'\]$/);
  });
});

it('an address in use is reported in one line', async () => {
  const { port } = new URL(url);
  const taken = await runGoshawk(['dashboard', '--listen', `127.0.0.1:${port}`, '--cluster', cluster.url]);
  expect(taken.exitCode).toBe(2);
  expect(taken.stderr).toMatch(/^goshawk: cannot listen at 127.0.0.1:\d+: .*EADDRINUSE.*\n$/);
});

it('`up --dashboard` restarts the page at the same address, and requires keys', async () => {
  const own = await TestCluster.start([
    '--workers',
    '1',
    '--schedulers',
    '1',
    '--dashboard',
    '--secure',
    '--progress',
    'plain',
  ]);
  try {
    const [address, token] = own.dashboard!.split('#token=');
    const look = () => fetch(`${address}v1/session`, { headers: { authorization: `Bearer ${token}` } });
    expect(await (await look()).json()).toMatchObject({ cluster: own.url, role: 'operate' });
    expect((await fetch(`${address}v1/session`)).status).toBe(401);
    await own.says(/only users who can read \S+keys\/client\.key can use it/);
    const { pid } = own.children().find(({ command }) => command.includes('goshawk.js dashboard'))!;
    process.kill(pid, 'SIGKILL');
    await own.says(/dashboard is back/);
    expect((await look()).status).toBe(200);
  } finally {
    expect((await own.stop()).exitCode).toBe(0);
  }
});

it('`up --secure --http` shows metrics only with its token, which only its account can read', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const at = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  await new Promise((resolve) => server.close(resolve));
  const own = await TestCluster.start(['--workers', '1', '--schedulers', '1', '--secure', '--http', at]);
  try {
    const file = join(own.folder, 'data', 'http.token');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    for (const path of ['metrics', 'status', 'targets'])
      expect((await fetch(`http://${at}/${path}`)).status).toBe(401);
    expect((await fetch(`http://${at}/livez`)).status).toBe(200);
    const headers = { authorization: `Bearer ${(await readFile(file, 'utf8')).trim()}` };
    const groups = (await (await fetch(`http://${at}/targets`, { headers })).json()) as {
      targets: string[];
    }[];
    for (const { targets } of groups) {
      expect((await fetch(`http://${targets[0]}/metrics`)).status).toBe(401);
      expect((await fetch(`http://${targets[0]}/metrics`, { headers })).status).toBe(200);
    }
  } finally {
    expect((await own.stop()).exitCode).toBe(0);
  }
});

it('`up --http` serves metrics of central, which lists the addresses of the others', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const at = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  await new Promise((resolve) => server.close(resolve));
  const own = await TestCluster.start(['--workers', '1', '--schedulers', '1', '--http', at]);
  try {
    const groups = (await (await fetch(`http://${at}/targets`)).json()) as {
      targets: string[];
      labels: { role: string };
    }[];
    expect(groups.map(({ labels }) => labels.role)).toEqual(['central', 'scheduler', 'worker']);
    expect(groups[0]!.targets).toEqual([at]);
    for (const { targets, labels } of groups) {
      const metrics = await (await fetch(`http://${targets[0]}/metrics`)).text();
      expect(metrics, labels.role).toContain('goshawk_process_start_time_seconds');
    }
  } finally {
    expect((await own.stop()).exitCode).toBe(0);
  }
});
