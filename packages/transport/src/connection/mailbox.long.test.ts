import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../limits.js';
import { Inbox, Mailboxes } from './testing.fixture.js';

const PEER = join(import.meta.dirname, '../../dist/connection/peer.fixture.js');
const BUSY = join(import.meta.dirname, '../../dist/connection/busy.fixture.js');

/** Opening bytes of a ZeroMQ peer without keys: version, mechanism, and identity. */
const PLAIN_GREETING = Buffer.concat([
  Buffer.from('ff00000000000000017f0300', 'hex'),
  Buffer.from('NULL'),
  Buffer.alloc(48),
  Buffer.from('\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06DEALER', 'latin1'),
]);

const mailboxes = new Mailboxes();
const children: ChildProcess[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await mailboxes.closeAll();
});

interface Peer {
  readonly child: ChildProcess;
  /** Name of its process. */
  readonly name: string;
  readonly endpoint: string;
}

async function start(bind: string, incarnation: string, ...args: string[]): Promise<Peer> {
  return startFile(PEER, bind, incarnation, ...args);
}

async function startFile(...args: string[]): Promise<Peer> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [name] = (await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')) as [
    string,
  ];
  return { child, name, endpoint: name.slice(0, name.lastIndexOf('!')) };
}

async function kill({ child }: Peer): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

test('a process that is killed and restarted at its endpoint receives only its mail', async () => {
  const mailbox = await mailboxes.open();
  const inbox = new Inbox(mailbox);
  const first = await start('tcp://127.0.0.1:0', 'first');
  const bystander = await start('tcp://127.0.0.1:0', 'bystander');
  const toFirst = mailbox.directory.intern(`${first.name}/0`);
  const toBystander = mailbox.directory.intern(`${bystander.name}/0`);

  mailbox.send(0, toFirst, [1]);
  await inbox.until(1);
  expect(inbox.received[0]).toStrictEqual({ from: `${first.name}/0`, body: ['first', [1]] });

  await kill(first);
  mailbox.send(0, toFirst, ['to the dead']);
  mailbox.send(0, toBystander, [2]);
  await inbox.until(2);
  expect(inbox.bodies[1]).toStrictEqual(['bystander', [2]]);

  const second = await start(first.endpoint, 'second');
  expect(second.name).not.toBe(first.name);
  const toPresentOne = mailbox.directory.intern(`${first.endpoint}!*/0`);
  mailbox.send(0, toPresentOne, [3]);
  await inbox.until(3);
  expect(inbox.received[2]).toStrictEqual({ from: `${second.name}/0`, body: ['second', [3]] });
  expect(mailbox.send(0, toFirst, ['to the dead'])).toBe('superseded');

  mailbox.send(0, mailbox.directory.intern(`${second.name}/0`), [4]);
  await inbox.until(4);
  expect(inbox.bodies).toStrictEqual([
    ['first', [1]],
    ['bystander', [2]],
    ['second', [3]],
    ['second', [4]],
  ]);
});

test('followers of a killed central are notified by their connections, once per incarnation', async () => {
  const heard: (string | undefined)[] = [];
  let onIdentified = (): void => {};
  const mailbox = await mailboxes.open({
    onDisconnected: (parties) => {
      heard.push(...parties.map((party) => mailbox.directory.nameOf(party)));
      onIdentified();
    },
  });
  const inbox = new Inbox(mailbox);
  const bystander = await start('tcp://127.0.0.1:0', 's.bystander');
  mailbox.send(0, mailbox.directory.intern(`${bystander.name}/0`), ['are you there?']);
  let endpoint = 'tcp://127.0.0.1:0';
  for (const [round, incarnation] of ['c.first', 'c.second'].entries()) {
    const central = await start(endpoint, incarnation);
    endpoint = central.endpoint;
    mailbox.send(0, mailbox.directory.intern(`${endpoint}!c.*/0`), ['are you there?']);
    await inbox.until(2 + round);
    const disconnected = new Promise<void>((resolve) => {
      onIdentified = resolve;
    });
    if (round === 0) await kill(bystander);
    await kill(central);
    await disconnected;
    expect(heard[round]).toBe(`${central.name}/0`);
  }
  // No line is about the scheduler, or about attempts to reach a party that does not exist.
  expect(heard).toHaveLength(2);
});

