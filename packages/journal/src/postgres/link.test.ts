import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { Link } from './link.js';
import { parseJournalUrl } from './url.js';

afterEach(() => vi.restoreAllMocks());

/** A server that refuses each connection with the current message, as PostgreSQL does. */
async function refusingServer() {
  const server = createServer((socket: Socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      const fields = Buffer.from(`SFATAL\0C53300\0M${refusing.message}\0\0`);
      const head = Buffer.alloc(5);
      head.write('E');
      head.writeInt32BE(fields.length + 4, 1);
      socket.end(Buffer.concat([head, fields]));
    });
  });
  const refusing = { message: '', url: '', close: () => server.close() };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  refusing.url = `postgres://ann:x@127.0.0.1:${(server.address() as { port: number }).port}/db`;
  return refusing;
}

test('an outage is described by its present problem, and not more often than every 5 s', async () => {
  const server = await refusingServer();
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const told: (string | undefined)[] = [];
  const link = new Link(parseJournalUrl(server.url), 'test');
  link.listen({ away: (problem) => told.push(problem) });
  server.message = 'the database system is shutting down';
  const asked = link.ask('select 1').catch(({ message }: Error) => message);
  await expect.poll(() => told).toEqual(['the database system is shutting down']);
  server.message = 'too many connections for role "ann"';
  await expect.poll(() => link.problem).toBe(server.message);
  expect(told).toHaveLength(1);
  now = 5_000;
  await expect.poll(() => told.at(-1)).toBe('too many connections for role "ann"');
  server.message = 'the database system is starting up';
  await expect.poll(() => link.problem).toBe(server.message);
  expect(told).toHaveLength(2);
  await link.close();
  expect(await asked).toBe('the connection was closed');
  server.close();
});
