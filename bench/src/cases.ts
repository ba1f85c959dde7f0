import fs from 'node:fs';
import { decodeText, readRegularFile } from '@goshawk/core';
import { checkFile } from '@goshawk/papers/cases';
import { fail, readOptions } from './script.js';

/**
 * Runs test cases of the papers' policies. Prints one JSON line each: `{file, policy, name, ok, expected, got}`.
 *
 * The exit code is 1 if a case fails and 2 if a file cannot be read.
 */
const { positionals: files } = readOptions({}, true);
if (files.length === 0) fail('no file given: npm run cases -- FILE…');
try {
  for (const file of files) {
    for (const line of checkFile(file, read(file))) {
      process.stdout.write(`${JSON.stringify(line)}\n`);
      if (!line.ok) process.exitCode = 1;
    }
  }
} catch (error) {
  fail((error as Error).message);
}

function read(file: string): string {
  const bytes = readRegularFile(
    fs,
    file,
    (why, cause) => new Error(`cannot read ${file}: ${why}`, { cause }),
  );
  return decodeText(bytes, file);
}
