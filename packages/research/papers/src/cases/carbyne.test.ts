import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checkFile } from './check.js';

const FOLDER = new URL('carbyne/', import.meta.url);

test.each(readdirSync(FOLDER))('%s holds', (file) => {
  for (const { policy, name, expected, got, ok } of checkFile(
    file,
    readFileSync(new URL(file, FOLDER), 'utf8'),
  )) {
    expect({ policy, name, got }).toEqual({ policy, name, got: expected });
    expect(ok).toBe(true);
  }
});
