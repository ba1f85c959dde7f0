import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';
import { InputError, PROTOCOL_VERSION, UnreachableError } from '@goshawk/core';
import { generateKeys } from '@goshawk/transport';
import { describe, expect, test, vi } from 'vitest';
import { connect } from './connect.js';
import { FAST, FakeCluster, IMPATIENT } from './fake-cluster.fixture.js';
import { ScriptedPeer } from './scripted-peer.fixture.js';

/** Returns an endpoint that was free a moment ago, so nothing listens there. */
async function unusedEndpoint(): Promise<string> {
  const peer = await ScriptedPeer.start();
  await peer.close();
  return peer.endpoint;
}

/** A way to a peer on which every frame gets another protocol version, as if the two were of different releases. */
async function otherVersionOf(endpoint: string): Promise<{ endpoint: string; close(): void }> {
  const { hostname, port } = new URL(endpoint);
  const sockets: Socket[] = [];
  const changed = (bytes: Buffer): Buffer => {
    const head = Buffer.from([THREE_FIELDS, PROTOCOL_VERSION]);
    for (let at = bytes.indexOf(head); at >= 0; at = bytes.indexOf(head, at))
      bytes[at + 1] = PROTOCOL_VERSION + 1;
    return bytes;
  };
  const server = createServer((near) => {
    const far = dial(Number(port), hostname);
    for (const [from, to] of [[near, far] as const, [far, near] as const]) {
      sockets.push(from);
      from.on('data', (bytes) => to.write(changed(bytes))).on('error', () => {});
      from.on('close', () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** MessagePack's byte for an array of three, with which the head of a frame begins. */
const THREE_FIELDS = 0x93;

/** A scheduler that knows central's address. */
function introducing(central: string) {
  return (tag: string) =>
    ScriptedPeer.start((message, { answer }) => {
      if (message.type === 'findSchedulers') {
        answer({ name: 'alone', tag, central, workers: 0 }, 'introduction');
      } else if (message.type === 'submit') answer({ job: `${tag}-1`, state: 'waiting' });
    });
}

describe('connect', () => {
  test('to an unused address fails with one line and a hint', async () => {
    const endpoint = await unusedEndpoint();
    const error = await connect(endpoint, IMPATIENT).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UnreachableError);
    expect(error).toMatchObject({
      message: `no answer from ${endpoint}; is the cluster running?`,
      hint: expect.stringMatching(/^`goshawk up` starts one on this machine; /),
    });
  });

  test('to a process that completes no handshake says that it may be too busy', async () => {
    const server = createServer(() => {});
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const endpoint = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const error = await connect(endpoint, IMPATIENT).catch((thrown: unknown) => thrown);
    server.close();
    expect(error).toMatchObject({
      message: `no answer from ${endpoint}; is the cluster running, or too busy to answer?`,
    });
  });

  test('to a process that is connected and silent points to a hang or another version', async () => {
    await using peer = await ScriptedPeer.start();
    await expect(connect(peer.endpoint, IMPATIENT)).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringMatching(/accepts connections but does not answer: .* protocol version/),
    });
  });

  test('to a cluster of another version names both versions', async () => {
    await using peer = await ScriptedPeer.start();
    const behind = await otherVersionOf(peer.endpoint);
    // Time for the handshake on a busy machine.
    await expect(connect(behind.endpoint, { ...IMPATIENT, connectTimeoutMs: 2_000 })).rejects.toMatchObject({
      code: 'other-version',
      message: `${behind.endpoint} speaks protocol version ${PROTOCOL_VERSION + 1}; this client speaks version ${PROTOCOL_VERSION}`,
      hint: 'upgrade this client to the cluster’s version',
    });
    behind.close();
  });

  test('uses no keys if GOSHAWK_KEYS is empty', async () => {
    await using fake = await FakeCluster.start(1);
    vi.stubEnv('GOSHAWK_KEYS', '');
    try {
      await using cluster = await fake.connect();
      expect((await cluster.submit({ tasks: [{ sleep: 0 }] })).id).toBe('t0-1');
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test.each([
    '',
    ' , ',
    'localhost:7000',
    'http://localhost:7000',
    'tcp://localhost',
    'tcp://localhost:70000',
  ])('refuses %j as a URL', async (url) => {
    const error = await connect(url, FAST).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InputError);
    expect(error).toMatchObject({ code: 'bad-url' });
  });

  test('with keys to a cluster without keys says so', async () => {
    await using fake = await FakeCluster.start(1);
    const keys = JSON.stringify(generateKeys().client);
    const options = { ...FAST, connectTimeoutMs: 2_000, keys: { text: keys } };
    await expect(connect(fake.central.endpoint, options)).rejects.toMatchObject({
      code: 'keys-unknown',
      message: expect.stringMatching(/uses no keys, but this client has one$/),
    });
  });

  test('names a host that does not exist', async () => {
    await expect(connect('tcp://no-such-host.invalid:7000', FAST)).rejects.toMatchObject({
      name: 'UnreachableError',
      message: expect.stringContaining('no-such-host.invalid') as string,
    });
  });

  test('needs one of several endpoints', async () => {
    await using fake = await FakeCluster.start(1);
    await using cluster = await connect(`${await unusedEndpoint()}, ${fake.central.endpoint}`, FAST);
    expect((await cluster.submit({ tasks: [{ sleep: 1 }] })).id).toBe('t0-1');
  });

  test('to a scheduler finds central and all other schedulers', async () => {
    await using fake = await FakeCluster.start(5);
    await using scheduler = await introducing(`${fake.central.endpoint}!*/0`)('t9');
    await using cluster = await connect(scheduler.endpoint, FAST);
    expect((await cluster.describe()).schedulers).toHaveLength(5);
  });

  test('to a scheduler works while central is down', async () => {
    await using scheduler = await introducing(`${await unusedEndpoint()}!*/0`)('t9');
    await using cluster = await connect(scheduler.endpoint, {
      ...FAST,
      requestTimeoutMs: 500,
      pollTimeoutMs: 100,
    });
    expect((await cluster.submit({ tasks: [{ sleep: 1 }] })).id).toBe('t9-1');
    await expect(cluster.describe()).rejects.toThrow(
      /^no answer from central at tcp:.* (to describe the cluster|for the schedulers of the cluster|for its workers)$/,
    );
  });

  test('to another kind of server says so', async () => {
    await using peer = await ScriptedPeer.start((_message, { garble }) => garble({ hello: 'world' }));
    await expect(connect(peer.endpoint, FAST)).rejects.toMatchObject({ code: 'bad-answer' });
  });

  test('ends with the reason of its signal', async () => {
    await using peer = await ScriptedPeer.start();
    const abort = new AbortController();
    const connecting = connect(peer.endpoint, { ...FAST, signal: abort.signal });
    await peer.waitFor('findSchedulers');
    abort.abort(new Error('enough'));
    await expect(connecting).rejects.toThrow('enough');
  });

  test('refuses an invalid timing', async () => {
    for (const requestTimeoutMs of [0, Number.NaN, '5' as never])
      await expect(connect('tcp://127.0.0.1:1', { requestTimeoutMs })).rejects.toThrow(RangeError);
    await expect(connect(42 as never)).rejects.toMatchObject({ code: 'bad-url' });
  });
});

test('a module that a worker loads cannot connect before its functions are called', async () => {
  const global = globalThis as { [key: symbol]: string };
  const loading = Symbol.for('goshawk.loading-module');
  global[loading] = '/srv/script.mjs';
  try {
    await expect(connect('tcp://127.0.0.1:1')).rejects.toMatchObject({
      code: 'connects-when-loaded',
      message: '/srv/script.mjs connects to a cluster when a worker loads it to call its functions',
    });
  } finally {
    delete global[loading];
  }
});
