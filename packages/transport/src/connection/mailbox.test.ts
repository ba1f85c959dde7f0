import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Address, PROTOCOL_VERSION } from '@goshawk/core';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Dealer } from 'zeromq';
import { AddressInUseError, InvalidEndpointError, UnresolvableHostError } from '../errors.js';
import { pack, unpack } from '../frames/msgpack.js';
import { Inbox, Mailboxes, packFrame } from './testing.fixture.js';

const mailboxes = new Mailboxes();

afterEach(async () => {
  await mailboxes.closeAll();
});

describe('two processes', () => {
  test('a message arrives with the name of its sender, which can be answered', async () => {
    const [a, b] = [await mailboxes.open(), await mailboxes.open()];
    const [atA, atB] = [new Inbox(a, 3), new Inbox(b, 7)];
    const toB = a.directory.intern(`${b.process}/7`);

    expect(a.send(3, toB, ['hello', 1, { x: null }])).toBe('accepted');
    await atB.until(1);
    expect(atB.received).toStrictEqual([{ from: `${a.process}/3`, body: ['hello', 1, { x: null }] }]);

    b.send(7, b.directory.intern(`${a.process}/3`), ['back']);
    await atA.until(1);
    expect(atA.received).toStrictEqual([{ from: `${b.process}/7`, body: ['back'] }]);
  });

  test('messages of one turn are one frame, in order, with unchanged bodies', async () => {
    const [a, b] = [await mailboxes.open(), await mailboxes.open()];
    const atB = [new Inbox(b, 0), new Inbox(b, 1)];
    const to = [a.directory.intern(`${b.process}/0`), a.directory.intern(`${b.process}/1`)];
    const body = [0];
    for (let i = 0; i < 100; i++) {
      body[0] = i;
      a.send(i % 3, to[i % 2] as Address, body);
    }
    await Promise.resolve();
    a.send(0, to[0] as Address, [100]);
    await atB[0]?.until(51);
    await atB[1]?.until(50);
    expect(atB[0]?.bodies).toStrictEqual(Array.from({ length: 51 }, (_, i) => [2 * i]));
    expect(atB[1]?.bodies).toStrictEqual(Array.from({ length: 50 }, (_, i) => [2 * i + 1]));
    expect(a.counters.sent).toMatchObject({ messages: 101, frames: 1 });
    expect(b.counters.received).toStrictEqual(a.counters.sent);

    a.send(0, to[0] as Address, [101]);
    await nextTurn();
    a.send(0, to[0] as Address, [102]);
    await atB[0]?.until(53);
    expect(a.counters.sent.frames).toBeGreaterThan(1);
  });

  test('a delayable message leaves with the next one to its peer, in order, or after the delay', async () => {
    const [a, b] = [await mailboxes.open(), await mailboxes.open()];
    const atB = new Inbox(b);
    const toB = a.directory.intern(`${b.process}/0`);
    a.send(0, toB, ['may wait'], true);
    await nextTurn();
    a.send(0, toB, ['goes now']);
    await atB.until(2);
    expect(atB.bodies).toStrictEqual([['may wait'], ['goes now']]);
    expect(a.counters.sent).toMatchObject({ messages: 2, frames: 1 });

    a.send(0, toB, ['may wait again'], true);
    await atB.until(3);
    a.send(0, toB, ['waits to the end'], true);
    await a.close();
    await atB.until(4);
  });

  test('an endpoint known only by configuration is reached in any incarnation', async () => {
    const [a, b] = [await mailboxes.open(), await mailboxes.open()];
    const atB = new Inbox(b);
    a.send(0, a.directory.intern(`${b.endpoint}!*/0`), ['to whom it may concern']);
    await atB.until(1);
    expect(atB.bodies).toStrictEqual([['to whom it may concern']]);
  });

  test('mail sent before the peer listens arrives once it does', async () => {
    const [a, early] = [await mailboxes.open(), await mailboxes.open()];
    const { endpoint } = early;
    await early.close();
    a.send(0, a.directory.intern(`${endpoint}!*/0`), ['early']);
    const late = await mailboxes.open({ bind: endpoint });
    const atLate = new Inbox(late);
    await atLate.until(1);
    expect(atLate.bodies).toStrictEqual([['early']]);
  });

  test('mail that waits for central counts as waiting until it is sent', async () => {
    const [a, early] = [await mailboxes.open(), await mailboxes.open({ incarnation: 'c.early' })];
    const { endpoint } = early;
    await early.close();
    const toCentral = a.directory.intern(`${endpoint}!c.*/0`);
    expect(a.isWaiting(toCentral)).toBe(false);
    a.send(0, toCentral, ['early']);
    expect(a.isWaiting(toCentral)).toBe(true);
    await nextTurn();
    expect(a.isWaiting(toCentral)).toBe(true);
    const late = await mailboxes.open({ bind: endpoint, incarnation: 'c.late' });
    const [atA, atLate] = [new Inbox(a), new Inbox(late)];
    await atLate.until(1);
    late.send(0, late.directory.intern(`${a.process}/0`), ['here I am']);
    await atA.until(1);
    expect(a.isWaiting(toCentral)).toBe(false);
    expect(a.isWaiting(-5 as Address)).toBe(false);
  });

  test.each([
    ['a worker', 'w.0', 'central', ['c.1', 's.1']],
    ['central', 'c.0', 'schedulers', ['s.1', 'w.1']],
  ])(
    'of %s (%s) are notified of a broken connection by name, once, and only for %s',
    async (_, own, _watched, peers) => {
      const broken: (string | undefined)[] = [];
      let onBroken = (): void => {};
      const a = await mailboxes.open({
        incarnation: own,
        onDisconnected: (parties) => {
          broken.push(...parties.map((party) => a.directory.nameOf(party)));
          onBroken();
        },
      });
      const atA = new Inbox(a);
      const [watched, unwatched] = [
        await mailboxes.open({ incarnation: peers[0]! }),
        await mailboxes.open({ incarnation: peers[1]! }),
      ];
      for (const other of [watched, unwatched]) {
        const atOther = new Inbox(other);
        a.send(0, a.directory.intern(`${other.process}/0`), ['hello']);
        await atOther.until(1);
        for (const index of [0, 1]) other.send(index, other.directory.intern(`${a.process}/0`), ['hello']);
      }
      await atA.until(4);
      await unwatched.close();
      const isReported = new Promise<void>((resolve) => {
        onBroken = resolve;
      });
      await watched.close();
      await isReported;
      expect(broken.sort()).toEqual([`${watched.process}/0`, `${watched.process}/1`]);
    },
  );

  test('connect by host name', async () => {
    const a = await mailboxes.open();
    const b = await mailboxes.open({ bind: 'tcp://localhost:0' });
    expect(b.endpoint).toMatch(/^tcp:\/\/localhost:[0-9]+$/);
    const [atA, atB] = [new Inbox(a), new Inbox(b)];
    a.send(0, a.directory.intern(`${b.process}/0`), ['by name']);
    b.send(0, b.directory.intern(`${a.process}/0`), ['by number']);
    await Promise.all([atA.until(1), atB.until(1)]);
    expect([atA.bodies, atB.bodies]).toStrictEqual([[['by number']], [['by name']]]);
  });

  test('a large message arrives, and one that is too large is refused at the sender', async () => {
    const limits = { frameBytesMax: 2_000_000 };
    const [a, b] = [await mailboxes.open({ limits }), await mailboxes.open({ limits })];
    const atB = new Inbox(b);
    const to = a.directory.intern(`${b.process}/0`);
    expect(a.send(0, to, ['x'.repeat(1_900_000)])).toBe('accepted');
    expect(a.send(0, to, ['x'.repeat(2_000_000)])).toBe('tooLarge');
    expect(a.send(0, to, [new Map()])).toBe('unencodable');
    await atB.until(1);
    expect((atB.bodies[0] as string[])[0]).toHaveLength(1_900_000);
    expect(a.counters.dropped).toMatchObject({ tooLarge: 1, unencodable: 1 });
  });
});

