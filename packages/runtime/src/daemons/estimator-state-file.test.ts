import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '@goshawk/transport';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EstimatorStateFile, type EstimatorStateStore } from './estimator-state-file.js';

let folder = '';
let file = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-learnt-test-'));
  file = join(folder, 'learnt.json');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function logged(): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const note = (_: object, line: string) => {
    lines.push(line);
  };
  return { lines, logger: { debug: note, info: note, warn: note, error: note, fatal: note } as Logger };
}

async function keptOnce(estimatorStates: object, at = file): Promise<string[]> {
  const { logger, lines } = logged();
  const kept = new EstimatorStateFile(at, logger);
  kept.keep(() => estimatorStates as Readonly<Record<string, unknown>>);
  await kept.close();
  return lines;
}

function storeOf(write: (text: string) => Promise<void>): EstimatorStateStore {
  return { name: 'a store', read: async () => undefined, write: (pieces) => write([...pieces].join('')) };
}

describe('estimator state', () => {
  test('is restored at the next start, and interrupted writes leave no files', async () => {
    await writeFile(`${file}.partial`, '{"schema":');
    const estimatorStates = { history: { schema: 'goshawk.history/1', values: [] } };
    await keptOnce(estimatorStates);
    expect(await new EstimatorStateFile(file, logged().logger).load()).toEqual(estimatorStates);
    expect(await readdir(folder)).toEqual(['learnt.json']);
  });

  test('is empty at first', async () => {
    expect(await new EstimatorStateFile(file, logged().logger).load()).toEqual({});
  });

  test('is not written again if nothing has changed', async () => {
    await keptOnce({ history: 1 });
    const kept = new EstimatorStateFile(file, logged().logger);
    kept.keep(() => undefined);
    await kept.close();
    expect(await kept.load()).toEqual({ history: 1 });
  });

  test('that cannot be written is reported, and the process continues', async () => {
    const lines = await keptOnce({ history: 1 }, join(folder, 'missing', 'learnt.json'));
    expect(lines).toEqual([expect.stringContaining('cannot save learned run times: ENOENT')]);
  });

  test('that could not be written is written the next time, even if nothing has changed', async () => {
    const written: string[] = [];
    let isFull = true;
    const kept = new EstimatorStateFile(
      storeOf(async (text) => {
        if (isFull) throw new Error('the disk is full');
        written.push(text);
      }),
      logged().logger,
    );
    const learnt: (object | undefined)[] = [{ history: 1 }];
    kept.keep(() => learnt.shift() as Readonly<Record<string, unknown>> | undefined, 5);
    await expect.poll(() => learnt.length).toBe(0);
    isFull = false;
    await expect.poll(() => written).toEqual([expect.stringContaining('"history":1')]);
    await kept.close();
    expect(written).toHaveLength(1);
  });

  test('that could not be written never replaces newer state', async () => {
    const written: string[] = [];
    let fail: (error: Error) => void = () => {};
    const first = new Promise<void>((_, reject) => {
      fail = reject;
    });
    let calls = 0;
    const kept = new EstimatorStateFile(
      storeOf(async (text) => {
        if (++calls === 1) await first;
        written.push(text);
      }),
      logged().logger,
    );
    const learnt: (object | undefined)[] = [{ history: 'older' }, { history: 'newer' }];
    kept.keep(() => learnt.shift() as Readonly<Record<string, unknown>> | undefined, 5);
    await expect.poll(() => learnt.length).toBe(0);
    fail(new Error('it was away'));
    await expect.poll(() => written).toEqual([expect.stringContaining('newer')]);
    await kept.close();
    expect(written).toHaveLength(1);
  });

  test('is waited for only a limited time if its store does not respond', async () => {
    const kept = new EstimatorStateFile(
      storeOf(() => new Promise(() => {})),
      logged().logger,
    );
    kept.keep(() => ({ history: 1 }));
    await kept.close();
  });

  test.each([
    ['{"schema":"goshawk.learnt/1","learnt":{"hist', 'is damaged'],
    ['{"schema":"goshawk.learnt/1"}', 'is damaged'],
    ['{"schema":"goshawk.run/1"}', 'is not a file of learned run times'],
    ['{"schema":"goshawk.learnt/2","learnt":{}}', 'was written by a newer version (goshawk.learnt/2'],
  ])('with %s is refused and kept', async (text, why) => {
    await writeFile(file, text);
    await expect(new EstimatorStateFile(file, logged().logger).load()).rejects.toThrow(why);
    expect(await readFile(file, 'utf8')).toBe(text);
  });
});

test('a file that may not be replaced stays unchanged', async () => {
  await keptOnce({ history: 'newer' });
  const { logger } = logged();
  const kept = new EstimatorStateFile(file, logger);
  kept.keep(() => ({ history: 'ours' }));
  kept.giveUp();
  await kept.close();
  expect(await kept.load()).toEqual({ history: 'newer' });
});
