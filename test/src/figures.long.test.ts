import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readMeasurements } from './measurements.js';

const ROOT = join(import.meta.dirname, '../..');

/**
 * These take longer than 90 s, or need a trace that is not part of the repository; `npm run figures -- --check` checks
 * them, too.
 */
const SLOW = /^(3sigma-|carbyne-|goshawk-|hawk-|motivation )|--trace /;

/** Another figure with each commit: all would take an hour. */
const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' });
const [table] = readMeasurements().get('figures')!.tables;
const commands = table!.rows.flatMap(([run]) => /^`goshawk figure ([^`]+)/.exec(String(run))?.[1] ?? []);
const ids = commands.filter((each) => !SLOW.test(`${each} `)).map((each) => each.split(' ')[0]!);
const id = ids[Number.parseInt(commit.slice(0, 8), 16) % ids.length]!;

it(`${id} gives the verdicts that docs/PAPERS.md prints`, { timeout: 1_200_000 }, () => {
  const args = [join(ROOT, 'scripts/figures.mjs'), '--check', '--only', id];
  expect(execFileSync(process.execPath, args, { encoding: 'utf8' })).toMatch(/claims as printed\n$/);
});
