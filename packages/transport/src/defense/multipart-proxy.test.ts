import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { Dealer } from 'zeromq';
import type { Mailbox } from '../connection/mailbox.js';
import { Inbox, Mailboxes } from '../connection/testing.fixture.js';
import { incarnationOf } from '../identity/party-name.js';
import { generateKeys, keyRing } from '../keys/index.js';
import { CAN_PROXY } from './multipart-proxy.js';

const mailboxes = new Mailboxes();
const sockets: Dealer[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.close();
  await mailboxes.closeAll();
  mailboxes.logger.lines.length = 0;
});

const keys = generateKeys();

function dealerTo({ endpoint }: Mailbox, isKeyed: boolean): Dealer {
  const [own] = keyRing(keys.client, 'test').generations;
  const curve = {
    curvePublicKey: own.curve.publicKey,
    curveSecretKey: own.curve.secretKey,
    curveServerKey: own.peers.central.curve,
  };
  const dealer = new Dealer({ linger: 0, routingId: '*!evil', ...(isKeyed && curve) });
  sockets.push(dealer);
  dealer.connect(endpoint);
  return dealer;
}

function linesOf(cause: string): number {
  return mailboxes.logger.lines.filter(({ fields }) => fields.cause === cause).length;
}

async function cluster(isKeyed: boolean): Promise<{ central: Mailbox; client: Mailbox }> {
  const ring = (role: 'central' | 'client') => (isKeyed ? { keys: keyRing(keys[role], 'test') } : {});
  const central = await mailboxes.open({ incarnation: incarnationOf('central', 'c'), ...ring('central') });
  const client = await mailboxes.openClient({ incarnation: incarnationOf('client', 'k'), ...ring('client') });
  central.register(0, (from, body) => void central.send(0, from, ['answer', body]));
  return { central, client };
}

/** Repeats a request until it is answered, because messages in flight are lost when connections are cut. */
async function expectAnswered({ central, client }: { central: Mailbox; client: Mailbox }, inbox: Inbox) {
  const count = inbox.received.length + 1;
  const to = client.directory.intern(`${central.endpoint}!*/0`);
  const asking = setInterval(() => client.send(0, to, ['ask']), 100);
  await inbox.until(count);
  clearInterval(asking);
}

/** Speaks ZMTP without keys, and begins a message that has no end. */
async function endless({ endpoint }: Mailbox): Promise<Socket> {
  const socket = connect(Number(endpoint.split(':').at(-1)), '127.0.0.1');
  socket.on('error', () => {}).resume();
  await once(socket, 'connect');
  const greeting = Buffer.alloc(64);
  greeting.set([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3]);
  greeting.write('NULL', 12);
  const type = Buffer.from('\x05READY\x0bSocket-Type\0\0\0\x06DEALER');
  socket.write(Buffer.concat([greeting, Buffer.from([4, type.length]), type]));
  const parts = Buffer.concat(Array.from({ length: 1_000 }, () => Buffer.from([1, 1, 65])));
  const more = (): void => {
    while (!socket.destroyed && socket.write(parts));
  };
  socket.on('drain', more);
  more();
  return socket;
}

function untilClosed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
}

describe.runIf(CAN_PROXY)('after a peer has sent a multipart message', () => {
  for (const isKeyed of [false, true]) {
    test(`its connections are closed, and others continue (${isKeyed ? 'with' : 'without'} keys)`, async () => {
      const both = await cluster(isKeyed);
      const inbox = new Inbox(both.client);
      await expectAnswered(both, inbox);
      const evil = dealerTo(both.central, isKeyed);
      await evil.send(['two', 'parts']);
      await expect.poll(() => linesOf('guard')).toBe(1);
      await expectAnswered(both, inbox);
      for (let round = 1; round <= 2; round++) {
        const before = both.central.counters.refused.malformed;
        void evil.send(Array.from({ length: 10_000 }, () => 'part')).catch(() => {});
        await expect.poll(() => both.central.counters.refused.malformed).toBeGreaterThan(before);
        await expectAnswered(both, inbox);
      }
      // The guard cuts only this connection, not all of them. (The test's memory may also trip the breaker.)
      expect(both.central.counters.cuts).toBeLessThanOrEqual(2);
    });
  }

  test('a peer that starts an endless message is disconnected at its first part', async () => {
    const both = await cluster(false);
    const inbox = new Inbox(both.client);
    await dealerTo(both.central, false).send(['two', 'parts']);
    await expect.poll(() => linesOf('guard')).toBe(1);
    await expectAnswered(both, inbox);
    for (let i = 0; i < 5; i++) await untilClosed(await endless(both.central));
    await expectAnswered(both, inbox);
    expect(both.central.counters.refused.malformed).toBeGreaterThanOrEqual(5);
  });

  test('large mail of others arrives completely in both directions, and so do the last messages of a peer that disconnects', async () => {
    const both = await cluster(false);
    const { central, client } = both;
    const inbox = new Inbox(client);
    await dealerTo(central, false).send(['two', 'parts']);
    await expect.poll(() => linesOf('guard')).toBe(1);
    await expectAnswered(both, inbox);
    const to = client.directory.intern(`${central.endpoint}!*/0`);
    const long = 'x'.repeat(4_000_000);
    for (let i = 0; i < 5; i++) {
      const before = inbox.received.length;
      client.send(0, to, [i, long]);
      await inbox.until(before + 1);
    }
    const heard: unknown[] = [];
    central.unregister(0);
    central.register(0, (_, body) => heard.push(body));
    client.send(0, to, ['last']);
    await client.close();
    await expect.poll(() => heard).toContainEqual(['last']);
  });
});
