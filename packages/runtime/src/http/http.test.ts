import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ScrapeTarget } from '@goshawk/central';
import { Histogram, type Role } from '@goshawk/core';
import { newCounters } from '@goshawk/transport';
import { recordingLogger } from '@goshawk/transport/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { pagesOf } from './pages.js';
import { type HttpOptions, type HttpServer, openHttpServer } from './server.js';

const servers: HttpServer[] = [];
const mailbox = newCounters();
const notReady: string[] = [];

afterEach(async () => {
  notReady.length = 0;
  for (const server of servers.splice(0)) await server.close();
});

const TARGETS: readonly ScrapeTarget[] = [
  { role: 'central', at: 'central:9090' },
  { role: 'worker', at: '10.0.0.1:9090' },
  { role: 'worker', at: '10.0.0.2:9090' },
];

async function open(options: Partial<HttpOptions> = {}, role: Role = 'worker'): Promise<HttpServer> {
  const shown = {
    role,
    endpoint: 'tcp://127.0.0.1:1',
    hasKeys: true,
    mailbox,
    machines: () => ({
      w1: { sent: {}, received: { probe: 3 }, refused: 1, unsendable: 0, failed: 0, wakes: 0 },
      w2: { sent: {}, received: { probe: 4, run: 1 }, refused: 1, unsendable: 0, failed: 0, wakes: 0 },
    }),
    lateMs: new Histogram([1, 5]),
    droppedLogLines: () => 3,
    view: () => ({ notReady, readings: () => ({}), scrapeTargets: () => TARGETS }),
  };
  const server = await openHttpServer(
    { bind: '127.0.0.1:0', ...options },
    (counters) => pagesOf(shown, counters),
    recordingLogger(),
  );
  servers.push(server);
  return server;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

async function ask(
  server: HttpServer,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Answer> {
  const port = Number(new URL(server.url).port);
  const asked = request({ host: '127.0.0.1', port, path, method, headers });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  let body = '';
  for await (const part of response) body += part;
  return { status: response.statusCode!, body };
}

describe('the HTTP server', () => {
  it('shows the status of the process', async () => {
    const server = await open();
    expect(await ask(server, '/livez')).toStrictEqual({ status: 200, body: 'alive\n' });
    expect(await ask(server, '/readyz')).toStrictEqual({ status: 200, body: 'ready\n' });
    notReady.push('it has not joined its cluster yet');
    expect(await ask(server, '/readyz')).toStrictEqual({
      status: 503,
      body: 'it has not joined its cluster yet\n',
    });
    expect(JSON.parse((await ask(server, '/status')).body)).toMatchObject({
      schema: 'goshawk.status/1',
      role: 'worker',
      encrypted: true,
    });
  });

  it('has metrics in Prometheus format, including rejected connections', async () => {
    mailbox.rejections.unknownKey = 7;
    const { body } = await ask(await open(), '/metrics?x=1');
    expect(body).toMatch(/^goshawk_connections_rejected_total\{reason="unknownKey"\} 7$/m);
    expect(body).toMatch(/^goshawk_messages_received_total\{type="probe"\} 7$/m);
    expect(body).toMatch(/^goshawk_messages_refused_total 2$/m);
    expect(body).toMatch(/^goshawk_ready 1$/m);
    expect(body).toMatch(/^goshawk_log_lines_dropped_total 3$/m);
  });

  it('measures requests by route and class of status, whatever paths are requested', async () => {
    const server = await open();
    for (const path of ['/livez', '/livez?x=1', '/a', '/b']) await ask(server, path);
    await ask(server, '/livez', {}, 'HEAD');
    await ask(server, '/livez', {}, 'POST');
    const rows = () => Array.from(server.counters.times.all(), ({ ms, ...labels }) => [labels, ms.count]);
    await expect.poll(rows).toEqual([
      [{ route: 'GET /livez', status: '2xx' }, 3],
      [{ route: '(other)', status: '4xx' }, 3],
    ]);
    const { body } = await ask(server, '/metrics');
    expect(body).toMatch(/^goshawk_http_request_seconds_count\{route="GET \/livez",status="2xx"\} 3$/m);
  });

  it('lists the HTTP servers of all processes at central, in Prometheus format', async () => {
    expect(JSON.parse((await ask(await open({}, 'central'), '/targets')).body)).toStrictEqual([
      { targets: ['central:9090'], labels: { role: 'central' } },
      { targets: ['10.0.0.1:9090', '10.0.0.2:9090'], labels: { role: 'worker' } },
    ]);
    expect((await ask(await open(), '/targets')).status).toBe(404);
  });

  it('continues after a page that failed', async () => {
    const server = await openHttpServer(
      { bind: '127.0.0.1:0' },
      () => ({
        '/metrics': () => {
          throw new Error('the disk is gone');
        },
        '/livez': () => ({ status: 200, type: 'text/plain', body: 'alive\n' }),
      }),
      recordingLogger(),
    );
    servers.push(server);
    expect(await ask(server, '/metrics')).toStrictEqual({ status: 500, body: 'the disk is gone\n' });
    expect((await ask(server, '/livez')).status).toBe(200);
  });

  it('writes its actual port to a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'goshawk-http-'));
    try {
      const portFile = join(folder, 'port');
      const server = await open({ portFile });
      expect(readFileSync(portFile, 'utf8')).toBe(`${new URL(server.url).port}\n`);
      await expect(open({ portFile: join(folder, 'nowhere', 'port') })).rejects.toThrow(
        /cannot write the HTTP port file: ENOENT/,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('requires its token, except for liveness', async () => {
    const token = 'correct-horse-battery-staple';
    const server = await open({ token });
    for (const headers of [
      {},
      { authorization: token },
      { authorization: 'Bearer wrong' },
      { authorization: `Basic ${token}` },
      { authorization: `Bearer ${token}x` },
    ]) {
      expect((await ask(server, '/metrics', headers as Record<string, string>)).status).toBe(401);
    }
    expect((await ask(server, '/metrics', { authorization: `Bearer ${token}` })).status).toBe(200);
    expect((await ask(server, '/livez')).status).toBe(200);
    expect(server.counters.refused.token).toBe(5);
  });

  it('of a cluster with keys shows local accounts without a token only its liveness', async () => {
    const server = await open({ isSealed: true });
    for (const path of ['/metrics', '/status', '/targets', '/nothing'])
      expect(await ask(server, path)).toMatchObject({
        status: 401,
        body: expect.stringContaining('--http-token-file'),
      });
    for (const path of ['/livez', '/readyz']) expect((await ask(server, path)).status).toBe(200);
    const token = 'a'.repeat(32);
    const withToken = await open({ isSealed: true, token });
    notReady.push('the scheduler s0 is missing');
    for (const sealed of [server, withToken])
      expect(await ask(sealed, '/readyz')).toEqual({ status: 503, body: 'not ready\n' });
    expect(await ask(withToken, '/readyz', { authorization: `Bearer ${token}` })).toEqual({
      status: 503,
      body: 'the scheduler s0 is missing\n',
    });
    expect((await ask(withToken, '/metrics', { authorization: `Bearer ${token}` })).status).toBe(200);
  });

  it('refuses a web page that reaches it by another name for loopback', async () => {
    const server = await open();
    expect((await ask(server, '/status', { host: 'evil.example' })).status).toBe(421);
    expect((await ask(server, '/status', { host: 'localhost:9' })).status).toBe(200);
  });

  it.each([
    '/../../etc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/metrics/../../etc/passwd',
    '//etc/passwd',
    '/constructor',
    '/__proto__',
    '/toString',
    '/metrics%00',
    `/${'a'.repeat(4_000)}`,
  ])('has nothing at %s', async (path) => {
    expect((await ask(await open(), path)).status).toBe(404);
  });

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('does not allow %s', async (method) => {
    expect((await ask(await open(), '/status', {}, method)).status).toBe(405);
  });

  it('serves its pages, and no files', async () => {
    const server = await open();
    const paths = [
      '/../../../../etc/passwd',
      '/livez/../../../etc/passwd',
      '/..%2f..%2f..%2fetc/passwd',
      '/%2e%2e/%2e%2e/etc/passwd',
      '/..\\..\\etc\\passwd',
      '//etc/passwd',
      '/status%00.html',
      '/__proto__',
      '/constructor',
    ];
    for (const path of paths) {
      const { status, body } = await ask(server, path);
      expect({ path, status }).toStrictEqual({ path, status: 404 });
      expect(body).not.toMatch(/root:/);
    }
    expect((await ask(server, '/livez')).status).toBe(200);
  });

  it('closes the connection of a client that pipelines requests', async () => {
    const server = await open();
    const { port } = new URL(server.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => {});
    socket.resume();
    socket.write('GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(1_000));
    await new Promise((resolve) => socket.once('close', resolve));
    expect(Array.from(server.counters.times.all(), ({ ms }) => ms.count)).toEqual([1]);
    expect(await ask(server, '/livez')).toMatchObject({ status: 200 });
  });

  it('closes the connection of a client that does not speak HTTP, and continues', async () => {
    const server = await open();
    const port = Number(new URL(server.url).port);
    for (const bytes of ['\0\0\0', 'GET', 'x'.repeat(100_000), 'GET / HTTP/9.9\r\n\r\n']) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.end(bytes);
      await new Promise((resolve) => socket.on('close', resolve));
    }
    expect((await ask(server, '/livez')).status).toBe(200);
  });

  it.each(['0.0.0.0:0', '[::]:0', '10.1.2.3:0', '127.evil.example:0'])(
    'does not listen beyond loopback without a token: %s',
    async (bind) => {
      await expect(open({ bind })).rejects.toThrow('anyone there could read it');
    },
  );

  it('answers health probes while more silent connections than it keeps are open', async () => {
    const server = await open();
    const port = Number(new URL(server.url).port);
    const silent = Array.from({ length: 300 }, () => connect(port, '127.0.0.1').on('error', () => {}));
    await Promise.all(silent.map((socket) => once(socket, 'connect')));
    try {
      for (let i = 0; i < 20; i++) expect((await ask(server, '/livez')).status).toBe(200);
    } finally {
      for (const socket of silent) socket.destroy();
    }
  });

  it('listens beyond loopback with a token', async () => {
    const server = await open({ bind: '0.0.0.0:0', token: 'x'.repeat(16) });
    expect((await ask(server, '/status')).status).toBe(401);
  });
});