describe('parties of one process', () => {
  test('reach each other in a later turn, share no object, and use no socket', async () => {
    const a = await mailboxes.open();
    const inbox = new Inbox(a, 1);
    const body = [{ list: [1] }];
    a.send(0, a.addressOf(1), body);
    a.send(0, a.addressOf(1), ['second']);
    expect(inbox.received).toStrictEqual([]);
    await inbox.until(2);
    expect(inbox.received[0]).toStrictEqual({ from: `${a.process}/0`, body });
    expect((inbox.bodies[0] as unknown[])[0]).not.toBe(body[0]);
    await nextTurn();
    expect(a.counters.local).toMatchObject({ messages: 2, frames: 1 });
    expect(a.counters.sent.frames).toBe(0);
    expect(a.counters.outboundConnections).toBe(0);
  });

  test('that answer each other forever do not block anything else', async () => {
    const a = await mailboxes.open();
    let isOver = false;
    for (const index of [0, 1]) {
      a.register(index, (from, body) => {
        if (!isOver) a.send(index, from, body as unknown[]);
      });
    }
    a.send(0, a.addressOf(1), ['ball']);
    await new Promise((resolve) => setTimeout(resolve, 1));
    isOver = true;
  });

  test('mail for an earlier incarnation is not delivered', async () => {
    const a = await mailboxes.open();
    const inbox = new Inbox(a);
    a.send(0, a.directory.intern(`${a.endpoint}!former/0`), ['late']);
    a.send(0, a.addressOf(0), ['now']);
    await inbox.until(1);
    expect(inbox.bodies).toStrictEqual([['now']]);
    expect(a.counters.refused.wrongTarget).toBe(1);
  });
});

