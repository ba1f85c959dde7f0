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
