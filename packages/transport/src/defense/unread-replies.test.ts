import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { Dealer } from 'zeromq';
import type { Mailbox } from '../connection/mailbox.js';
import { Inbox, Mailboxes, packFrame } from '../connection/testing.fixture.js';
import { incarnationOf } from '../identity/party-name.js';
import { CAN_PROXY } from './multipart-proxy.js';
import { closeUnread, type ReadConnection } from './unread-connections.js';
import { sendQueues, UnreadReplies } from './unread-replies.js';

const KIB = 1024;
const mailboxes = new Mailboxes();
const sockets: Dealer[] = [];
const timers: NodeJS.Timeout[] = [];
afterEach(async () => {
  for (const timer of timers.splice(0)) clearInterval(timer);
  for (const socket of sockets.splice(0)) socket.close();
  await mailboxes.closeAll();
  mailboxes.logger.lines.length = 0;
});

function linesOf(cause: string): number {
  return mailboxes.logger.lines.filter(({ fields }) => fields.cause === cause).length;
}

/** Opens connections of clients that ask again and again, and never read. */
function neverRead({ endpoint }: Mailbox, count: number): NodeJS.Timeout {
  for (let i = 0; i < count; i++) {
    const routingId = `client:e${i}!a`;
    const dealer = new Dealer({ linger: 0, routingId, receiveHighWaterMark: 1, receiveBufferSize: 4_096 });
    sockets.push(dealer);
    dealer.connect(endpoint);
  }
  const frame = packFrame('*', [[0, 0, ['ask']]]);
  const ask = () => {
    for (const dealer of sockets) if (dealer.writable) void dealer.send(frame).catch(() => {});
  };
  const asking = setInterval(ask, 20);
  timers.push(asking);
  return asking;
}

function undelivered({ endpoint }: Mailbox): number {
  const queues = sendQueues(Number(endpoint.split(':').at(-1))) ?? new Map<string, number>();
  return [...queues.values()].reduce((sum, bytes) => sum + bytes, 0);
}

// Reason: only Linux shows the bytes that its kernel has not delivered.
describe.runIf(CAN_PROXY && process.platform === 'linux')('clients that do not read their replies', () => {
  test.each([
    [40 * KIB, 100],
    [400 * KIB, 20],
  ])('of %d bytes, on %d connections: a proxy bounds them, and others are answered', async (bytes, count) => {
    const limits = { repliesBytesMax: 4_096 * KIB, replyQueueBytesMax: 1_024 * KIB };
    const central = await mailboxes.open({ incarnation: incarnationOf('central', 'c'), limits });
    const client = await mailboxes.openClient();
    const inbox = new Inbox(client);
    central.register(0, (from, body) => {
      const isReader = (body as string[])[0] === 'read';
      central.send(0, from, ['answer', isReader ? 'short' : Buffer.alloc(bytes)]);
    });
    const to = client.directory.intern(`${central.endpoint}!*/0`);
    timers.push(setInterval(() => client.send(0, to, ['read']), 20));
    await inbox.until(1);
    const asking = neverRead(central, count);
    await expect.poll(() => linesOf('guard'), { timeout: 60_000 }).toBe(1);
    await inbox.until(inbox.received.length + 20);
    expect(central.counters.cuts).toBe(1);
    clearInterval(asking);
    // Each may keep one connection, of which the kernel buffers up to 4 MiB.
    await expect.poll(() => undelivered(central), { timeout: 60_000 }).toBeLessThan(8_192 * KIB);
    await inbox.until(inbox.received.length + 20);
  });
});

test('replies are unread until each connection with undelivered bytes has had none for a moment', () => {
  const event = fc.oneof(
    fc.record({
      kind: fc.constant('send' as const),
      peer: fc.nat(3),
      bytes: fc.integer({ min: 1, max: 400 }),
    }),
    fc.record({
      kind: fc.constant('read' as const),
      peer: fc.nat(3),
      bytes: fc.integer({ min: 1, max: 800 }),
    }),
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 3_000 }) }),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 200 }), (events) => {
      let now = 0;
      let toldAt: number | undefined;
      const waiting = new Map<string, number>();
      const unread = new UnreadReplies(
        8_000 * KIB,
        () => new Map([...waiting].filter(([, bytes]) => bytes > 0)),
        () => {
          toldAt = now;
        },
        () => now,
      );
      for (const each of events) {
        if (each.kind === 'wait') {
          now += each.ms;
          unread.isFull();
          continue;
        }
        const peer = `${each.peer}`;
        const held = waiting.get(peer) ?? 0;
        if (each.kind === 'read') waiting.set(peer, Math.max(0, held - each.bytes * KIB));
        else if (!unread.isFull(each.bytes * KIB)) {
          waiting.set(peer, held + each.bytes * KIB);
          unread.sent(each.bytes * KIB);
        }
        if (toldAt !== undefined) return;
        const total = [...waiting.values()].reduce((sum, bytes) => sum + bytes, 0);
        // Bytes in flight on each connection count as read.
        expect(unread.bytes).toBeGreaterThanOrEqual(total - 4 * 16 * KIB);
        expect(total).toBeLessThan(8_000 * KIB + 400 * KIB + 4 * 16 * KIB);
      }
    }),
  );
});

test('clients that read are never reported, and one that stops is', () => {
  let now = 0;
  let told = 0;
  let held = 0;
  const queues = () => new Map(held > 0 ? [['reader', held] as const] : []);
  const unread = new UnreadReplies(
    8_000 * KIB,
    queues,
    () => told++,
    () => now,
  );
  for (let i = 0; i < 1_000; i++) {
    expect(unread.isFull(200 * KIB)).toBe(false);
    unread.sent(200 * KIB);
    held = i % 3 === 0 ? 200 * KIB : 0;
    now += 25;
  }
  expect(told).toBe(0);
  unread.sent(2_000 * KIB);
  held = 2_000 * KIB;
  for (let i = 0; i < 100; i++) {
    now += 1_000;
    unread.isFull();
  }
  expect(told).toBeGreaterThan(0);
});

test('connections that hold too much are closed until each client and all of them are within their limits', () => {
  const connection = fc.record({ client: fc.constantFrom('a', 'b', 'c', 'd'), bytes: fc.nat(100) });
  fc.assert(
    fc.property(fc.array(connection), fc.integer({ min: 50, max: 200 }), fc.nat(400), (drawn, own, more) => {
      const limits = { unreadBytesPerClientMax: own, unreadBytesMax: own + more };
      const open = new Set<ReadConnection>();
      for (const { client, bytes } of drawn) {
        const one: ReadConnection = {
          client,
          readBytes: 0,
          queuedBytes: bytes,
          heldBytes: bytes,
          unread: undefined,
          destroy: () => open.delete(one),
        };
        open.add(one);
      }
      closeUnread([...open], limits, 0);
      const held = (client: string) => [...open].filter((one) => one.client === client && one.heldBytes > 0);
      const sums = ['a', 'b', 'c', 'd'].map((client) =>
        held(client).reduce((sum, one) => sum + one.heldBytes, 0),
      );
      for (const [i, client] of ['a', 'b', 'c', 'd'].entries())
        expect(sums[i]! <= own || held(client).length === 1).toBe(true);
      const total = sums.reduce((sum, bytes) => sum + bytes, 0);
      expect(total <= own + more || ['a', 'b', 'c', 'd'].every((client) => held(client).length <= 1)).toBe(
        true,
      );
      // Nobody reads for the time that is allowed.
      closeUnread([...open], limits, 60_000);
      expect([...open].every((one) => one.heldBytes === 0)).toBe(true);
    }),
  );
});