describe('clients', () => {
  test('bind no port, and get replies over their connection', async () => {
    const [server, client] = [await mailboxes.open(), await mailboxes.openClient()];
    server.register(0, (from, body) => server.send(0, from, ['echo', body]));
    const inbox = new Inbox(client, 5);
    client.send(5, client.directory.intern(`${server.endpoint}!*/0`), ['hello']);
    await inbox.until(1);
    expect(client.endpoint).toMatch(/^client:/);
    expect(inbox.received).toStrictEqual([{ from: `${server.process}/0`, body: ['echo', ['hello']] }]);
    expect(server.counters.outboundConnections).toBe(0);
  });

  test('that have disconnected are only counted', async () => {
    const [server, client] = [await mailboxes.open(), await mailboxes.openClient()];
    const atServer = new Inbox(server);
    client.send(0, client.directory.intern(`${server.endpoint}!*/0`), ['hello']);
    await atServer.until(1);
    await client.close();
    const gone = server.directory.intern(`${client.process}/0`);
    await untilTrue(() => {
      server.send(0, gone, ['too late']);
      return server.counters.dropped.unreachable > 0;
    });
  });

  test('cannot be reached by a process to which they are not connected', async () => {
    const [server, one, two] = [
      await mailboxes.open(),
      await mailboxes.openClient(),
      await mailboxes.openClient(),
    ];
    expect(one.send(0, one.directory.intern(`${two.process}/0`), ['?'])).toBe('unreachable');
    server.send(0, server.directory.intern(`${one.process}/0`), ['?']);
    await untilTrue(() => server.counters.dropped.unreachable === 1);
  });

  test('one that does not read loses its replies, and others get theirs', async () => {
    const server = await mailboxes.open({
      limits: { replyHighWaterMark: 2, frameBytesMax: 2_000_000, replyQueueBytesMax: 4_000_000 },
    });
    const client = await mailboxes.openClient();
    const inbox = new Inbox(client);
    const deaf = new Dealer({ routingId: 'client:deaf!inc', linger: 0, receiveHighWaterMark: 1 });
    deaf.connect(server.endpoint);
    await deaf.send(packFrame('*', [[0, 0, []]]));
    const atServer = new Inbox(server);
    await atServer.until(1);
    const toDeaf = server.directory.intern('client:deaf!inc/0');

    client.send(0, client.directory.intern(`${server.endpoint}!*/0`), ['hello']);
    await atServer.until(2);
    const toClient = server.directory.intern(`${client.process}/0`);
    const answers = 50;
    for (let i = 0; i < answers; i++) {
      server.send(0, toDeaf, ['x'.repeat(1_000_000)]);
      expect(server.send(0, toClient, [i])).toBe('accepted');
      await nextTurn();
    }
    await inbox.until(answers);
    expect(inbox.bodies).toStrictEqual(Array.from({ length: answers }, (_, i) => [i]));
    expect(server.counters.dropped.overflow).toBeGreaterThan(0);
    const overflows = mailboxes.logger.lines.filter(({ fields }) => fields.cause === 'overflow');
    expect(new Set(overflows.map(({ fields }) => fields.peer))).toStrictEqual(new Set(['client:deaf!inc']));
    deaf.close();
  });

  test('one that does not read is disconnected, and its queued mail is dropped', async () => {
    const limits = { keepaliveIntervalMs: 1_000, keepaliveTimeoutMs: 1_000, frameBytesMax: 2_000_000 };
    const server = await mailboxes.open({ limits });
    const deaf = new Dealer({ routingId: 'client:deaf!inc', linger: 0, receiveHighWaterMark: 1 });
    deaf.connect(server.endpoint);
    await deaf.send(packFrame('*', [[0, 0, []]]));
    await new Inbox(server).until(1);
    const toDeaf = server.directory.intern('client:deaf!inc/0');
    let refused = 0;
    while (refused === 0) {
      if (server.send(0, toDeaf, ['x'.repeat(1_000_000)]) === 'overflow') refused++;
      await nextTurn();
    }
    await untilTrue(() => server.counters.dropped.unreachable > 0);
    deaf.close();
  }, 20_000);
});

