import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { checkFile } from './cases/check.js';

/**
 * Runs cases of the papers' policies. One JSON line each: `{file, policy, name, ok, expected, got}`.
 *
 * Exit code 1 where one is not as expected, 2 for a file that cannot be read.
 */
function main(): void {
  const { positionals: files } = parseArgs({ allowPositionals: true });
  if (files.length === 0) throw new TypeError('no file given: npm run cases -- FILE…');
  for (const file of files) {
    for (const line of checkFile(file, readFileSync(file, 'utf8'))) {
      process.stdout.write(`${JSON.stringify(line)}\n`);
      if (!line.ok) process.exitCode = 1;
    }
  }
}

try {
  main();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exit(2);
}
