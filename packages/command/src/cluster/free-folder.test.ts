import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Journal, openLmdbJournal } from '@goshawk/journal';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { foldersBeyond, inFreeFolder, journalIn, type SchedulerFolder } from './free-folder.js';

let parent = '';
const open: Journal[] = [];

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'goshawk-folders-'));
});

afterEach(async () => {
  for (const journal of open.splice(0)) await journal.close();
  rmSync(parent, { recursive: true, force: true });
});

/** Simulates a scheduler that uses the offered folder. */
async function journalled({ number, path }: SchedulerFolder): Promise<number> {
  open.push(await openLmdbJournal({ folder: journalIn(path), newTag: () => 'abcde', version: '0' }));
  return number;
}

describe('schedulers that share a data folder', () => {
  test('each claim a different folder', async () => {
    const numbers = await Promise.all([0, 1, 2].map(() => inFreeFolder(parent, 3, journalled)));
    expect(numbers.toSorted()).toStrictEqual([0, 1, 2]);
  });

  test('prefer a folder with a journal to an empty one, since jobs may wait there', async () => {
    const number = await inFreeFolder(parent, 50, journalled);
    await open.pop()!.close();
    expect(await inFreeFolder(parent, 50, journalled)).toBe(number);
  });

  test('get an error when no folder is free', async () => {
    await inFreeFolder(parent, 1, journalled);
    await expect(inFreeFolder(parent, 1, journalled)).rejects.toMatchObject({
      code: 'no-free-folder',
      message: expect.stringContaining('running schedulers use all folders in'),
    });
  });

  test('know the folders with jobs that fewer schedulers do not claim', () => {
    for (const number of [0, 2, 3, 10]) mkdirSync(journalIn(join(parent, `${number}`)), { recursive: true });
    for (const name of ['4', 'lost+found']) mkdirSync(join(parent, name));
    expect(foldersBeyond(parent, 11)).toEqual([]);
    expect(foldersBeyond(parent, 3)).toEqual(['3', '10'].map((number) => join(parent, number)));
  });

  test('fail with the error of a free folder', async () => {
    mkdirSync(join(parent, '0'));
    const broken = (): Promise<never> => Promise.reject(new Error('no space left'));
    await expect(inFreeFolder(parent, 1, broken)).rejects.toThrow('no space left');
  });
});
