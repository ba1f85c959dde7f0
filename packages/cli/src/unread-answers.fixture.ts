import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type RunningGoshawk, startGoshawk } from './goshawk-process.fixture.js';

/** Memory (bytes) that the unread answers may add; a server in Compose has 384 MiB in total and starts with 120. */
const GROWTH_MAX = 180 * 1024 * 1024;
const CONNECTIONS = 1_500;
/** Connections that stay open while nobody reads, 256 streams and the descriptors of an idle server. */
const DESCRIPTORS_MAX = 450;
const LIVE_MS = 5_000;
export const TOKEN = 'correct-horse-battery-staple';

/**
 * Opens connections with a small receive buffer and sends requests on each, whose answers it does not read, or only a byte a
 * second. Replaces closed connections until it ends.
 */
const ATTACK = `
import errno, json, select, socket, sys, time
port, n, request, depth, reads = json.loads(sys.argv[1])
def dial():
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    s.setblocking(False)
    s.connect_ex(('127.0.0.1', port))
    return s
open_, due = {}, []
def add():
    s = dial()
    open_[s.fileno()] = s
    poll.register(s, select.EPOLLOUT | select.EPOLLRDHUP | select.EPOLLERR)
poll = select.epoll()
opened = 0
print('begun', flush=True)
while True:
    while len(open_) < n and opened < 3 * n:
        add(); opened += 1
        if opened % 100 == 0: break
    for fd, event in poll.poll(0.05):
        s = open_[fd]
        try:
            if event & (select.EPOLLERR | select.EPOLLHUP | select.EPOLLRDHUP): raise OSError
            s.send(request.encode() * depth)
            poll.modify(s, select.EPOLLERR | select.EPOLLRDHUP)
        except OSError:
            poll.unregister(s); s.close(); del open_[fd]
    if reads and time.time() % 1 < 0.06:
        for s in list(open_.values()):
            try: s.recv(1)
            except OSError: pass
`;

const python = spawnSync('python3', ['--version']).status === 0;
let folder = '';
const servers = new Map<string, Served>();
let attack: ChildProcess | undefined;

interface Served {
  readonly process: RunningGoshawk;
  readonly port: number;
  /** Port of liveness alone; undefined: the same. */
  readonly livePort?: number;
}

type Attack = readonly [
  server: 'central' | 'scheduler' | 'worker' | 'dashboard' | 'open dashboard',
  path: string,
  token: string,
  requests: number,
  trickles: boolean,
];

/** Tests that servers stay alive and small during each attack. */
export function testUnreadAnswers(attacks: readonly Attack[]): void {
  // Reason: only Linux shows the memory and the descriptors of a process, and Node.js cannot make a receive buffer small.
  describe.runIf(process.platform === 'linux' && python)('clients that do not read', () =>
    surviveAll(attacks),
  );
}

function surviveAll(attacks: readonly Attack[]): void {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'goshawk-unread-'));
    const daemon = async (name: string, args: readonly string[]): Promise<RunningGoshawk> => {
      const file = join(folder, `${name}.port`);
      const http = ['--http', '127.0.0.1:0', '--http-port-file', file];
      const running = startGoshawk([...args, ...http, '--json'], { GOSHAWK_HTTP_TOKEN: TOKEN });
      await running.firstLine;
      servers.set(name, { process: running, port: Number(readFileSync(file, 'utf8')) });
      return running;
    };
    const central = await daemon('central', ['central', '--bind', 'tcp://127.0.0.1:0']);
    const { endpoint } = JSON.parse(await central.firstLine) as { endpoint: string };
    const data = (name: string) => ['--central-url', endpoint, '--data-folder', join(folder, name)];
    await daemon('scheduler', ['scheduler', '--name', 's0', ...data('s0')]);
    await daemon('worker', ['worker', '--name', 'w0', '--cpus', '1', ...data('w0')]);
    const tokens = join(folder, 'tokens');
    writeFileSync(tokens, `read ${TOKEN}\nread ${TOKEN}-2\n`, { mode: 0o600 });
    for (const [name, more] of [
      ['dashboard', ['--token-file', tokens]],
      ['open dashboard', []],
    ] as const) {
      const file = join(folder, `${name}.port`);
      const http = ['--http', '127.0.0.1:0', '--http-port-file', file, '--listen', '127.0.0.1:0'];
      const running = startGoshawk(['dashboard', '--cluster', endpoint, ...http, ...more]);
      const port = Number(new URL(await running.firstLine).port);
      servers.set(name, { process: running, port, livePort: Number(readFileSync(file, 'utf8')) });
    }
  });

  afterEach(async () => {
    attack?.kill('SIGKILL');
  });

  afterAll(async () => {
    for (const { process } of servers.values()) process.kill('SIGKILL');
    await Promise.all([...servers.values()].map(({ process }) => process.finished));
    rmSync(folder, { recursive: true });
  });

  it.each(attacks)(
    'of the %s at %s with token "%s", %d requests each, trickling %s: it stays alive and small',
    async (name, path, token, depth, reads) => {
      const { process, port, livePort } = servers.get(name)!;
      const before = memoryOf(process.pid);
      const authorization = token === '' ? '' : `Authorization: Bearer ${token}\r\n`;
      const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${authorization}\r\n`;
      const args = ['-c', ATTACK, JSON.stringify([port, CONNECTIONS, request, depth, reads])];
      attack = spawn('python3', args, { stdio: ['ignore', 'pipe', 'inherit'] });
      await new Promise((resolve) => attack!.stdout!.once('data', resolve));
      const seen = { memory: 0, slowestMs: 0, descriptors: 0 };
      for (const endAt = performance.now() + 6_000; performance.now() < endAt; ) {
        const at = performance.now();
        const { status } = await live(port);
        expect(status).toBe(200);
        // A port of its own needs no second try.
        if (livePort !== undefined) expect((await live(livePort, 1)).status).toBe(200);
        seen.slowestMs = Math.max(seen.slowestMs, performance.now() - at);
        seen.memory = Math.max(seen.memory, memoryOf(process.pid) + kernelBytes(port) - before);
        seen.descriptors = descriptorsOf(process.pid);
      }
      expect(seen.memory, JSON.stringify(seen)).toBeLessThan(GROWTH_MAX);
      await expect.poll(() => descriptorsOf(process.pid), { timeout: 30_000 }).toBeLessThan(DESCRIPTORS_MAX);
    },
  );
}

async function live(port: number, triesMax = 3): Promise<Response> {
  for (let tries = 0; ; tries++) {
    try {
      return await fetch(`http://127.0.0.1:${port}/livez`, { signal: AbortSignal.timeout(LIVE_MS) });
    } catch (error) {
      // A connection that is closed as the oldest of many in the moment of its request tries again, as probes do.
      if (tries === triesMax - 1 || (error as Error).name === 'TimeoutError') throw error;
    }
  }
}

function memoryOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1_024;
}

function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Bytes that the kernel holds for the server until its clients read them. */
function kernelBytes(port: number): number {
  const address = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = '']) => local.endsWith(address))
    .reduce((sum, [, , , , queues = '']) => sum + Number.parseInt(queues.split(':')[0]!, 16), 0);
}
