import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLmdbJournal } from '@goshawk/journal';
import { accepted, attempt, damageFile, ended, recordsOf } from '@goshawk/journal/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Finished, startGoshawk } from '../goshawk-process.fixture.js';

/** Number of damaged variants; `GOSHAWK_DAMAGED_COMMANDS=1000` tries more. */
const SEEDS = Number(process.env.GOSHAWK_DAMAGED_COMMANDS ?? 16);
const ENDS_WITHIN_MS = 10_000;
/** Upper bound for verifying a sound journal on an idle machine. */
const QUIET_MS = 1_000;

let home = '';
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'goshawk-damaged-commands-'));
  const folder = join(home, 'sound', 'journal');
  const journal = await openLmdbJournal({ folder, newTag: () => 'abcde', version: '1.2.3' });
  expect(recordsOf(journal)).toEqual([]);
  await journal.begin('tcp://127.0.0.1:1!s.one/0');
  for (let job = 1; job <= 200; job++) {
    journal.append(accepted(job));
    for (let task = 0; task < 5; task++)
      journal.append(attempt(job, task, 'x'.repeat(job % 10 === 0 ? 9_000 : job)));
    if (job % 2 === 0) journal.append(ended(job));
  }
  await journal.close();
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const fileIn = (folder: string): string => join(folder, 'journal', 'jobs.mdb');

/** Returns how a command ended; undefined for a scheduler that started and was stopped by the test. */
async function outcomeOf(args: readonly string[]): Promise<{ ended: Finished | undefined; ms: number }> {
  const startedAt = performance.now();
  const running = startGoshawk(args);
  const isUp = await Promise.race([
    running.finished.then(() => false),
    running.firstLine.then(isScheduler, () => false),
  ]);
  if (isUp) running.kill('SIGKILL');
  const ended = await running.finished;
  return { ended: isUp ? undefined : ended, ms: performance.now() - startedAt };
}

const TALLY = /can be read, [\d,]+ damaged\n$/;

const isScheduler = (line: string): boolean => line.includes('"endpoint"');

/** Returns stderr without the daemon's log: the error, and how much was skipped. */
function lastWords({ stderr }: Finished): string[] {
  return stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{"level"'));
}

describe('the command on a damaged journal', () => {
  test.each(Array.from({ length: SEEDS }, (_, seed) => seed))(
    'verifies, exports and starts, or says in one line why not (seed %i)',
    async (seed) => {
      const folder = join(home, `${seed}`);
      mkdirSync(join(folder, 'journal'), { recursive: true });
      copyFileSync(fileIn(join(home, 'sound')), fileIn(folder));
      const how = damageFile(fileIn(folder), seed);
      const before = readFileSync(fileIn(folder));
      const sound = await outcomeOf(['journal', 'verify', join(home, 'sound')]);
      expect(sound.ended).toMatchObject({ exitCode: 0 });
      const boundMs = ENDS_WITHIN_MS * Math.max(1, sound.ms / QUIET_MS);
      const scheduler = [
        'scheduler',
        '--json',
        '--central-url',
        'tcp://127.0.0.1:1',
        '--data-folder',
        folder,
      ];
      for (const args of [['journal', 'verify', folder], ['journal', 'export', folder], scheduler]) {
        const { ended, ms } = await outcomeOf(args);
        expect(ms, `${args[0]} ${args[1]}: ${how}`).toBeLessThan(boundMs);
        if (ended === undefined) continue;
        expect([0, 1, 2], `${args[0]} ${args[1]}: ${how}\n${ended.stderr}`).toContain(ended.exitCode);
        const said = lastWords(ended);
        expect(said.filter((line) => line.startsWith('goshawk: ')).length, ended.stderr).toBeLessThanOrEqual(
          1,
        );
        expect(said.length, ended.stderr).toBeLessThanOrEqual(2);
        if (ended.exitCode !== 0) expect(said.length > 0 || TALLY.test(ended.stdout), how).toBe(true);
        expect(ended.stderr).not.toMatch(/unexpected|MDB_|Assertion/);
        expect(readFileSync(fileIn(folder)).equals(before), how).toBe(true);
      }
      rmSync(folder, { recursive: true });
    },
  );
});