describe('peers that fail', () => {
  test('a dead one delays no other peer, and its overflow is logged', async () => {
    const a = await mailboxes.open({ limits: { peerQueueMessagesMax: 10 } });
    const [b, dead] = [await mailboxes.open(), await mailboxes.open()];
    await dead.close();
    const atB = new Inbox(b);
    const toDead = a.directory.intern(`${dead.process}/0`);
    const toB = a.directory.intern(`${b.process}/0`);
    const results = Array.from({ length: 15 }, (_, i) => a.send(0, toDead, [i]));
    a.send(0, toB, ['alive']);
    await atB.until(1);
    expect(results.slice(0, 10)).toStrictEqual(Array(10).fill('accepted'));
    expect(results.slice(10)).toStrictEqual(Array(5).fill('overflow'));
    const warned = mailboxes.logger.lines.filter(({ fields }) => fields.peer === dead.endpoint);
    expect(warned.map(({ fields }) => fields)).toMatchObject([{ cause: 'overflow', messages: 5 }]);
    expect(a.counters.dropped.overflow).toBe(5);
  });

  test('mail for a dead incarnation does not reach its successor', async () => {
    const [a, first] = [await mailboxes.open(), await mailboxes.open({ incarnation: 'first' })];
    const { endpoint } = first;
    const atFirst = new Inbox(first);
    const toFirst = a.directory.intern(`${first.process}/0`);
    a.send(0, toFirst, ['to the first']);
    await atFirst.until(1);
    await first.close();

    a.send(0, toFirst, ['too late']);
    const second = await mailboxes.open({ bind: endpoint, incarnation: 'second' });
    const atSecond = new Inbox(second);
    // Messages sent before the broken connection is noticed may be lost.
    await untilTrue(() => {
      a.send(0, toFirst, ['too late']);
      return second.counters.refused.wrongTarget > 0;
    });
    a.send(0, a.directory.intern(`${second.process}/0`), ['to the second']);
    await atSecond.until(1);
    expect(atSecond.bodies).toStrictEqual([['to the second']]);
  });

  test('once a successor has sent a message, mail for its predecessor is dropped at the sender', async () => {
    const [a, first] = [await mailboxes.open(), await mailboxes.open({ incarnation: 'first' })];
    const atA = new Inbox(a);
    const { endpoint } = first;
    first.send(0, first.directory.intern(`${a.process}/0`), ['hello']);
    await atA.until(1);
    await first.close();
    const toFirst = a.directory.intern(`${endpoint}!first/0`);
    a.send(0, toFirst, ['waits']);
    a.send(0, toFirst, ['waits']);
    await nextTurn();
    a.send(0, toFirst, ['waits behind what waits for a connection']);

    // A peer that claims the endpoint without listening there, so that no message can be sent to it.
    const second = new Dealer({ routingId: `${endpoint}!second`, linger: 0 });
    second.connect(a.endpoint);
    await second.send(packFrame('*', [[0, 0, []]]));
    await atA.until(2);
    expect(a.counters.dropped.superseded).toBe(1);
    expect(a.send(0, toFirst, ['no more'])).toBe('superseded');

    // Late messages of the first process may still arrive; they are dropped, too.
    const ghost = new Dealer({ routingId: `${endpoint}!first`, linger: 0 });
    ghost.connect(a.endpoint);
    await ghost.send(packFrame('*', [[0, 0, []]]));
    await untilTrue(() => a.counters.refused.oldSender === 1);
    second.close();
    ghost.close();
  });

  test('messages for a forgotten address or an unregistered party are counted', async () => {
    const [a, b] = [await mailboxes.open(), await mailboxes.open()];
    const forgotten = a.directory.intern(`${b.process}/0`);
    a.directory.forget(forgotten);
    expect(a.send(0, forgotten, [])).toBe('unknownAddress');
    b.register(0, () => {});
    a.send(0, a.directory.intern(`${b.process}/9`), []);
    await untilTrue(() => b.counters.dropped.noSuchParty === 1);
  });

  test('a handler that throws harms no other message', async () => {
    const a = await mailboxes.open();
    const failure = new Error('bug');
    a.register(0, () => {
      throw failure;
    });
    const inbox = new Inbox(a, 1);
    a.send(0, a.addressOf(0), []);
    a.send(0, a.addressOf(1), []);
    await inbox.until(1);
    expect(mailboxes.logger.lines.at(-1)).toMatchObject({
      level: 'error',
      fields: { index: 0, err: failure },
    });
    expect(a.counters.handlerErrors).toBe(1);
  });

  test('an invalid endpoint in the name of a peer is refused', async () => {
    const a = await mailboxes.open();
    expect(a.send(0, a.directory.intern('nonsense://x!inc/0'), [])).toBe('unreachable');
    expect(mailboxes.logger.lines.at(-1)?.message).toMatch(
      /cannot connect to nonsense:\/\/x: .* is not an endpoint/,
    );
  });

  test('a host without an address is logged, and other peers are not delayed', async () => {
    const [a, b] = [await mailboxes.open(), await mailboxes.open()];
    const atB = new Inbox(b);
    a.send(0, a.directory.intern('tcp://nowhere.invalid:7000!*/0'), []);
    a.send(0, a.directory.intern(`${b.process}/0`), []);
    await atB.until(1);
    await untilTrue(() =>
      mailboxes.logger.lines.some(({ message }) =>
        message.includes('no address found for host "nowhere.invalid"'),
      ),
    );
  });
});

