import { sign } from 'node:crypto';
import { type AddressInfo, createServer } from 'node:net';
import type { Role } from '@goshawk/core';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { curveKeyPair, Dealer, Router } from 'zeromq';
import { incarnationOf } from '../identity/party-name.js';
import {
  addClient,
  addMember,
  type ClusterKeys,
  generateKeys,
  type KeyFile,
  keyRing,
  removeKey,
  rotate,
  updated,
} from '../keys/index.js';
import { completeLimits } from '../limits.js';
import { forEachEvent } from '../sockets/monitor.js';
import { routerOptions } from '../sockets/socket-options.js';
import type { Mailbox, MailboxOptions } from './mailbox.js';
import { openTap } from './tap.fixture.js';
import { Inbox, Mailboxes, packFrame } from './testing.fixture.js';

const keys = generateKeys();
const others = generateKeys();
let mailboxes = new Mailboxes();
const sockets: { close(): unknown }[] = [];
let drawn = 0;

beforeEach(() => {
  mailboxes = new Mailboxes();
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.close();
  await mailboxes.closeAll();
});

function open(
  role: Role,
  cluster: ClusterKeys = keys,
  options: Partial<MailboxOptions> = {},
): Promise<Mailbox> {
  const incarnation = incarnationOf(role, `i${++drawn}`);
  const ring = { keys: keyRing(cluster[role], 'test'), incarnation, ...options };
  return role === 'client' ? mailboxes.openClient(ring) : mailboxes.open(ring);
}

/** Name of a party at this endpoint with this role. */
function party(endpoint: string, role: Role): string {
  return `${endpoint}!${incarnationOf(role, '*')}/0`;
}

function send(from: Mailbox, to: string, body: readonly unknown[]): void {
  from.send(0, from.directory.intern(to), body);
}

/** A socket with the client's key that claims to be `routingId`. */
function impostor(endpoint: string, to: Role, routingId: string, as: Role = 'client'): Dealer {
  const [own] = keyRing(keys[as], 'test').generations;
  const socket = new Dealer({
    routingId,
    linger: 0,
    curvePublicKey: own.curve.publicKey,
    curveSecretKey: own.curve.secretKey,
    curveServerKey: own.peers[to].curve,
  });
  sockets.push(socket);
  socket.connect(endpoint);
  return socket;
}

