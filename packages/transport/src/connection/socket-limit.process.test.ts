import { afterEach, expect, test } from 'vitest';
import { Dealer } from 'zeromq';
import { incarnationOf } from '../identity/party-name.js';
import { generateKeys, keyRing, rotate } from '../keys/index.js';
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

test('a process that has no socket left to monitor the one on which it listens again tries again', async () => {
  const before = generateKeys();
  const limits = { socketsMax: 60, reconnectIntervalMs: 5, reconnectIntervalMaxMs: 20, logIntervalMs: 1 };
  const scheduler = await mailboxes.open({
    keys: keyRing(before.scheduler, 'test'),
    incarnation: incarnationOf('scheduler', 'a'),
    limits,
  });
  const now = rotate(rotate(rotate(before).files).files).files;
  const cannotListen = () =>
    mailboxes.logger.lines.filter(({ message }) => message.startsWith('cannot listen again')).length;
  // The socket and its monitor leave places for two; while one of them is taken, only the socket can be opened.
  takeSockets();
  scheduler.rekey(keyRing(now.scheduler, 'test'));
  await expect
    .poll(
      () => {
        if (taken.length % 2 === 0) takeSockets();
        else if (taken.length > 0) taken.pop()!.close();
        return cannotListen();
      },
      { interval: 1 },
    )
    .toBeGreaterThan(5);
  for (const socket of taken.splice(0)) socket.close();
  const worker = await mailboxes.open({
    keys: keyRing(now.worker, 'test'),
    incarnation: incarnationOf('worker', 'b'),
    limits,
  });
  const inbox = new Inbox(scheduler);
  worker.send(0, worker.directory.intern(`${scheduler.process}/0`), ['after']);
  await inbox.until(1);
});
