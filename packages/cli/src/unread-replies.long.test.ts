import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cluster, connect } from '@goshawk/client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type RunningGoshawk, runGoshawk, startGoshawk } from './goshawk-process.fixture.js';

const MIB = 1024 * 1024;
/** Memory of the process and the kernel (bytes) that unread answers may add. A busy process returns freed memory late. */
const GROWTH_MAX = 320 * MIB;
/** A proxied connection takes seven. */
const DESCRIPTORS_MAX = 7 * 512 + 500;
const ANSWER_MS = 8_000;
const ATTACK_MS = 8_000;

/**
 * Opens connections as clients of one key, each under a name of its own, and repeats a request on each of them without
 * reading the answers, or only one frame of them a second.
 */
const ATTACK = `
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Dealer, context } from 'zeromq';
import { clientEndpoint, Codec, DEFAULT_LIMITS, Directory, FrameWriter, processName, readKeys, SignedIdentification } from '@goshawk/transport';
const { keys, endpoint, role, request, connections, depth, reads } = JSON.parse(process.argv[1]);
context.maxSockets = 65_535;
const ring = readKeys({ path: keys, text: readFileSync(keys, 'utf8') }, 'client');
const codec = new Codec(new Directory());
const frames = [];
const writer = new FrameWriter(null, DEFAULT_LIMITS, ({ bytes }) => frames.push(Buffer.from(bytes)));
for (let i = 0; i < depth; i++) writer.add('*', 0, 0, codec.encode({ ...request, request: i + 1 }, 'client'));
writer.finish();
const dealers = [];
for (let i = 0; i < connections; i++) {
  const name = processName(clientEndpoint('evil' + i, ring.name), 'i');
  const [{ routingId, curve }] = new SignedIdentification(name, name.slice(0, -2), ring).dialOptionsFor({ endpoint, role });
  const dealer = new Dealer({ linger: 0, routingId, ...curve, receiveHighWaterMark: 1, receiveBufferSize: 4096, reconnectInterval: 100 });
  dealer.connect(endpoint);
  dealers.push(dealer);
  if (i % 20 === 0) await delay(1);
}
console.log('begun');
for (let round = 0; ; round++) {
  for (const dealer of dealers) for (const frame of frames) if (dealer.writable) void dealer.send(frame).catch(() => {});
  await delay(2_000);
  if (reads) for (const dealer of dealers) try { dealer.receive().catch(() => {}); } catch {}
}
`;

let folder = '';
const daemons = new Map<string, { readonly process: RunningGoshawk; readonly endpoint: string }>();
let client: Cluster;
let job = '';
let attack: ChildProcess | undefined;

// Reason: only Linux shows the memory and the descriptors of a process.
describe.runIf(process.platform === 'linux')('clients that do not read their messages', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'goshawk-unread-'));
    const keys = join(folder, 'keys');
    await runGoshawk(['keygen', keys]);
    await runGoshawk(['keygen', 'client', 'evil', keys]);
    const daemon = async (name: string, args: readonly string[]): Promise<string> => {
      const running = startGoshawk([...args, '--keys', join(keys, `${name}.key`), '--json']);
      const { endpoint } = JSON.parse(await running.firstLine) as { endpoint: string };
      daemons.set(name, { process: running, endpoint });
      return endpoint;
    };
    const central = await daemon('central', ['central', '--bind', 'tcp://127.0.0.1:0']);
    const data = (name: string) => ['--central-url', central, '--data-folder', join(folder, name)];
    await daemon('scheduler', ['scheduler', '--name', 's0', ...data('s0')]);
    await daemon('worker', ['worker', '--name', 'w0', '--cpus', '1', ...data('w0')]);
    client = await connect(central, { keys, pollTimeoutMs: ANSWER_MS });
    const evil = await connect(central, { keys: join(keys, 'client.evil.key') });
    const script = `head -c ${MIB} /dev/zero | tr '\\0' x`;
    const handle = await evil.submit({ tasks: [{ exec: ['sh', '-c', script] }] });
    await handle.wait();
    await evil.close();
    job = handle.id;
  });

  afterEach(async () => {
    attack?.kill('SIGKILL');
  });

  afterAll(async () => {
    await client.close();
    for (const { process } of daemons.values()) process.kill('SIGKILL');
    await Promise.all([...daemons.values()].map(({ process }) => process.finished));
    rmSync(folder, { recursive: true });
  });

  it.each([
    ['central', 'describeCluster', 400, 10, 'evil', false],
    ['central', 'findSchedulers', 1_300, 1, 'evil', true],
    ['scheduler', 'readLogs', 200, 4, 'evil', false],
    ['scheduler', 'readLogs', 200, 1, 'shared', true],
    ['worker', 'readCounters', 400, 10, 'evil', false],
    ['worker', 'readCounters', 400, 10, 'shared', true],
  ] as const)(
    'of the %s with %s on %d connections, %d each, with the key "%s", trickling %s: others are answered, and memory is bounded',
    async (role, type, connections, depth, key, reads) => {
      const { process, endpoint } = daemons.get(role)!;
      const before = memoryOf(process.pid);
      const request = type === 'readLogs' ? { type, id: job, failedOnly: false, cursor: 0 } : { type };
      const keys = join(folder, 'keys', key === 'evil' ? 'client.evil.key' : 'client.key');
      const setting = { keys, endpoint, role, request, connections, depth, reads };
      const args = ['--input-type=module', '--eval', ATTACK, JSON.stringify(setting)];
      attack = spawn(globalThis.process.execPath, args, {
        cwd: import.meta.dirname,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await new Promise((resolve) => attack!.stdout!.once('data', resolve));
      const seen = { memory: 0, slowestMs: 0, descriptors: 0, silent: 0 };
      for (const endAt = performance.now() + ATTACK_MS; performance.now() < endAt; ) {
        const at = performance.now();
        await client.counters({ of: ({ kind }) => kind === role }).catch(() => seen.silent++);
        seen.slowestMs = Math.max(seen.slowestMs, performance.now() - at);
        seen.memory = Math.max(seen.memory, memoryOf(process.pid) + kernelBytes(endpoint) - before);
        seen.descriptors = Math.max(seen.descriptors, descriptorsOf(process.pid));
      }
      expect(seen.memory, JSON.stringify(seen)).toBeLessThan(GROWTH_MAX);
      // A flood keeps a small machine busy for a while; nobody waits longer than that.
      expect(seen.silent, JSON.stringify(seen)).toBeLessThanOrEqual(1);
      await expect.poll(() => descriptorsOf(process.pid), { timeout: 60_000 }).toBeLessThan(DESCRIPTORS_MAX);
    },
  );
});

function memoryOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1_024;
}

function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Bytes that the kernel holds for the process until its clients read them. */
function kernelBytes(endpoint: string): number {
  const port = Number(endpoint.split(':').at(-1));
  const address = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = '']) => local.endsWith(address))
    .reduce((sum, [, , , , queues = '']) => sum + Number.parseInt(queues.split(':')[0]!, 16), 0);
}