describe('incoming mail', () => {
  test('from unknown senders and without content is counted and dropped, and other mail is delivered', async () => {
    const [a, b] = [await mailboxes.open(), await mailboxes.open()];
    const atA = new Inbox(a);
    const stranger = new Dealer({ linger: 0 });
    const liar = new Dealer({ linger: 0, routingId: 'tcp://liar:1!x' });
    stranger.connect(a.endpoint);
    liar.connect(a.endpoint);
    await stranger.send('hello?');
    await liar.send('hello?');
    await liar.send(Buffer.alloc(0));
    b.send(0, b.directory.intern(`${a.process}/0`), ['sound']);
    await atA.until(1);
    await untilTrue(() => a.counters.refused.unknownSender === 1 && a.counters.refused.malformed === 2);
    expect(atA.bodies).toStrictEqual([['sound']]);
    stranger.close();
    liar.close();
  });

  test('from a client of another version is answered with the version of this process', async () => {
    const a = await mailboxes.open();
    const atA = new Inbox(a);
    const client = new Dealer({ linger: 0, routingId: 'client:other!x' });
    client.connect(a.endpoint);
    const packed = pack([
      [PROTOCOL_VERSION + 1, '*', null],
      [0, 0, ['hello?']],
    ]);
    await client.send(Buffer.from(packed.subarray(packed.start, packed.end)));
    const [answer] = await client.receive();
    expect(unpack(answer!, { valuesMax: 10, nestingMax: 3 })).toStrictEqual([
      [PROTOCOL_VERSION, '*', a.incarnation],
    ]);
    expect(a.counters.refused.otherVersion).toBe(1);
    expect(atA.bodies).toStrictEqual([]);
    client.close();
  });

  test('before a party is registered waits for it, up to a bound', async () => {
    const limits = { frameBytesMax: 100_000 };
    const [a, b] = [await mailboxes.open({ limits }), await mailboxes.open({ limits })];
    const toA = b.directory.intern(`${a.process}/0`);
    const long = 'x'.repeat(60_000);
    for (const body of [['first'], [long], [long]]) {
      b.send(0, toA, body);
      await nextTurn();
    }
    await untilTrue(() => a.counters.dropped.noSuchParty === 1);
    const atA = new Inbox(a);
    b.send(0, toA, ['last']);
    await atA.until(3);
    expect(atA.bodies).toStrictEqual([['first'], [long], ['last']]);
  });

  test('for a process that exits during the handshake is kept for its successor, and is not reported as a missing key', async () => {
    let ended = 0;
    const open = new Set<Socket>();
    const dying = createServer((socket) => {
      open.add(socket);
      socket.on('error', () => {});
      socket.once('data', () => socket.resetAndDestroy());
      ended++;
    });
    await new Promise<void>((resolve) => dying.listen(0, '127.0.0.1', resolve));
    const { port } = dying.address() as AddressInfo;
    const onAuthFailure = vi.fn();
    const client = await mailboxes.openClient({ onAuthFailure });
    client.send(0, client.directory.intern(`tcp://127.0.0.1:${port}!*/0`), ['kept']);
    await untilTrue(() => ended > 2);
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => dying.close(resolve));
    const successor = new Inbox(await mailboxes.open({ bind: `tcp://127.0.0.1:${port}` }));
    await successor.until(1);
    expect(successor.bodies).toStrictEqual([['kept']]);
    expect(onAuthFailure).not.toHaveBeenCalledWith(expect.anything(), expect.any(String));
  });

  test('in a frame that is too large is refused with its sender', async () => {
    const a = await mailboxes.open({ limits: { frameBytesMax: 100_000 } });
    const b = await mailboxes.open();
    const atA = new Inbox(a);
    const toA = b.directory.intern(`${a.process}/0`);
    b.send(0, toA, ['x'.repeat(150_000)]);
    await untilTrue(() => a.counters.refused.tooLarge === 1);
    expect(mailboxes.logger.lines.at(-1)?.message).toMatch(
      new RegExp(
        `dropped a frame from ${b.process}: a frame of 1500[0-9]+ bytes; at most 100000 are accepted`,
      ),
    );
    // Beyond twice the limit ZeroMQ drops the connection; the next message goes over a new one.
    b.send(0, toA, ['x'.repeat(1_000_000)]);
    await nextTurn();
    await untilTrue(() => {
      b.send(0, toA, ['sound']);
      return atA.received.length > 0;
    });
    expect(atA.bodies[0]).toStrictEqual(['sound']);
  });
});

