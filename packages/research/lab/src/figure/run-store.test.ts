import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FinishedRun } from '@goshawk/papers/figures';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunRequest } from '../simulate/request.js';
import { RunStore, stampOf, UNFINISHED } from './run-store.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-run-store-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const kept = () => readdir(join(folder, UNFINISHED));

describe('runs of an interrupted command', () => {
  const times = Float64Array.of(1, Number.NaN, 3);

  it('are used by the next one, with every number', async () => {
    await new RunStore(folder, 'a').run(['draw', 1], () => ({ times, shares: new Map([[3, 0.5]]) }));
    const next = new RunStore(folder, 'a');
    const run = await next.run(['draw', 1], () => expect.unreachable('it has been made'));
    expect(run).toEqual({ times, shares: new Map([[3, 0.5]]) });
    expect([next.takeResumed(), next.takeResumed()]).toEqual([1, 0]);
  });

  it('are made again with other code or data, and when their file is damaged', async () => {
    await new RunStore(folder, 'a').run(['draw', 1], () => 1);
    expect(await new RunStore(folder, 'b').run(['draw', 1], () => 2)).toBe(2);
    for (const file of await kept()) await writeFile(join(folder, UNFINISHED, file), 'x');
    expect(await new RunStore(folder, 'a').run(['draw', 1], () => 3)).toBe(3);
  });

  it('are kept one by one, and only the missing ones are made', async () => {
    const requests = [1, 2, 3, 2].map((seed) => ({ seed }) as RunRequest);
    const run = (seed: number) => ({ seed }) as unknown as FinishedRun;
    const failing = new RunStore(folder, 'a').runs('jobs', requests, async (_, made) => {
      await made(1, run(2));
      throw new Error('interrupted');
    });
    await expect(failing).rejects.toThrow('interrupted');
    const next = new RunStore(folder, 'a');
    const runs = await next.runs('jobs', requests, async (missing, made) => {
      expect(missing).toEqual([{ seed: 1 }, { seed: 3 }]);
      for (const [index, { seed }] of missing.entries()) await made(index, run(seed));
    });
    expect(runs).toEqual([1, 2, 3, 2].map(run));
    expect(next.left()).toMatch(/^the same command continues with the 3 finished runs in /);
  });

  it('are removed once the figures are written, except those of another command', async () => {
    const [one, other] = [new RunStore(folder, 'a'), new RunStore(folder, 'a')];
    await one.run(['draw', 1], () => 1);
    await other.run(['draw', 2], () => 2);
    await one.clear();
    expect(await kept()).toHaveLength(1);
    await other.clear();
    expect(await readdir(folder)).toEqual([]);
    expect(other.left()).toBe('nothing was written');
  });
});

describe('stampOf', () => {
  it('changes with each file that it is given', async () => {
    const file = join(folder, 'jobs.tr');
    const stamps = [await stampOf([folder])];
    for (const text of ['0 1 1 1', '0 1 1 10']) {
      await writeFile(file, text);
      stamps.push(await stampOf([folder]));
    }
    await utimes(file, 1, 1);
    stamps.push(await stampOf([folder]));
    expect(new Set(stamps).size).toBe(stamps.length);
    expect(await stampOf([folder])).toBe(stamps.at(-1));
  });
});