describe('with keys', () => {
  test('processes of one cluster exchange messages, and know the roles of each other', async () => {
    const central = await open('central');
    const worker = await open('worker');
    const client = await open('client');
    const [atCentral, atWorker, atClient] = [central, worker, client].map((mailbox) => new Inbox(mailbox));
    send(worker, party(central.endpoint, 'central'), ['register']);
    await atCentral!.until(1);
    expect(atCentral!.received).toStrictEqual([{ from: `${worker.process}/0`, body: ['register'] }]);
    send(central, `${worker.process}/0`, ['welcome']);
    await atWorker!.until(1);
    send(client, `${central.endpoint}!*/0`, ['describe']);
    await atCentral!.until(2);
    const from = central.directory.intern(atCentral!.received[1]!.from!);
    expect(central.directory.roleOf(from)).toBe('client');
    central.send(0, from, ['described']);
    await atClient!.until(1);
    expect(atClient!.received).toStrictEqual([{ from: `${central.process}/0`, body: ['described'] }]);
  });

  test('a client with the endpoint of a scheduler detects its role', async () => {
    const scheduler = await open('scheduler');
    const client = await open('client');
    const atScheduler = new Inbox(scheduler);
    send(client, `${scheduler.endpoint}!*/0`, ['describe']);
    await atScheduler.until(1);
    expect(atScheduler.bodies).toStrictEqual([['describe']]);
  });

  test('a client with keys learns that the process has none', async () => {
    const central = await mailboxes.open();
    const authFailure = vi.fn();
    const client = await open('client', keys, { onAuthFailure: authFailure });
    send(client, `${central.endpoint}!*/0`, ['let me in']);
    await expect.poll(() => authFailure.mock.calls).toContainEqual([central.endpoint, 'keyUnknown']);
  });

  test('a client sends no message that waited while its key was rejected, also once the key is accepted', async () => {
    const scheduler = await open('scheduler', others);
    const inbox = new Inbox(scheduler);
    const to = party(scheduler.endpoint, 'scheduler');
    const authFailure = vi.fn();
    const client = await open('client', keys, { onAuthFailure: authFailure });
    send(client, to, ['waits']);
    await expect.poll(() => authFailure.mock.calls).toContainEqual([scheduler.endpoint, 'keyRefused']);
    expect(client.send(0, client.directory.intern(to), ['rejected'])).toBe('unreachable');
    expect(client.counters.dropped.unreachable).toBe(2);
    client.rekey(keyRing(others.client, 'test'));
    send(client, to, ['accepted']);
    await inbox.until(1);
    expect(inbox.bodies).toStrictEqual([['accepted']]);
  });

  test('a port that a proxy closes for lack of a backend does not count as a rejected key', async () => {
    const proxy = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const endpoint = `tcp://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const authFailure = vi.fn();
    const client = await open('client', keys, { onAuthFailure: authFailure });
    send(client, `${endpoint}!*/0`, ['let me in']);
    await expect.poll(() => authFailure.mock.calls.at(0)).toEqual([endpoint, 'closed']);
    proxy.close();
  });

  test('a process that completes no handshake in time is slow, which says nothing about keys', async () => {
    const hung = createServer(() => {});
    await new Promise<void>((resolve) => hung.listen(0, '127.0.0.1', resolve));
    const endpoint = `tcp://127.0.0.1:${(hung.address() as AddressInfo).port}`;
    const authFailure = vi.fn();
    const limits = { handshakeTimeoutMs: 100 };
    const client = await open('client', keys, { onAuthFailure: authFailure, limits });
    send(client, `${endpoint}!*/0`, ['let me in']);
    await expect.poll(() => authFailure.mock.calls.at(0)).toEqual([endpoint, 'slow']);
    await client.close(0);
    hung.close();
  });

  test('a client without a key needs one if a live process closes each of its handshakes', async () => {
    // A process with keys behaves so if it is faster than the client.
    const strict = createServer((socket) => {
      socket.on('error', () => {});
      socket.end(Buffer.from([0xff]));
    });
    await new Promise<void>((resolve) => strict.listen(0, '127.0.0.1', resolve));
    const endpoint = `tcp://127.0.0.1:${(strict.address() as AddressInfo).port}`;
    const authFailure = vi.fn();
    const client = await mailboxes.openClient({ onAuthFailure: authFailure });
    send(client, `${endpoint}!*/0`, ['let me in']);
    await expect
      .poll(() => authFailure.mock.calls.at(0), { timeout: 5_000 })
      .toEqual([endpoint, 'keyNeeded']);
    await client.close(0);
    strict.close();
  });

  test('a peer without a key, with the key of another cluster or for another process gets nothing, and is counted', async () => {
    const central = await open('central');
    const friend = await open('worker');
    const inbox = new Inbox(central);
    const authFailure = vi.fn();
    const keyless = await mailboxes.openClient({ onAuthFailure: authFailure });
    const outsider = await open('client', others, { onAuthFailure: authFailure });
    send(keyless, `${central.endpoint}!*/0`, ['let me in']);
    send(outsider, `${central.endpoint}!*/0`, ['let me in']);
    await expect.poll(() => central.counters.rejections.noKey).toBeGreaterThan(0);
    await expect.poll(() => central.counters.rejections.wrongServerKey).toBeGreaterThan(0);
    await expect.poll(() => authFailure.mock.calls).toContainEqual([central.endpoint, 'keyNeeded']);
    await expect.poll(() => authFailure.mock.calls).toContainEqual([central.endpoint, 'keyRefused']);
    const pair = curveKeyPair();
    const knowsCentral = new Dealer({
      linger: 0,
      curvePublicKey: pair.publicKey,
      curveSecretKey: pair.secretKey,
      curveServerKey: keyRing(keys.client, 'test').generations[0].peers.central.curve,
    });
    sockets.push(knowsCentral);
    knowsCentral.connect(central.endpoint);
    void knowsCentral.send('let me in').catch(() => {});
    await expect.poll(() => central.counters.rejections.unknownKey).toBeGreaterThan(0);
    send(friend, party(central.endpoint, 'central'), ['sound']);
    await inbox.until(1);
    expect(inbox.bodies).toStrictEqual([['sound']]);
    const lines = mailboxes.logger.lines.filter(({ message }) => message.startsWith('rejected connections'));
    expect(lines).toHaveLength(1);
  });

  test('the exit of central is noticed by accepted peers, and not by refused ones', async () => {
    const missed: string[] = [];
    let onMissed = (): void => {};
    const watching = (who: string) => ({
      onDisconnected: () => {
        missed.push(who);
        onMissed();
      },
    });
    const central = await open('central');
    const inbox = new Inbox(central);
    let onAuthFailure = (): void => {};
    const isUnwelcome = new Promise<void>((resolve) => {
      onAuthFailure = resolve;
    });
    const outsider = await open('worker', others, { ...watching('outsider'), onAuthFailure });
    send(outsider, party(central.endpoint, 'central'), ['let me in']);
    await isUnwelcome;
    const member = await open('worker', keys, watching('member'));
    new Inbox(member);
    send(member, party(central.endpoint, 'central'), ['hello']);
    await inbox.until(1);
    // A peer that has never sent anything is not reported as lost.
    const answers = new Inbox(member, 1);
    central.send(0, central.directory.intern(`${member.process}/1`), ['welcome']);
    await answers.until(1);
    expect(missed).toEqual([]);
    const isMissed = new Promise<void>((resolve) => {
      onMissed = resolve;
    });
    await central.close();
    await isMissed;
    expect(missed).toEqual(['member']);
  });

  test('the key of a client does not admit a worker, under any name', async () => {
    const central = await open('central');
    const worker = await open('worker');
    const inbox = new Inbox(central);
    send(worker, party(central.endpoint, 'central'), ['register']);
    await inbox.until(1);
    const frame = packFrame('*', [[0, 0, ['register']]]);
    const names = [
      'tcp://127.0.0.1:1!w.x',
      worker.process,
      `${worker.process}#${'A'.repeat(86)}`,
      'client:me!x',
      `client:me!x#${'A'.repeat(86)}`,
      'x',
    ];
    for (const name of names) await impostor(central.endpoint, 'central', name).send(frame);
    await expect.poll(() => central.counters.refused.unknownSender).toBe(names.length);
    // A client key signs the client's name, and not the name of a worker.
    const client = await open('client');
    send(client, `${central.endpoint}!*/0`, ['submit']);
    await inbox.until(2);
    expect(inbox.received.map(({ from }) => from)).toStrictEqual([
      `${worker.process}/0`,
      `${client.process}/0`,
    ]);
  });

  test('a signature shown to one process cannot be replayed to another', async () => {
    const [victim, thief] = [await open('worker'), await open('worker')];
    const scheduler = await open('scheduler');
    const shown: string[] = [];
    const { directory } = thief;
    const atThief = new Inbox(thief);
    send(scheduler, `${thief.process}/0`, ['run']);
    await atThief.until(1);
    shown.push(directory.process(scheduler.process)!.routingId!);
    await impostor(victim.endpoint, 'worker', shown[0]!, 'worker').send(packFrame('*', [[0, 0, ['run']]]));
    await expect.poll(() => victim.counters.refused.unknownSender).toBe(1);
  });

  test('a peer that claims the name of another role receives none of its mail', async () => {
    const central = await open('central');
    const scheduler = await open('scheduler');
    const atCentral = new Inbox(central);
    const atScheduler = new Inbox(scheduler);
    send(central, `${scheduler.process}/0`, ['first']);
    await atScheduler.until(1);
    // A worker that claims central's endpoint.
    const liar = await open('worker', keys, { advertise: central.endpoint });
    send(liar, `${scheduler.process}/0`, ['I am here now']);
    await atScheduler.until(2);
    send(scheduler, `${central.process}/0`, ['enlist']);
    await atCentral.until(1);
    expect(atCentral.bodies).toStrictEqual([['enlist']]);
  });

  test('a process with the name of a scheduler must have the key of a scheduler', async () => {
    const worker = await open('worker');
    const liar = await open('worker');
    const atLiar = new Inbox(liar);
    send(worker, party(liar.endpoint, 'scheduler'), ['ask']);
    await expect.poll(() => liar.counters.rejections.wrongServerKey).toBeGreaterThan(0);
    send(worker, party(liar.endpoint, 'worker'), ['steal']);
    await atLiar.until(1);
    expect(atLiar.bodies).toStrictEqual([['steal']]);
  });

  test('no peer may connect without an authentication handler', async () => {
    const ring = keyRing(keys.central, 'test');
    const router = new Router({
      ...routerOptions(completeLimits(), { ring, zapDomain: 'nobody answers for it' }),
      linger: 0,
    });
    sockets.push(router);
    await router.bind('tcp://127.0.0.1:0');
    const heard: string[] = [];
    void forEachEvent(router, ({ type }) => heard.push(type));
    const client = impostor(router.lastEndpoint!, 'central', 'x');
    void client.send('anything').catch(() => {});
    await expect.poll(() => heard.some((type) => type.startsWith('handshake:error'))).toBe(true);
    expect(heard).not.toContain('handshake');
  });

  test('a mailbox accepts only the keys of its role', async () => {
    const ring = keyRing(keys.client, 'test');
    await expect(mailboxes.open({ keys: ring, incarnation: 'w.x' })).rejects.toThrow(
      'these are keys of a client, but "w.x" has another role',
    );
  });
});

