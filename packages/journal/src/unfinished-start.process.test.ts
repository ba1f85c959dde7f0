import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openLmdbJournal } from './lmdb-journal.js';
import { recordsOf } from './records.fixture.js';

const OPENER = fileURLToPath(new URL('../dist/open-journal.fixture.js', import.meta.url));

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-unfinished-start-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a start that was interrupted while it created the journal does not prevent the next one', async () => {
  // Prevents files from growing, as on a full disk, where lmdb's native code ends the process.
  const script = 'trap \'\' XFSZ; ulimit -c 0; ulimit -f 0; exec "$@"';
  const first = spawnSync('bash', ['-c', script, 'bash', process.execPath, OPENER, folder], {
    encoding: 'utf8',
  });
  expect(first.stdout).not.toContain('opened');
  const journal = await openLmdbJournal({ folder, newTag: () => 'abcde', version: '1' });
  expect(recordsOf(journal)).toEqual([]);
  await journal.close();
});