test('a hung process loses only its mail, within a bound, and is reached again when it continues', async () => {
  const mailbox = await mailboxes.open({
    limits: { peerQueueBytesMax: 4_000_000, frameBytesMax: 2_000_000, highWaterMark: 2 },
  });
  const inbox = new Inbox(mailbox);
  const hanging = await start('tcp://127.0.0.1:0', 'hanging');
  const bystander = await start('tcp://127.0.0.1:0', 'bystander');
  const toHanging = mailbox.directory.intern(`${hanging.name}/0`);
  const toBystander = mailbox.directory.intern(`${bystander.name}/0`);
  mailbox.send(0, toHanging, ['before']);
  await inbox.until(1);

  hanging.child.kill('SIGSTOP');
  const rounds = 40;
  for (let i = 0; i < rounds; i++) {
    mailbox.send(0, toHanging, ['x'.repeat(1_000_000)]);
    mailbox.send(0, toBystander, [i]);
    await inbox.until(2 + i);
  }
  expect(inbox.bodies.slice(1)).toStrictEqual(Array.from({ length: rounds }, (_, i) => ['bystander', [i]]));
  expect(mailbox.counters.dropped.overflow).toBeGreaterThan(0);
  const overflows = mailboxes.logger.lines.filter(({ fields }) => fields.cause === 'overflow');
  expect(new Set(overflows.map(({ fields }) => fields.peer))).toStrictEqual(new Set([hanging.endpoint]));

  hanging.child.kill('SIGCONT');
  const taken = rounds - mailbox.counters.dropped.overflow;
  await inbox.until(1 + rounds + taken);
  mailbox.send(0, toHanging, ['after']);
  await inbox.until(2 + rounds + taken);
  expect(inbox.bodies.at(-1)).toStrictEqual(['hanging', ['after']]);
});

test('a process that is too busy to read survives the disconnection of its senders', async () => {
  const busy = await startFile(BUSY);
  const leaving = await mailboxes.open({ limits: { closeFlushMs: 1_000 } });
  const inbox = new Inbox(leaving);
  const toBusy = leaving.directory.intern(`${busy.name}/0`);
  leaving.send(0, toBusy, ['before']);
  await inbox.until(1);
  // ZeroMQ stops reading after this many frames. The pause is longer than any of its periodic checks.
  leaving.send(0, toBusy, [12_000]);
  for (let frame = 0; frame < 4 * DEFAULT_LIMITS.highWaterMark; frame++) {
    leaving.send(0, toBusy, ['a frame']);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await leaving.close();
  const other = await mailboxes.open();
  const answers = new Inbox(other);
  other.send(0, other.directory.intern(`${busy.name}/0`), ['are you there?']);
  const gone = once(busy.child, 'exit').then((how) => `it ended: ${how.join(' ')}`);
  expect(await Promise.race([answers.until(1), gone])).toBeUndefined();
});

test.runIf(process.platform === 'linux')(
  'central disconnects a peer that sends an endless frame before it uses much memory, and serves the others',
  async () => {
    const central = await start('tcp://127.0.0.1:0', 'c.central');
    const other = await mailboxes.open();
    const inbox = new Inbox(other);
    const toCentral = other.directory.intern(`${central.name}/0`);
    other.send(0, toCentral, [1]);
    await inbox.until(1);

    const endless = connect(Number(central.endpoint.split(':').at(-1)), '127.0.0.1');
    const cut = new Promise((resolve) => endless.on('close', resolve));
    endless.on('error', () => {});
    endless.write(PLAIN_GREETING);
    let heard = '';
    endless.setEncoding('latin1').on('data', (text) => {
      heard += text;
    });
    while (!heard.includes('READY')) await once(endless, 'data');
    const parts = Buffer.concat(new Array(256).fill(Buffer.from([1, 255, ...new Array(255).fill(0)])));
    const write = (): void => {
      while (!endless.destroyed && endless.write(parts));
      endless.once('drain', write);
    };
    write();
    await cut;
    const peakMebibytes =
      Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${central.child.pid}/status`, 'utf8'))![1]) / 1024;
    expect(peakMebibytes).toBeGreaterThan(256);
    expect(peakMebibytes).toBeLessThan(1_024);

    for (let asked = 2; inbox.bodies.length < 2; asked++) {
      other.send(0, toCentral, [asked]);
      await Promise.race([inbox.until(2), new Promise((resolve) => setTimeout(resolve, 50))]);
    }
    expect(inbox.bodies[1]).toMatchObject(['c.central', expect.anything()]);
  },
);

test('undeliverable mail does not keep a process alive', async () => {
  const dead = await start('tcp://127.0.0.1:0', 'dead');
  await kill(dead);
  const { child } = await start('tcp://127.0.0.1:0', 'leaving', dead.name);
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
});

test('mail sent before a process closes its mailbox and exits arrives', async () => {
  const mailbox = await mailboxes.open();
  const inbox = new Inbox(mailbox);
  const leaving = await start('tcp://127.0.0.1:0', 'leaving', mailbox.process);
  await inbox.until(1);
  expect(inbox.received).toStrictEqual([{ from: `${leaving.name}/0`, body: ['hello'] }]);
});

test('a killed client loses only its replies', async () => {
  const server = await mailboxes.open();
  const inbox = new Inbox(server);
  const killed = await start('-', 'killed', server.process, 'stay');
  const other = await start('-', 'other', server.process, 'stay');
  await inbox.until(2);
  const toKilled = server.directory.intern(`${killed.name}/0`);
  const toOther = server.directory.intern(`${other.name}/0`);
  await kill(killed);
  let asked = 0;
  while (server.counters.dropped.unreachable === 0) {
    server.send(0, toKilled, ['are you there?']);
    server.send(0, toOther, [++asked]);
    await inbox.until(2 + asked);
  }
  expect(inbox.bodies.slice(2)).toStrictEqual(Array.from({ length: asked }, (_, i) => ['other', [i + 1]]));
});