describe('opening', () => {
  test('at an endpoint in use fails with one line', async () => {
    const { endpoint } = await mailboxes.open();
    const failure = await mailboxes.open({ bind: endpoint }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AddressInUseError);
    expect((failure as Error).message).toBe(
      `${endpoint} is already in use; choose another with --bind or stop the process that uses it`,
    );
  });

  test.each([
    ['tcp://nowhere.invalid:0', UnresolvableHostError, /no address found for host "nowhere.invalid"/],
    [
      'tcp://192.0.2.1:0',
      Error,
      /cannot listen at tcp:\/\/192.0.2.1:0: the address is not one of this machine/,
    ],
    ['tcp://127.0.0.1', InvalidEndpointError, /expected tcp:\/\/HOST:PORT/],
    ['ipc:///tmp/x.sock', InvalidEndpointError, /expected tcp:\/\/HOST:PORT/],
  ])('at %s is refused', async (bind, type, message) => {
    const failure = await mailboxes.open({ bind }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(type);
    expect((failure as Error).message).toMatch(message);
  });

  test('on every interface works with an endpoint for others', async () => {
    const a = await mailboxes.open({ bind: 'tcp://0.0.0.0:0', advertise: 'tcp://localhost:0' });
    const b = await mailboxes.open();
    expect(a.endpoint).toMatch(/^tcp:\/\/localhost:[1-9][0-9]+$/);
    const atA = new Inbox(a);
    b.send(0, b.directory.intern(`${a.process}/0`), ['hello']);
    await atA.until(1);
  });

  test('with an invalid incarnation is refused', async () => {
    await expect(mailboxes.open({ incarnation: '*' })).rejects.toThrow(/is not an incarnation/);
    await expect(mailboxes.open({ incarnation: 'a!b' })).rejects.toThrow(/is not an incarnation/);
  });

  test('a party is registered once', async () => {
    const a = await mailboxes.open();
    a.register(0, () => {});
    expect(() => a.register(0, () => {})).toThrow('party 0 is registered already');
    expect(() => a.register(-1, () => {})).toThrow('-1 is not the index of a party');
    expect(() => a.send(0.5, a.addressOf(0), [])).toThrow('0.5 is not the index of a party');
    a.unregister(0);
    a.register(0, () => {});
  });
});

describe('closing', () => {
  test('delivers sent mail first', async () => {
    const [a, b] = [await mailboxes.open(), await mailboxes.open()];
    const atB = new Inbox(b);
    const to = a.directory.intern(`${b.process}/0`);
    for (let i = 0; i < 10_000; i++) a.send(0, to, [i]);
    await a.close();
    await atB.until(10_000);
    expect(a.send(0, to, ['after'])).toBe('closed');
  });

  test('does not wait forever for a peer that does not read', async () => {
    const [a, dead] = [await mailboxes.open(), await mailboxes.open()];
    await dead.close();
    a.send(0, a.directory.intern(`${dead.process}/0`), ['never']);
    await a.close();
    expect(a.counters.dropped.closed).toBe(1);
  });

  test('does not wait at all if only optional mail is left', async () => {
    const [a, dead] = [await mailboxes.open({ limits: { closeFlushMs: 3_600_000 } }), await mailboxes.open()];
    await dead.close();
    a.send(0, a.directory.intern(`${dead.process}/0`), ['never']);
    await a.close(0);
    expect(a.counters.dropped.closed).toBe(1);
  });

  test('logs nothing, even while mail still arrives', async () => {
    const [a, b] = [await mailboxes.open(), await mailboxes.open()];
    const logged = mailboxes.logger.lines.length;
    const atB = new Inbox(b);
    const to = a.directory.intern(`${b.process}/0`);
    let isClosed = false;
    const sending = (async () => {
      while (!isClosed) {
        for (let i = 0; i < 2_000; i++) a.send(0, to, [i]);
        await nextTurn();
      }
    })();
    await atB.until(10_000);
    await b.close();
    isClosed = true;
    await sending;
    await a.close();
    expect(mailboxes.logger.lines.slice(logged)).toStrictEqual([]);
  });

  test('frees the endpoint', async () => {
    const first = await mailboxes.open();
    await first.close();
    const second = await mailboxes.open({ bind: first.endpoint });
    expect(second.endpoint).toBe(first.endpoint);
  });

  test('twice has no further effect', async () => {
    const a = await mailboxes.open();
    await Promise.all([a.close(), a.close()]);
  });
});

describe('connections', () => {
  test('that are idle are closed, and opened again on demand', async () => {
    const a = await mailboxes.open({ limits: { idleMs: 20 } });
    const b = await mailboxes.open();
    const atB = new Inbox(b);
    const to = a.directory.intern(`${b.process}/0`);
    for (const message of [1, 2]) {
      a.send(0, to, [message]);
      expect(a.counters.outboundConnections).toBe(1);
      await atB.until(message);
      await untilTrue(() => a.counters.outboundConnections === 0 && b.counters.inboundConnections === 0);
    }
  });

  test('of a client stay open for later replies', async () => {
    const [server, client] = [await mailboxes.open(), await mailboxes.openClient({ limits: { idleMs: 20 } })];
    const [atServer, atClient] = [new Inbox(server), new Inbox(client)];
    client.send(0, client.directory.intern(`${server.endpoint}!*/0`), ['later, please']);
    await atServer.until(1);
    const other = await mailboxes.open({ limits: { idleMs: 20 } });
    other.send(0, other.directory.intern(`${server.process}/0`), []);
    await untilTrue(() => other.counters.outboundConnections === 0 && other.counters.sent.frames === 1);
    server.send(0, server.directory.intern(`${client.process}/0`), ['now']);
    await atClient.until(1);
  });

  test('of a client to a process that is gone are closed', async () => {
    const [stays, goes] = [await mailboxes.open(), await mailboxes.open()];
    // A busy machine notices established connections late.
    const client = await mailboxes.openClient({ limits: { idleMs: 1_000 } });
    const inboxes = [stays, goes].map((mailbox) => new Inbox(mailbox));
    for (const { endpoint } of [stays, goes])
      client.send(0, client.directory.intern(`${endpoint}!*/0`), ['hello']);
    await Promise.all(inboxes.map((inbox) => inbox.until(1)));
    expect(client.counters.outboundConnections).toBe(2);
    await goes.close();
    await untilTrue(() => client.counters.outboundConnections === 1);
    stays.send(0, stays.directory.intern(`${client.process}/0`), ['still here']);
    await new Inbox(client).until(1);
  });
});

/** Runs the event loop until the condition holds, or until the test times out. */
async function untilTrue(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}
