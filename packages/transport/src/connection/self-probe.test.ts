import { afterEach, describe, expect, test } from 'vitest';
import { incarnationOf } from '../identity/party-name.js';
import { generateKeys, keyRing } from '../keys/index.js';
import { Inbox, Mailboxes } from './testing.fixture.js';

const mailboxes = new Mailboxes();
const cluster = generateKeys();

afterEach(async () => {
  await mailboxes.closeAll();
});

describe.each(['without keys', 'with keys'])('%s', (how) => {
  const open = (role: 'worker' | 'scheduler', id: string, advertise?: string) =>
    mailboxes.open({
      incarnation: incarnationOf(role, id),
      ...(how === 'with keys' && { keys: keyRing(cluster[role], 'test') }),
      ...(advertise !== undefined && { bind: 'tcp://127.0.0.1:0', advertise }),
    });

  test.each(['worker', 'scheduler'] as const)(
    'two processes at one address, each a %s, both detect it',
    async (role) => {
      const first = await open(role, 'first');
      expect(await first.probeOwnAddress()).toBe('itself');
      const second = await open(role, 'second', first.endpoint);
      expect(await second.probeOwnAddress()).toBe('another');
      expect(first.counters.refused.sameAddress).toBe(1);
      expect(await first.probeOwnAddress()).toBe('itself');
      expect(second.counters.refused.sameAddress).toBe(0);
    },
  );

  test('an address without a listener gives no result', async () => {
    const gone = await open('worker', 'gone');
    const { endpoint } = gone;
    await gone.close();
    const alone = await open('worker', 'alone', endpoint);
    expect(await alone.probeOwnAddress()).toBe(undefined);
  });

  test('a probe does not disturb mail', async () => {
    const [a, b] = [await open('worker', 'a'), await open('worker', 'b')];
    const atB = new Inbox(b);
    const looks = [b.probeOwnAddress(), a.probeOwnAddress()];
    a.send(0, a.directory.intern(`${b.process}/0`), ['hello']);
    await atB.until(1);
    expect(await Promise.all(looks)).toEqual(['itself', 'itself']);
    expect(b.counters.dropped.noSuchParty).toBe(0);
  });
});
