import { mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MessageOf } from '@goshawk/core';
import { Directory, type Logger } from '@goshawk/transport';
import { drawnMessage } from '@goshawk/transport/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { KeptResults } from './kept-results.js';

let folder: string;
let lines: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-results-'));
  lines = [];
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

/** The results as another process sees them, which numbers its parties anew. */
function opened(at = folder) {
  const log = (_fields: object, line: string) => void lines.push(line);
  const names = new Directory();
  names.intern('tcp://127.0.0.1:9!s.other/0');
  const logger = { info: log, warn: log, error: log } as unknown as Logger;
  return { names, results: new KeptResults(at, names, logger) };
}

const OWNER = 'tcp://127.0.0.1:7!s.one/0';

/** Drawn reports of ends. */
function ended(seed: number): MessageOf<'ended'> {
  return drawnMessage('ended', [], seed) as MessageOf<'ended'>;
}

function written(seeds: readonly number[]): void {
  const { names, results } = opened();
  results.write(seeds.map((seed) => ({ owner: names.intern(OWNER), message: ended(seed) })));
}

test('results arrive at the next process unchanged, for the same owner, as often as it starts', () => {
  const seeds = Array.from({ length: 50 }, (_, seed) => seed);
  vi.useFakeTimers({ toFake: ['Date'] });
  written(seeds);
  for (let start = 0; start < 2; start++) {
    const { names, results } = opened();
    const read = results.read();
    expect(read.map(({ message }) => message)).toEqual(
      seeds.map((seed) => ({ ...ended(seed), endedAgoMs: ended(seed).endedAgoMs ?? 0 })),
    );
    expect(new Set(read.map(({ owner }) => names.nameOf(owner)))).toEqual(new Set([OWNER]));
  }
});

test.each([
  ['grow older while no worker runs', 60_000, 61_000],
  ['are as old as before if the clock was set back', -60_000, 1_000],
])('results %s', (_what, passedMs, endedAgoMs) => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const { names, results } = opened();
  results.write([{ owner: names.intern(OWNER), message: { ...ended(0), endedAgoMs: 1_000 } }]);
  vi.setSystemTime(Date.now() + passedMs);
  expect(opened().results.read()).toMatchObject([{ message: { endedAgoMs } }]);
});

test('other users cannot read the results', () => {
  written([0]);
  expect(statSync(join(folder, 'results')).mode & 0o077).toBe(0);
});

test('a process that has handed over everything leaves nothing', () => {
  written([0]);
  written([]);
  expect(opened().results.read()).toEqual([]);
});

test('a worker starts with damaged results, and says so', () => {
  written([0, 1]);
  const path = join(folder, 'results');
  const { size } = statSync(path);
  for (let length = size - 1; length >= 0; length -= 97) {
    truncateSync(path, length);
    expect(opened().results.read()).toEqual([]);
  }
  writeFileSync(path, 'not results');
  expect(opened().results.read()).toEqual([]);
  expect(lines.at(-1)).toContain('damaged');
});

test('results that cannot be written are said to be dropped', () => {
  const { names, results } = opened(join(folder, 'missing'));
  results.write([{ owner: names.intern(OWNER), message: ended(0) }]);
  expect(lines.at(-1)).toContain('drops results of ended tasks');
});
