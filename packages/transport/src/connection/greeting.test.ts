import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { Router } from 'zeromq';
import { probeEndpoint } from './greeting.js';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listen(onConnection: (socket: Socket) => void): Promise<string> {
  const server = createServer(onConnection);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `tcp://127.0.0.1:${(server.address() as { port: number }).port}`;
}

test('a ZeroMQ socket greets', async () => {
  const router = new Router();
  await router.bind('tcp://127.0.0.1:*');
  expect(await probeEndpoint(router.lastEndpoint!, 5_000)).toBe('greeting');
  router.close();
});

test('a listener that closes, sends something else or nothing, and an address without one differ', async () => {
  expect(await probeEndpoint(await listen((socket) => socket.destroy()), 5_000)).toBe('closed');
  expect(await probeEndpoint(await listen((socket) => socket.write('HTTP/1.1 400')), 5_000)).toBe('closed');
  expect(await probeEndpoint(await listen(() => {}), 500)).toBe('silence');
  expect(await probeEndpoint('tcp://127.0.0.1:1', 5_000)).toBe('refused');
  expect(await probeEndpoint('tcp://no-such-host.invalid:1', 5_000)).toBe('unreachable');
});