describe('rotation', () => {
  const prepared = rotate(keys);
  const switched = rotate(prepared.files);
  const finished = rotate(switched.files);

  test('takes three steps', () => {
    expect([prepared.step, switched.step, finished.step]).toStrictEqual(['prepared', 'switched', 'finished']);
    expect(finished.files.worker.generations.map(({ number }) => number)).toStrictEqual([2]);
  });

  test.each([
    ['steady', 'prepared', keys, prepared.files],
    ['prepared', 'switched', prepared.files, switched.files],
    ['switched', 'finished', switched.files, finished.files],
  ])('a process that is %s and one that is %s exchange messages', async (_, __, before, after) => {
    for (const [one, other] of [
      [before, after],
      [after, before],
    ] as const) {
      const central = await open('central', one);
      const worker = await open('worker', other);
      const client = await open('client', other);
      const [atCentral, atWorker, atClient] = [central, worker, client].map((mailbox) => new Inbox(mailbox));
      send(worker, party(central.endpoint, 'central'), ['register']);
      send(client, `${central.endpoint}!*/0`, ['describe']);
      await atCentral!.until(2);
      for (const { from } of atCentral!.received) send(central, from!, ['answer']);
      await Promise.all([atWorker!.until(1), atClient!.until(1)]);
    }
  });

  test('forgotten keys are rejected', async () => {
    const central = await open('central', finished.files);
    const worker = await open('worker', keys);
    send(worker, party(central.endpoint, 'central'), ['register']);
    await expect.poll(() => central.counters.rejections.wrongServerKey).toBeGreaterThan(0);
    expect(central.counters.received.frames).toBe(0);
  });
});

