import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '@goshawk/transport';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { JournalMoves } from './journal-moves.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-moves-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const errors: string[] = [];
const logger = { error: (_: object, text: string) => void errors.push(text) } as unknown as Logger;

test('the next process reads how often copies were admitted, and none from a damaged file', () => {
  const path = join(folder, 'moves.json');
  new JournalMoves(path, logger).set('aaaaa', 2);
  expect([...new JournalMoves(path, logger).byTag]).toEqual([['aaaaa', 2]]);
  for (const text of ['', '{"aaaaa":', 'null', '{"aaaaa":"2"}']) {
    writeFileSync(path, text);
    expect([...new JournalMoves(path, logger).byTag]).toEqual([]);
  }
  expect(errors).toEqual([]);
});

test('a file that cannot be written is logged, and the number is known until the process ends', () => {
  const moves = new JournalMoves(join(folder, 'missing', 'moves.json'), logger);
  moves.set('aaaaa', 1);
  expect(moves.byTag.get('aaaaa')).toBe(1);
  expect(errors).toEqual([expect.stringContaining('never start its original again')]);
});
