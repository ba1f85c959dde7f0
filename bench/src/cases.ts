import { readFileSync } from 'node:fs';
import { checkFile } from '@goshawk/papers/cases';
import { fail, readOptions } from './script.js';

/**
 * Runs cases of the papers' policies. One JSON line each: `{file, policy, name, ok, expected, got}`.
 *
 * Exit code 1 where one is not as expected, 2 for a file that cannot be read.
 */
const { positionals: files } = readOptions({}, true);
if (files.length === 0) fail('no file given: npm run cases -- FILE…');
try {
  for (const file of files) {
    for (const line of checkFile(file, readFileSync(file, 'utf8'))) {
      process.stdout.write(`${JSON.stringify(line)}\n`);
      if (!line.ok) process.exitCode = 1;
    }
  }
} catch (error) {
  fail((error as Error).message);
}
