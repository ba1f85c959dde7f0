import { EventEmitter } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import * as children from './child.js';
import * as connecting from './connect.js';
import { LocalCluster } from './local-cluster.js';
import { LogFile } from './log-file.js';

// A separate process, because the test counts timers and open files.

const LOG_BYTES_MAX = 10_000;

/** Outcomes of the next failing starts by name; names that are absent start normally. */
const failing = new Map<string, string>();
const starts: { name: string; at: number }[] = [];
const running = new Map<string, (how: number) => void>();
let folder: string;

function startChild(name: string, _args: readonly string[], path: string): Promise<children.Child> {
  starts.push({ name, at: performance.now() });
  const why = failing.get(name);
  const log = new LogFile(path, LOG_BYTES_MAX);
  if (why !== undefined) log.write(Buffer.from(`{"level":60,"msg":"${why}"}\n`));
  log.close();
  if (why !== undefined) return Promise.reject(new Error(`${name} cannot start: ${why}`));
  const process = Object.assign(new EventEmitter(), { kill: () => running.get(name)?.(0) });
  const ended = new Promise<number>((resolve) => void running.set(name, resolve));
  const child = { name, pid: 1, endpoint: 'tcp://127.0.0.1:1', process, ended };
  return Promise.resolve(child as unknown as children.Child);
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-supervisor-'));
  vi.useFakeTimers();
  vi.spyOn(children, 'startChild').mockImplementation(startChild);
  vi.spyOn(connecting, 'connect').mockResolvedValue({
    describe: () => Promise.resolve({ workers: [{}], schedulers: [{}] }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  } as unknown as Awaited<ReturnType<typeof connecting.connect>>);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

const openFiles = (): number => readdirSync('/proc/self/fd').length;

test('a failing process is retried ten thousand times with backoff and without leaks', async () => {
  const notes: string[] = [];
  const options = {
    workers: 1,
    slots: 1,
    schedulers: 1,
    policy: {},
    bind: 'tcp://127.0.0.1:0',
    attribute: [],
    dataFolder: folder,
    journal: false,
    logLevel: 'info',
    note: (line: string) => notes.push(line),
  };
  const cluster = await LocalCluster.start(options as unknown as Parameters<typeof LocalCluster.start>[0]);
  const files = openFiles();
  starts.length = 0;
  failing.set('s0', 'its disk is full');
  running.get('s0')!(1);
  await vi.waitFor(() => expect(notes).toHaveLength(1));
  await vi.advanceTimersByTimeAsync(1_000);
  const timers = vi.getTimerCount();
  while (starts.length < 10_000) await vi.advanceTimersToNextTimerAsync();
  expect(notes).toStrictEqual([
    's0 exited (1); restarting it',
    's0 cannot start: its disk is full; retrying until it is up',
  ]);
  const pauses = starts.slice(1).map(({ at }, i) => Math.round(at - starts[i]!.at));
  expect(pauses.slice(0, 6)).toStrictEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  expect(new Set(pauses.slice(6))).toStrictEqual(new Set([10_000]));
  expect(vi.getTimerCount()).toBe(timers);
  expect(openFiles()).toBe(files);
  const logs = readdirSync(join(folder, 'logs')).filter((file) => file.startsWith('s0'));
  expect(logs.sort()).toStrictEqual(['s0.log', 's0.log.1']);
  for (const log of logs) expect(statSync(join(folder, 'logs', log)).size).toBeLessThanOrEqual(LOG_BYTES_MAX);
  failing.clear();
  await vi.advanceTimersToNextTimerAsync();
  expect(notes.at(-1)).toBe('s0 is back');
  await cluster.stop();
});
