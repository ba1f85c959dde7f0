import dns from 'node:dns/promises';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, expect, test, vi } from 'vitest';
import { Inbox, Mailboxes } from './testing.fixture.js';

const mailboxes = new Mailboxes();

afterEach(async () => {
  await mailboxes.closeAll();
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

/**
 * Expects that messages to a mailbox under a host name arrive; looks the name up every 5 ms until then.
 * @returns the endpoint
 */
async function findsByName(name: string): Promise<string> {
  const peer = await mailboxes.open();
  const sender = await mailboxes.open({ limits: { redialIntervalMs: 5 } });
  const inbox = new Inbox(peer);
  const endpoint = peer.endpoint.replace('127.0.0.1', name);
  sender.send(0, sender.directory.intern(`${endpoint}!*/0`), ['found']);
  await inbox.until(1);
  expect(inbox.bodies).toStrictEqual([['found']]);
  return endpoint;
}

test('a peer whose host name has a new address is found there', async () => {
  const answer = (address: string) => [{ address, family: 4 }];
  vi.spyOn(dns as unknown as { lookup: () => Promise<object[]> }, 'lookup')
    .mockResolvedValueOnce(answer('127.0.0.2'))
    .mockRejectedValueOnce(new Error('the name server is away'))
    .mockResolvedValue(answer('127.0.0.1'));
  syncBuiltinESMExports();
  const byName = await findsByName('moved.example');
  expect(mailboxes.logger.lines.map(({ message }) => message)).toContainEqual(
    `${byName}: no address found for host "moved.example"; check the name, or give its IP address`,
  );
});

test('a peer is found if it connects at the moment when its name is looked up again', async () => {
  const standStill = (ms: number): void => {
    for (const end = performance.now() + ms; performance.now() < end; );
  };
  vi.spyOn(dns as unknown as { lookup: () => Promise<object[]> }, 'lookup').mockImplementation(() => {
    // ZeroMQ connects during this pause, and the timer of the next check is due before Node processes the event.
    setImmediate(standStill, 50);
    return Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
  });
  syncBuiltinESMExports();
  await findsByName('peer.example');
});

test('a peer that listens at only one of the addresses of its host is found', async () => {
  const answer = ['127.0.0.2', '::1', '127.0.0.1'].map((address) => ({
    address,
    family: address.includes(':') ? 6 : 4,
  }));
  vi.spyOn(dns as unknown as { lookup: () => Promise<object[]> }, 'lookup').mockImplementation(() =>
    Promise.resolve([...answer]),
  );
  syncBuiltinESMExports();
  await findsByName('several.example');
});