describe('the individual key of a client', () => {
  const { files, client: file } = addClient(keys, { name: 'ci', rights: ['submit'] });
  const own = () => mailboxes.openClient({ keys: keyRing(file, 'test'), incarnation: `i${++drawn}` });

  test('proves its name, which no other key can claim', async () => {
    const central = await open('central', files);
    const inbox = new Inbox(central);
    const client = await own();
    const other = await open('client', files);
    expect(client.process).toMatch(/^client:ci\./);
    send(client, party(central.endpoint, 'central'), ['mine']);
    send(other, party(central.endpoint, 'central'), ['for all']);
    await inbox.until(2);
    const keysOf = Object.fromEntries(
      inbox.received.map(({ from, body }) => [
        String(body),
        central.clientKeyOf(central.directory.find(from!)!),
      ]),
    );
    expect(keysOf).toEqual({ mine: expect.objectContaining({ name: 'ci', rights: ['submit'] }) });
    // Signed by the shared key, under the name of an individual key.
    const [all] = keyRing(files.client, 'test').generations;
    const process = `client:ci.${'x'.repeat(21)}!i1`;
    const said = Buffer.from(`goshawk.introduction/1\n${process}\ncentral\n`);
    const signature = sign(null, said, all.signing).toString('base64url');
    void impostor(central.endpoint, 'central', `${process}#${signature}`)
      .send(packFrame('c.*', [[0, 0, ['false']]]))
      .catch(() => {});
    await expect.poll(() => central.counters.refused.unknownSender).toBeGreaterThan(0);
    expect(inbox.received).toHaveLength(2);
  });

  test('that is revoked loses its connection at once; others continue, and new ones are accepted', async () => {
    const central = await open('central', files);
    const inbox = new Inbox(central);
    const [client, other] = [await own(), await open('worker', files)];
    send(client, party(central.endpoint, 'central'), ['before']);
    send(other, party(central.endpoint, 'central'), ['before']);
    await inbox.until(2);
    const revoked = removeKey(files, 'ci')!;
    central.rekey(keyRing(revoked.central, 'test'));
    await expect.poll(() => central.counters.inboundConnections).toBeLessThan(2);
    send(client, party(central.endpoint, 'central'), ['after, revoked']);
    await expect.poll(() => central.counters.rejections.unknownKey).toBeGreaterThan(0);
    send(other, party(central.endpoint, 'central'), ['after']);
    await inbox.until(3);
    const next = addClient(revoked, { name: 'next', rights: [] });
    central.rekey(keyRing(next.files.central, 'test'));
    const newcomer = await mailboxes.openClient({ keys: keyRing(next.client, 'test'), incarnation: 'i' });
    send(newcomer, party(central.endpoint, 'central'), ['new']);
    await inbox.until(4);
    expect(inbox.bodies.flat()).toEqual(['before', 'before', 'after', 'new']);
  });

  test('keys are replaced step by step while processes run, and the old ones are invalid after the last step', async () => {
    const central = await open('central', files);
    const worker = await open('worker', files);
    const client = await open('client', files);
    const [atCentral, atWorker, atClient] = [new Inbox(central), new Inbox(worker), new Inbox(client)];
    const leaked = await open('worker', files);
    let now = files;
    for (let step = 1; step <= 3; step++) {
      now = rotate(now).files;
      // Processes get the new key file one after another, as when an operator copies it.
      for (const [mailbox, role] of [
        [central, 'central'],
        [worker, 'worker'],
        [client, 'client'],
      ] as const) {
        mailbox.rekey(keyRing(now[role], 'test'));
        const inboxes = [atCentral, atWorker, atClient];
        const before = inboxes.map(({ received }) => received.length);
        await expect
          .poll(() => {
            // Messages in flight on a broken connection are lost and sent again.
            send(worker, party(central.endpoint, 'central'), [step]);
            send(client, party(central.endpoint, 'central'), [step]);
            for (const { process } of [worker, client]) send(central, `${process}/0`, [step]);
            return inboxes.every(({ received }, i) => received.length > before[i]!);
          })
          .toBe(true);
      }
    }
    const known = central.counters.rejections.wrongServerKey + central.counters.rejections.unknownKey;
    send(leaked, party(central.endpoint, 'central'), ['leaked']);
    await expect
      .poll(() => central.counters.rejections.wrongServerKey + central.counters.rejections.unknownKey)
      .toBeGreaterThan(known);
    expect(atCentral.bodies).not.toContainEqual(['leaked']);
    expect(() => central.rekey(keyRing(now.worker, 'test'))).toThrow(RangeError);
  });
});

