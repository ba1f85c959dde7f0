import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type HttpConnectionLimits, HttpConnections } from './http-connections.js';

const MIB = 1024 * 1024;
/** More than the kernel buffers for a connection of loopback. */
const LARGE = 16 * MIB;
const LIMITS: HttpConnectionLimits = {
  quietMax: 3,
  requestsPerClientMax: 4,
  requestsMax: 6,
  unreadBytesPerClientMax: 40 * MIB,
  unreadBytesMax: 64 * MIB,
};

let now = 0;
let server: Server;
let connections: HttpConnections;
const sockets: Socket[] = [];
const answered: string[] = [];

beforeEach(async () => {
  now = 0;
  answered.length = 0;
  connections = new HttpConnections(LIMITS, () => now);
  server = connections.watch(
    createServer((request, response) => {
      const [, client = '', what = ''] = request.url!.split('/');
      answered.push(request.url!);
      if (!connections.admit(request, response, client)) response.writeHead(429).end();
      else if (what === 'large') response.end(Buffer.alloc(LARGE));
      else if (what !== 'never') response.end(what);
    }),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server.close().closeAllConnections();
});

/** Sends a request and reads nothing. */
async function ask(client: string, what: string): Promise<Socket & { isOpen: boolean }> {
  const before = answered.length;
  const socket = Object.assign(connect((server.address() as AddressInfo).port, '127.0.0.1'), {
    isOpen: true,
  });
  sockets.push(socket);
  socket.on('error', () => {}).on('close', () => (socket.isOpen = false));
  socket.pause();
  socket.write(`GET /${client}/${what} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  await expect.poll(() => answered.length).toBe(before + 1);
  return socket;
}

/** Only a client that reads notices that its connection is closed. */
const openAfterRead = (all: readonly (Socket & { isOpen: boolean })[]) =>
  expect.poll(() => {
    for (const socket of all) socket.resume();
    return all.map(({ isOpen }) => isOpen);
  });

test('an answer that is not read is dropped after the time that it takes at the lowest rate', async () => {
  const slow = await ask('a', 'large');
  connections.check();
  now = 15_000 + LARGE / 64 - 5_000;
  connections.check();
  expect(connections.size).toBe(1);
  now += 6_000;
  connections.check();
  await expect.poll(() => connections.size).toBe(0);
  await openAfterRead([slow]).toEqual([false]);
});

test('a client that reads keeps its connection, however long it takes in total', async () => {
  const socket = await ask('a', 'large');
  let read = 0;
  socket.on('data', (bytes) => (read += bytes.length));
  for (; read < LARGE; now += 14_000) {
    connections.check();
    // The server sees progress only once the kernel has passed on what it buffers.
    const enough = Math.min(LARGE, read + 4 * MIB);
    socket.resume();
    await expect.poll(() => read).toBeGreaterThanOrEqual(enough);
    socket.pause();
  }
  expect(socket.isOpen).toBe(true);
});

test('of a client with too many unread bytes, the connections that have waited longest are closed, and no others', async () => {
  const other = await ask('b', 'large');
  const own: (Socket & { isOpen: boolean })[] = [];
  for (let i = 0; i < 3; i++) {
    now++;
    own.push(await ask('a', 'large'));
  }
  connections.check();
  await openAfterRead([other, ...own]).toEqual([true, false, true, true]);
});

test('one answer of each client may exceed its limit', async () => {
  connections = new HttpConnections({ ...LIMITS, unreadBytesPerClientMax: 1, unreadBytesMax: 1 }, () => now);
  connections.watch(server);
  const socket = await ask('a', 'large');
  connections.check();
  await openAfterRead([socket]).toEqual([true]);
});

test('idle connections of one client close none of another', async () => {
  const first = await ask('b', 'hello');
  for (let i = 0; i < 5; i++) {
    now += 1_000;
    await ask('a', 'hello');
  }
  await expect.poll(() => connections.size).toBe(1 + LIMITS.quietMax);
  await openAfterRead([first]).toEqual([true]);
});

test('a client can have only its share of the requests in progress, and gets it back', async () => {
  const own: Socket[] = [];
  for (let i = 0; i < LIMITS.requestsPerClientMax; i++) own.push(await ask('a', 'never'));
  const status = async (client: string, what: string) => {
    const socket = await ask(client, what);
    const [bytes] = (await once(socket.resume(), 'data')) as [Buffer];
    return Number(bytes.toString().split(' ')[1]);
  };
  expect(await status('a', 'hello')).toBe(429);
  expect(await status('b', 'hello')).toBe(200);
  own[0]!.destroy();
  await expect.poll(() => status('a', 'hello')).toBe(200);
});
