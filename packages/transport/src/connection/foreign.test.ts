import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { incarnationOf } from '../identity/party-name.js';
import { generateKeys, keyRing } from '../keys/index.js';
import type { Mailbox } from './mailbox.js';
import { Inbox, Mailboxes } from './testing.fixture.js';

const mailboxes = new Mailboxes();
beforeEach(() => {
  mailboxes.logger.lines.length = 0;
});
afterEach(() => mailboxes.closeAll());

const keys = generateKeys();

function dial({ endpoint }: Mailbox, greeting: Buffer | string = ''): Socket {
  const { hostname, port } = new URL(endpoint);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {}).resume();
  socket.write(greeting);
  return socket;
}

function untilClosed(socket: Socket): Promise<void> {
  return new Promise((resolve) => void socket.once('close', () => resolve()));
}

describe.each([
  ['without keys', undefined],
  ['with keys', keys],
])('%s', (_, cluster) => {
  const ringOf = (role: 'central' | 'client') =>
    cluster && { keys: keyRing(cluster[role], 'test'), incarnation: incarnationOf(role, role) };

  test.each([
    ['version 1 of ZeroMQ’s protocol', Buffer.from('01000101', 'hex')],
    ['version 2', Buffer.from('ff00000000000000017f01050000', 'hex')],
    ['HTTP', 'GET / HTTP/1.1\r\n\r\n'],
  ])('a peer that speaks %s is disconnected and counted, and others are served', async (_, greeting) => {
    const central = await mailboxes.open({ ...ringOf('central'), limits: { handshakeTimeoutMs: 1_000 } });
    const client = await mailboxes.openClient(ringOf('client'));
    const inbox = new Inbox(central);
    await untilClosed(dial(central, greeting));
    client.send(0, client.directory.intern(`${central.endpoint}!*/0`), ['served']);
    await inbox.until(1);
    expect(inbox.bodies).toStrictEqual([['served']]);
    await expect.poll(() => mailboxes.logger.lines).toMatchObject([{ fields: { malformed: 1 } }]);
    expect(central.counters.rejections.malformed).toBe(1);
    expect(central.counters.inboundConnections).toBe(1);
  });
});

test('a silent peer times out, which is no sign of an intruder', async () => {
  const onRejected = vi.fn();
  const central = await mailboxes.open({ limits: { handshakeTimeoutMs: 200 }, onRejected });
  await untilClosed(dial(central));
  await expect.poll(() => central.counters.rejections.incomplete).toBe(1);
  expect(central.counters.rejections.malformed).toBe(0);
  expect(mailboxes.logger.lines).toMatchObject([
    { fields: { incomplete: 1 }, message: expect.stringMatching(/^connections ended before the handshake/) },
  ]);
  expect(onRejected).not.toHaveBeenCalled();
});

test('a peer that disconnects while another one is silent is not counted', async () => {
  // Time for the client's handshake on a busy machine.
  const central = await mailboxes.open({ limits: { handshakeTimeoutMs: 2_500 } });
  const { rejections } = central.counters;
  const inbox = new Inbox(central);
  const silent = dial(central);
  const client = await mailboxes.openClient();
  client.send(0, client.directory.intern(`${central.endpoint}!*/0`), ['heard']);
  await inbox.until(1);
  await client.close();
  await untilClosed(silent);
  await expect.poll(() => rejections.incomplete).toBe(1);
  await untilClosed(dial(central, 'foreign'));
  await expect.poll(() => rejections.malformed).toBeGreaterThan(0);
  expect(rejections.malformed).toBe(1);
});

test('one of two mailboxes of a process may have keys', async () => {
  const keyless = await mailboxes.open();
  const keyed = await mailboxes.open({ keys: keyRing(keys.central, 'test'), incarnation: 'c.one' });
  const inboxes = [new Inbox(keyless), new Inbox(keyed)];
  const clients = [
    await mailboxes.openClient(),
    await mailboxes.openClient({ keys: keyRing(keys.client, 'test') }),
  ];
  for (const [at, { endpoint }] of [keyless, keyed].entries()) {
    clients[at]!.send(0, clients[at]!.directory.intern(`${endpoint}!*/0`), ['heard']);
  }
  for (const inbox of inboxes) await inbox.until(1);
});
