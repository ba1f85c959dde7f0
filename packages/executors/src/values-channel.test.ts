import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { serveValues } from './values-channel.js';

const GROUP = '0123456789abcdef0123456789abcdef';

let root: string;
let folder: string;
let server: Server;
let socket: Socket;
let served: Promise<void>;
let parts: AsyncIterator<Buffer>;
let received: Buffer;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'goshawk-values-'));
  folder = join(root, 'values');
  mkdirSync(join(folder, GROUP), { recursive: true });
  server = createServer((other) => {
    served = serveValues(other, folder);
  });
  server.listen(join(root, 'socket'));
  await once(server, 'listening');
  socket = connect(join(root, 'socket'));
  await once(socket, 'connect');
  parts = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  received = Buffer.alloc(0);
});
afterEach(() => {
  socket.destroy();
  server.close();
  rmSync(root, { recursive: true });
});

function frame(body: unknown): Buffer {
  const json = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(json.length);
  return Buffer.concat([length, json]);
}

/** Returns the next answer, with its content. Throws at the end of the connection. */
async function answer(): Promise<{ body: Record<string, unknown>; content: Buffer }> {
  const json = await exactly((await exactly(4)).readUInt32LE(0));
  const body = JSON.parse(json.toString()) as Record<string, unknown>;
  return { body, content: await exactly(Number(body.bytes ?? 0)) };
}

async function exactly(count: number): Promise<Buffer> {
  while (received.length < count) {
    const { done, value } = await parts.next();
    if (done === true) throw new Error('the connection has ended');
    received = Buffer.concat([received, value]);
  }
  const taken = received.subarray(0, count);
  received = received.subarray(count);
  return taken;
}

function nameOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

it.each([0, 1, 65_536, 3_000_001])('a value of %s bytes is written and read again', async (bytes) => {
  const content = Buffer.alloc(bytes, 'abc');
  // A second request may arrive with the end of the content.
  const name = nameOf(content);
  socket.write(
    Buffer.concat([
      frame({ op: 'write', group: GROUP, bytes }),
      content,
      frame({ op: 'read', group: GROUP, name }),
    ]),
  );
  expect((await answer()).body).toEqual({ name });
  expect(readFileSync(join(folder, GROUP, name)).equals(content)).toBe(true);
  expect((await answer()).content.equals(content)).toBe(true);
  expect(readdirSync(join(folder, GROUP))).toEqual([name]);
});

it('a value that cannot be kept is an error, and the connection continues', async () => {
  const content = Buffer.alloc(100_000);
  const other = 'f'.repeat(32);
  socket.write(Buffer.concat([frame({ op: 'write', group: other, bytes: content.length }), content]));
  expect((await answer()).body.error).toMatch(/the calls of this job have ended/);
  const huge = 2 ** 50;
  socket.write(frame({ op: 'space' }));
  const { free } = (await answer()).body;
  expect(free).toBeGreaterThanOrEqual(0);
  expect(free).toBeLessThan(huge);
  socket.write(frame({ op: 'read', group: GROUP, name: 'a'.repeat(64) }));
  expect((await answer()).body.error).toMatch(/the file of the value is gone/);
  expect(existsSync(join(folder, other))).toBe(false);
  expect(readdirSync(join(folder, GROUP))).toEqual([]);
});

it('content that breaks off leaves no file', async () => {
  socket.write(
    Buffer.concat([frame({ op: 'write', group: GROUP, bytes: 1_000_000 }), Buffer.alloc(500_000)]),
  );
  socket.end();
  await once(socket, 'close');
  await served;
  expect(readdirSync(join(folder, GROUP))).toEqual([]);
});

it('a link in place of a value is not followed', async () => {
  const name = 'b'.repeat(64);
  writeFileSync(join(root, 'secret'), 'secret');
  symlinkSync(join(root, 'secret'), join(folder, GROUP, name));
  socket.write(frame({ op: 'read', group: GROUP, name }));
  expect((await answer()).body).toEqual({ error: expect.stringContaining('gone') });
});

it.each([
  ['a group that is a path', { op: 'read', group: '../../etc', name: 'a'.repeat(64) }],
  ['a name that is a path', { op: 'read', group: GROUP, name: '../jobs' }],
  ['the list of jobs', { op: 'read', group: GROUP, name: 'jobs' }],
  ['a negative size', { op: 'write', group: GROUP, bytes: -1 }],
  ['a size that is no number', { op: 'write', group: GROUP, bytes: '10' }],
  ['another request', { op: 'delete', group: GROUP, name: 'a'.repeat(64) }],
  ['no object', 'null'],
  ['no JSON', '{'],
  ['a long request', { op: 'space', more: 'x'.repeat(10_000) }],
])('%s ends the connection', async (_, request) => {
  writeFileSync(join(folder, GROUP, 'jobs'), 'a-1\n');
  socket.write(frame(request));
  await expect(answer()).rejects.toThrow('the connection has ended');
  await served;
  expect(readdirSync(join(folder, GROUP))).toEqual(['jobs']);
});