describe('the key of one process', () => {
  const first = addMember(keys, { role: 'worker', name: 'w7' });
  const second = addMember(first.files, { role: 'worker', name: 'w8' });
  const third = addMember(second.files, { role: 'scheduler', name: 's0' });
  const { files } = third;
  const [w7, w8, s0] = [first.member, second.member, third.member].map((file) => updated(file, files)!);

  function member(file: KeyFile, options: Partial<MailboxOptions> = {}): Promise<Mailbox> {
    const incarnation = incarnationOf(file.role, `i${++drawn}`, file.name);
    return mailboxes.open({ keys: keyRing(file, 'test'), incarnation, ...options });
  }

  test('connects it with shared and other individual keys, in both directions', async () => {
    const [central, shared, one, other] = [
      await open('central', files),
      await open('worker', files),
      await member(w7!),
      await member(w8!),
    ];
    expect(one.process).toMatch(/!w\.w7\./);
    const inboxes = [central, shared, one, other].map((mailbox) => new Inbox(mailbox));
    for (const worker of [shared, one, other]) send(worker, party(central.endpoint, 'central'), ['register']);
    await inboxes[0]!.until(3);
    for (const { from } of inboxes[0]!.received) send(central, from!, ['welcome']);
    send(one, `${other.process}/0`, ['steal']);
    send(other, `${shared.process}/0`, ['steal']);
    send(shared, `${one.process}/0`, ['steal']);
    for (const inbox of inboxes.slice(1)) await inbox.until(2);
    for (const inbox of inboxes.slice(1)) expect(inbox.bodies).toContainEqual(['steal']);
  });

  test('a client finds a scheduler with its own key, by its address alone and by its name', async () => {
    const scheduler = await member(s0!);
    const atScheduler = new Inbox(scheduler);
    const byAddress = await open('client', files);
    const byName = await open('client', files);
    const atClient = new Inbox(byAddress);
    send(byAddress, `${scheduler.endpoint}!*/0`, ['describe']);
    await atScheduler.until(1);
    send(scheduler, atScheduler.received[0]!.from!, ['described']);
    await atClient.until(1);
    send(byName, `${scheduler.process}/0`, ['submit']);
    await atScheduler.until(2);
  });

  test('that the key file of a client does not list is the reason that the client reports', async () => {
    const scheduler = await member(s0!);
    const failures: (string | undefined)[] = [];
    const onAuthFailure = (endpoint: string, why: string | undefined) => failures.push(`${endpoint} ${why}`);
    const client = await open('client', keys, { onAuthFailure });
    expect(client.send(0, client.directory.intern(`${scheduler.process}/0`), ['submit'])).toBe('unreachable');
    expect(failures).toEqual([`${scheduler.endpoint} keyUnlisted`]);
  });

  test('revoked while processes run cuts off its process both ways, and no other; a new one is admitted', async () => {
    const central = await open('central', files);
    const scheduler = await member(s0!);
    const [honest, leaked] = [await member(w7!), await member(w8!)];
    const [atCentral, atHonest, atLeaked] = [central, honest, leaked].map((mailbox) => new Inbox(mailbox));
    for (const worker of [honest, leaked]) send(worker, party(central.endpoint, 'central'), ['before']);
    for (const worker of [honest, leaked]) send(scheduler, `${worker.process}/0`, ['run']);
    await Promise.all([atCentral!.until(2), atHonest!.until(1), atLeaked!.until(1)]);
    const revoked = removeKey(files, 'w8')!;
    central.rekey(keyRing(revoked.central, 'test'));
    scheduler.rekey(keyRing(updated(s0!, revoked)!, 'test'));
    honest.rekey(keyRing(updated(w7!, revoked)!, 'test'));
    expect(scheduler.send(0, scheduler.directory.intern(`${leaked.process}/0`), ['run'])).toBe('unreachable');
    send(leaked, party(central.endpoint, 'central'), ['after, revoked']);
    send(leaked, `${honest.process}/0`, ['steal']);
    await expect.poll(() => central.counters.rejections.unknownKey).toBeGreaterThan(0);
    await expect.poll(() => honest.counters.rejections.unknownKey).toBeGreaterThan(0);
    // Messages in flight on a broken connection are lost and sent again.
    await expect
      .poll(() => {
        send(scheduler, `${honest.process}/0`, ['run again']);
        send(honest, party(central.endpoint, 'central'), ['after']);
        return [atHonest!, atCentral!].map(({ bodies }) => bodies.flat().at(-1));
      })
      .toEqual(['run again', 'after']);
    expect(atLeaked!.bodies).toEqual([['run']]);
    const next = addMember(revoked, { role: 'worker', name: 'w8' });
    central.rekey(keyRing(next.files.central, 'test'));
    const replaced = await member(next.member);
    send(replaced, party(central.endpoint, 'central'), ['replaced']);
    await expect.poll(() => atCentral!.bodies).toContainEqual(['replaced']);
    expect(atCentral!.bodies).not.toContainEqual(['after, revoked']);
  });

  test('proves one name: no other key, and not the shared one, can claim it or its address', async () => {
    const central = await open('central', files);
    const inbox = new Inbox(central);
    const victim = await member(w7!);
    send(victim, party(central.endpoint, 'central'), ['register']);
    await inbox.until(1);
    const frame = packFrame('c.*', [[0, 0, ['false']]]);
    const claims: [KeyFile, string][] = [
      [w8!, victim.process],
      [w8!, `${victim.endpoint}!w.w7.x`],
      [w8!, `${victim.endpoint}!w.x`],
      [w8!, `${victim.endpoint}!s.w8.x`],
      [w8!, `${victim.endpoint}!s.s0.x`],
      [w8!, 'client:w8.x!x'],
      [w8!, 'client:x!x'],
      [files.worker, `${victim.endpoint}!w.w7.x`],
      [files.client, `${victim.endpoint}!w.w7.x`],
    ];
    for (const [file, name] of claims) {
      const [own] = keyRing(file, 'test').generations;
      const said = Buffer.from(`goshawk.introduction/1\n${name}\ncentral\n`);
      const routingId = `${name}#${sign(null, said, own.signing).toString('base64url')}`;
      const socket = new Dealer({
        routingId,
        linger: 0,
        curvePublicKey: own.curve.publicKey,
        curveSecretKey: own.curve.secretKey,
        curveServerKey: own.peers.central.curve,
      });
      sockets.push(socket);
      socket.connect(central.endpoint);
      await socket.send(frame);
    }
    await expect.poll(() => central.counters.refused.unknownSender).toBe(claims.length);
    // A worker that claims another worker's address under its own name does not supersede that worker.
    const liar = await member(w8!, { advertise: victim.endpoint });
    send(liar, party(central.endpoint, 'central'), ['register']);
    await inbox.until(2);
    send(victim, party(central.endpoint, 'central'), ['heartbeat']);
    await inbox.until(3);
    expect(inbox.received.map(({ from }) => from)).toEqual(
      [victim, liar, victim].map(({ process }) => `${process}/0`),
    );
    const at = (mailbox: Mailbox) => central.directory.intern(`${mailbox.process}/0`);
    expect(['w7', 'w8'].map((name) => central.permitsName(at(victim), name))).toEqual([true, false]);
    expect(['w7', 'w8'].map((name) => central.permitsName(at(liar), name))).toEqual([false, true]);
  });

  test('is that of the process’s name', async () => {
    await expect(member(w7!, { incarnation: 'w.w8.x' })).rejects.toThrow('does not name its key, w7');
    const worker = await member(w7!);
    expect(() => worker.rekey(keyRing(w8!, 'test'))).toThrow(RangeError);
  });
});

describe('in transit', () => {
  const SECRET = 'the launch code is 00000000';

  test.each([
    ['nothing is readable with keys', keys, false],
    ['everything is without', undefined, true],
  ])('%s', async (_, cluster, isReadable) => {
    const keyed = (role: Role) => (cluster ? { keys: keyRing(cluster[role], 'test') } : {});
    const central = await mailboxes.open({ ...keyed('central'), incarnation: 'c.one' });
    const relay = await openTap(central.endpoint);
    sockets.push(relay);
    const client = await mailboxes.openClient({ ...keyed('client'), incarnation: 'two' });
    const [atCentral, atClient] = [new Inbox(central), new Inbox(client)];
    send(client, `${relay.endpoint}!*/0`, [SECRET]);
    await atCentral.until(1);
    send(central, atCentral.received[0]!.from!, [SECRET]);
    await atClient.until(1);
    const captured = relay.captured();
    expect(captured.length).toBeGreaterThan(2 * SECRET.length);
    for (const text of [SECRET, client.process]) expect(captured.includes(text), text).toBe(isReadable);
  });
});
