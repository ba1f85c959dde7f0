import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JobRecord, parseJobSpec } from '@goshawk/core';
import { openLmdbJournal } from '@goshawk/journal';
import { databases, recordsOf } from '@goshawk/journal/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PublishedChecks } from './schemas.fixture.js';
import { runHere } from './terminal.fixture.js';

/** The tests check real outputs of commands that need no cluster; schemas.long.test.ts has the others. */

const ROOT = join(import.meta.dirname, '../../..');
const published = new PublishedChecks();
const newDatabase = databases();
const cwd = mkdtempSync(join(tmpdir(), 'goshawk-schemas-'));
afterAll(() => rmSync(cwd, { recursive: true }));

const ACCEPTED: JobRecord = {
  kind: 'accepted',
  job: 1,
  at: Date.parse('2026-01-02T03:04:05Z'),
  key: 'k',
  spec: parseJobSpec({ name: 'nightly', tasks: [{ sleep: 5 }] }),
  class: 'short',
  classifiedBy: 'given',
  route: { by: 'probing', over: 'all' },
};

async function run(argv: readonly string[], input = '') {
  return runHere(argv, { cwd, environment: { XDG_STATE_HOME: cwd }, input });
}

async function expectToFit(schema: string, argv: readonly string[], input?: string): Promise<void> {
  const { stdout, stderr } = await run([...argv, '--json'], input);
  const output = JSON.parse(`${stdout}${stderr}`) as { schema: string };
  expect(output.schema).toBe(schema);
  await published.expectToFit(output);
}

beforeAll(async () => {
  const folder = join(cwd, 's0', 'journal');
  const journal = await openLmdbJournal({ folder, newTag: () => 'abcde', version: '1.2.3' });
  expect(recordsOf(journal)).toEqual([]);
  await journal.begin('tcp://127.0.0.1:7000!xyz/0');
  journal.append(ACCEPTED);
  journal.append({ kind: 'ended', job: 1, at: ACCEPTED.at + 9, state: 'completed' });
  await journal.close();
});

it.each<[schema: string, ...argv: string[]]>([
  ['goshawk.schemas/1', 'schema'],
  ['goshawk.clusters/1', 'clusters'],
  ['goshawk.config/1', 'config', 'show'],
  ['goshawk.policies/1', 'policies'],
  ['goshawk.policies/1', 'policies', 'carbyne'],
  ['goshawk.keygen/1', 'keygen', 'keys'],
  ['goshawk.keygen/1', 'keygen', 'keys', '--client', 'ci'],
  ['goshawk.keygen/1', 'keygen', 'keys', '--rotate'],
  ['goshawk.keygen/1', 'keygen', 'worker', 'w7', 'keys'],
  ['goshawk.keys-list/1', 'keys', 'keys'],
  ['goshawk.keys-revoked/1', 'keys', 'revoke', 'w7', 'keys'],
  ['goshawk.journal/1', 'journal', 'inspect', 's0'],
  ['goshawk.journal-verify/1', 'journal', 'verify', 's0'],
  ['goshawk.journal-backup/1', 'journal', 'backup', 's0', 'backups'],
  ['goshawk.journal-repair/1', 'journal', 'repair', 's0'],
  ['goshawk.error/1', 'jobs', '--state', 'asleep'],
])('%s fits its schema: %j %j %j %j', (schema, ...argv) => expectToFit(schema, argv));

it('an import of a journal fits its schema', async () => {
  const { stdout } = await run(['journal', 'export', 's0']);
  await expectToFit('goshawk.journal-import/1', ['journal', 'import', 's1'], stdout);
});

it.runIf(newDatabase.isThere)('outputs of journals in PostgreSQL fit their schemas', async () => {
  const url = await newDatabase();
  await expectToFit('goshawk.journal-init/1', ['journal', 'init', url]);
  const { stdout } = await run(['journal', 'export', 's0']);
  await run(['journal', 'import', url, '--name', 's0'], stdout);
  await expectToFit('goshawk.journal-owners/1', ['journal', 'owners', url]);
  await expectToFit('goshawk.journal/1', ['journal', 'inspect', url]);
});

/** Formats that only Goshawk reads and writes, with the reason. */
const PRIVATE: Readonly<Record<string, string>> = {
  'goshawk.keys/1': 'a key file',
  'goshawk.learnt/1': 'the file of learned run times in a data folder',
  'goshawk.value/1': 'large values between the Python package and the dashboard',
  'goshawk.values/1': 'large values between the Python package and the dashboard',
  'goshawk.values-job/1': 'large values between the Python package and the dashboard',
};

it('every schema that a program names is published', async () => {
  const names = await published.names();
  const sources = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', 'packages/*.ts'],
    {
      cwd: ROOT,
      encoding: 'utf8',
    },
  );
  const named = sources
    .trim()
    .split('\n')
    .filter((path) => !/\.(test|fixture)\.ts$/.test(path) && existsSync(join(ROOT, path)))
    .flatMap((path) =>
      [...readFileSync(join(ROOT, path), 'utf8').matchAll(/'(goshawk\.[\w-]+\/\d+)'/g)].map(
        ([, name]) => `${name} in ${path}`,
      ),
    );
  expect(named.length).toBeGreaterThan(60);
  const known = new Set([...names, ...Object.keys(PRIVATE)]);
  expect(named.filter((each) => !known.has(each.split(' ')[0]!))).toEqual([]);
});
