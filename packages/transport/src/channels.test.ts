import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { MessageHandled, MessageSent } from './channels.js';
import { Inbox, Mailboxes } from './connection/testing.fixture.js';

const watched: (readonly [string, (event: unknown) => void])[] = [];
const mailboxes = new Mailboxes();

afterEach(async () => {
  for (const [name, take] of watched.splice(0)) unsubscribe(name, take);
  await mailboxes.closeAll();
});

/** Collects messages published from now on. */
function watch<T>(name: string): T[] {
  const seen: T[] = [];
  const take = (event: unknown) => void seen.push(event as T);
  subscribe(name, take);
  watched.push([name, take]);
  return seen;
}

describe('the diagnostics channels', () => {
  test('publish each message at sender and receiver, with the same names', async () => {
    const sent = watch<MessageSent>('goshawk.message.sent');
    const handled = watch<MessageHandled>('goshawk.message.handled');
    const [a, b] = [await mailboxes.open(), await mailboxes.open()];
    const inbox = new Inbox(b, 3);
    const before = performance.now();
    a.send(1, b.addressOf(3), ['unknown there']);
    a.send(1, a.directory.intern(`${b.process}/3`), [7, 'hello']);
    await inbox.until(1);

    const ends = { from: a.process, fromIndex: 1, to: b.process, toIndex: 3, code: 7 };
    expect(sent).toEqual([ends]);
    expect(handled).toEqual([{ ...ends, startedAt: expect.any(Number) }]);
    expect(handled[0]!.startedAt).toBeGreaterThanOrEqual(before);
    expect(handled[0]!.startedAt).toBeLessThanOrEqual(performance.now());
  });

  test('publish a message whose handler throws, and deliver later ones', async () => {
    const handled = watch<MessageHandled>('goshawk.message.handled');
    const b = await mailboxes.open();
    b.register(0, () => {
      throw new Error('no');
    });
    const inbox = new Inbox(b, 1);
    b.send(0, b.addressOf(0), [1]);
    b.send(0, b.addressOf(1), [2]);
    await inbox.until(1);
    await setImmediate();
    expect(handled.map(({ toIndex, code }) => [toIndex, code])).toEqual([
      [0, 1],
      [1, 2],
    ]);
    expect(b.counters.handlerErrors).toBe(1);
  });
});
