import { afterEach, expect, test } from 'vitest';
import { Dealer, Router } from 'zeromq';
import { newCounters } from '../counters.js';
import { incarnationOf } from '../identity/party-name.js';
import { generateKeys, keyRing, rotate } from '../keys/index.js';
import { DEFAULT_LIMITS } from '../limits.js';
import { ThrottledLog } from '../log.js';
import { RejectedConnections } from '../sockets/rejected-connections.js';
import { RouterSocket } from '../sockets/router-socket.js';
import { Inbox, Mailboxes } from './testing.fixture.js';

// A separate process: the limit applies to the ZeroMQ context, of which a process has one.
const mailboxes = new Mailboxes();
const taken: Dealer[] = [];

afterEach(async () => {
  for (const socket of taken.splice(0)) socket.close();
  await mailboxes.closeAll();
});

/** Takes all sockets that ZeroMQ still has. */
function takeSockets(): void {
  try {
    for (;;) taken.push(new Dealer({ linger: 0 }));
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe('EMFILE');
  }
}

test('keys that change while no sockets are left are used once there are some', async () => {
  const before = generateKeys();
  const limits = { socketsMax: 60, reconnectIntervalMs: 5, reconnectIntervalMaxMs: 20 };
  const scheduler = await mailboxes.open({
    keys: keyRing(before.scheduler, 'test'),
    incarnation: incarnationOf('scheduler', 'a'),
    limits,
  });
  const worker = await mailboxes.open({
    keys: keyRing(before.worker, 'test'),
    incarnation: incarnationOf('worker', 'b'),
    limits,
  });
  const inbox = new Inbox(worker);
  const to = scheduler.directory.intern(`${worker.process}/0`);
  scheduler.send(0, to, ['before']);
  await inbox.until(1);
  const now = rotate(rotate(rotate(before).files).files).files;
  takeSockets();
  scheduler.rekey(keyRing(now.scheduler, 'test'));
  takeSockets();
  worker.rekey(keyRing(now.worker, 'test'));
  await expect
    .poll(() => mailboxes.logger.lines.map(({ message }) => message).join('\n'))
    .toContain(`cannot connect to ${worker.endpoint} now: `);
  for (const socket of taken.splice(0)) socket.close();
  await expect
    .poll(() => {
      scheduler.send(0, to, ['after']);
      return inbox.bodies.length;
    })
    .toBeGreaterThan(1);
});

test('a listening socket reports at once that no socket is left to monitor it', async () => {
  const { logger } = mailboxes;
  const counters = newCounters();
  // The mailbox sets the limit of sockets.
  await mailboxes.open({ limits: { socketsMax: 60 } });
  const router = new Router({ linger: 0 });
  takeSockets();
  const reader = {
    receiver: () => 0,
    limits: DEFAULT_LIMITS,
    counters,
    rejected: new RejectedConnections(counters, logger, 60_000),
    log: new ThrottledLog(logger, 0),
    reading: { isIdle: false },
  };
  expect(() => new RouterSocket(router).serve(reader)).toThrow('Too many open');
  router.close();
});

test('a process that has no socket left to check its own address finds no other process there', async () => {
  const mailbox = await mailboxes.open({ limits: { socketsMax: 60 } });
  takeSockets();
  expect(await mailbox.probeOwnAddress()).toBeUndefined();
  taken.pop()!.close();
  await expect.poll(() => mailbox.probeOwnAddress()).toBeUndefined();
});
