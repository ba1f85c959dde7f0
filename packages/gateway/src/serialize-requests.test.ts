import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { LIMITS } from './limits.js';
import { serializeRequests } from './serialize-requests.js';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function serve(
  handle: RequestListener,
  arrive?: Parameters<typeof serializeRequests>[1],
): Promise<number> {
  const server = createServer(serializeRequests(handle, arrive));
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Sends all requests in one write. */
async function ask(port: number, paths: readonly string[]): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`).join(''));
  return socket;
}

async function answers(socket: Socket, count: number): Promise<string[]> {
  let text = '';
  for await (const chunk of socket) {
    text += String(chunk);
    const found = text.match(/answer to \/\S+/g) ?? [];
    if (found.length >= count) return found;
  }
  throw new Error(`the connection ended after ${text}`);
}

test('pipelined requests of a connection start one by one, and are answered in order', async () => {
  let atWork = 0;
  let atWorkMost = 0;
  const port = await serve(async ({ url }, response) => {
    atWorkMost = Math.max(atWorkMost, ++atWork);
    await turn();
    atWork--;
    response.end(`answer to ${url}\n`);
  });
  const paths = Array.from({ length: LIMITS.pipelinedMax + 1 }, (_, i) => `/${i}`);
  expect(await answers(await ask(port, paths), paths.length)).toEqual(
    paths.map((path) => `answer to ${path}`),
  );
  expect(atWorkMost).toBe(1);
});

test('each of fifty connections starts at most one request per turn', async () => {
  const begun: (() => void)[] = [];
  const port = await serve(({ url }, response) => {
    if (url === '/other') response.end('answer to /other\n');
    else begun.push(() => response.end(`answer to ${url}\n`));
  });
  const flood = Array.from({ length: LIMITS.pipelinedMax }, (_, i) => `/${i}`);
  const floods = await Promise.all(Array.from({ length: 50 }, () => ask(port, flood)));
  await expect.poll(() => begun.length, { timeout: 30_000 }).toBe(floods.length);
  expect(await answers(await ask(port, ['/other']), 1)).toEqual(['answer to /other']);
  expect(begun).toHaveLength(floods.length);
  for (const socket of floods) socket.destroy();
});

test('a connection with endless requests is closed, and no more of them start', async () => {
  let begun = 0;
  const port = await serve(() => {
    begun++;
  });
  const socket = await ask(
    port,
    Array.from({ length: 2_000 }, () => '/'),
  );
  await new Promise((resolve) => socket.once('close', resolve));
  expect(begun).toBe(1);
});

test('requests begin when it is their turn, and those of clients that have disconnected never', async () => {
  const begins: (() => Promise<void>)[] = [];
  const begun: (string | undefined)[] = [];
  const port = await serve(
    ({ url }, response) => {
      begun.push(url);
      response.end(`answer to ${url}\n`);
    },
    async (_, begin) => void begins.push(begin),
  );
  const sockets = await Promise.all([ask(port, ['/0']), ask(port, ['/1'])]);
  await expect.poll(() => begins.length).toBe(2);
  sockets[0].destroy();
  await turn();
  await expect
    .poll(async () => {
      for (const begin of begins.splice(0)) await begin();
      return begun;
    })
    .toEqual(['/1']);
});
