import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { Router } from 'zeromq';
import { greets } from './greeting.js';

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
  expect(await greets(router.lastEndpoint!, 5_000)).toBe(true);
  router.close();
});

test('who closes at once, says something else, says nothing or does not listen has not greeted', async () => {
  expect(await greets(await listen((socket) => socket.destroy()), 5_000)).toBe(false);
  expect(await greets(await listen((socket) => socket.write('HTTP/1.1 400')), 5_000)).toBe(false);
  expect(await greets(await listen(() => {}), 50)).toBe(false);
  expect(await greets('tcp://127.0.0.1:1', 5_000)).toBe(false);
});
