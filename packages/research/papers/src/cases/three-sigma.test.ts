import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkFile } from './check.js';

const FOLDER = join(import.meta.dirname, '3sigma');

test.each(readdirSync(FOLDER))('3Sigma: %s', (file) => {
  for (const { got, expected } of checkFile(file, readFileSync(join(FOLDER, file), 'utf8'))) {
    expect(got).toEqual(expected);
  }
});
