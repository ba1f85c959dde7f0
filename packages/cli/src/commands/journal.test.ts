import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JobRecord, parseJobSpec } from '@goshawk/core';
import { openLmdbJournal } from '@goshawk/journal';
import { recordsOf } from '@goshawk/journal/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runHere } from '../terminal.fixture.js';

let cwd = '';
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'goshawk-journal-test-'));
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

const AT = Date.parse('2026-01-02T03:04:05Z');
const ACCEPTED: JobRecord = {
  kind: 'accepted',
  job: 1,
  at: AT,
  key: 'k',
  spec: parseJobSpec({ name: 'nightly', tasks: [{ sleep: 5 }] }),
  class: 'short',
  classifiedBy: 'given',
  route: { by: 'probing', over: 'all' },
};
const SCHEDULERS: JobRecord = { kind: 'schedulers', job: 0, at: AT, names: ['s0'] };
const ENDED: JobRecord = { kind: 'ended', job: 1, at: AT + 9, state: 'completed' };

/** Writes the journal of a scheduler whose data folder is `s0`. */
async function written(...records: JobRecord[]): Promise<void> {
  const folder = join(cwd, 's0', 'journal');
  const journal = await openLmdbJournal({ folder, newTag: () => 'abcde', version: '1.2.3' });
  expect(recordsOf(journal)).toEqual([]);
  await journal.begin('tcp://127.0.0.1:7000!xyz/0');
  for (const record of records) journal.append(record);
  await journal.close();
}

const journal = (...argv: string[]) => runHere(['journal', ...argv], { cwd });

describe('journal', () => {
  it('inspect describes the contents, for people and for programs', async () => {
    await written(ACCEPTED, ENDED, { ...ACCEPTED, job: 2 });
    const { stdout, exitCode } = await journal('inspect', 's0');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^jobs abcde-\*, format \d, written by goshawk 1\.2\.3\n2 jobs: 1 active, 1 ended\n3 records/,
    );
    expect(stdout).toMatch(/^last owned by tcp:\/\/127\.0\.0\.1:7000$/m);
    const json = JSON.parse((await journal('inspect', 's0/journal', '--json')).stdout);
    expect(json).toMatchObject({
      schema: 'goshawk.journal/1',
      tag: 'abcde',
      jobs: 2,
      jobsEnded: 1,
      lastAt: AT + 9,
    });
  });

  it('verify exits with 1 for a damaged journal', async () => {
    await written(ACCEPTED, ENDED);
    expect(await journal('verify', 's0')).toMatchObject({
      exitCode: 0,
      stdout: '2 records of 1 job can be read, 0 damaged\n',
    });
    await rm(join(cwd, 's0'), { recursive: true });
    await written(ACCEPTED, ENDED, { ...ENDED, job: 3 });
    expect(await journal('verify', 's0')).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining('abcde-3: record 0: it begins with "ended"'),
    });
  });

  it('backup writes a file that import restores, and replaces an earlier backup only with a complete one', async () => {
    await written(ACCEPTED, ENDED);
    expect(await journal('backup', 's0', 'safe/place')).toMatchObject({
      exitCode: 0,
      stdout: `${join(cwd, 'safe/place/abcde.jsonl')} has 2 records\n`,
    });
    const saved = await readFile(join(cwd, 'safe/place/abcde.jsonl'), 'utf8');
    expect(saved).toBe((await journal('export', 's0')).stdout);
    await rm(join(cwd, 's0'), { recursive: true });
    const restored = await runHere(['journal', 'import', 's1'], { cwd, input: saved });
    expect(restored).toMatchObject({ exitCode: 0 });
    expect((await journal('verify', 's1')).stdout).toBe('2 records of 1 job can be read, 0 damaged\n');

    const file = join(cwd, 's1', 'journal', 'jobs.mdb');
    await truncate(file, (await stat(file)).size / 2);
    expect((await journal('backup', 's1', 'safe/place')).exitCode).not.toBe(0);
    expect(await readFile(join(cwd, 'safe/place/abcde.jsonl'), 'utf8')).toBe(saved);
    expect(await readdir(join(cwd, 'safe/place'))).toEqual(['abcde.jsonl']);
  });

  it('backup of a folder backs up the data folder of each scheduler in it', async () => {
    await written(ACCEPTED, ENDED);
    const exported = (await journal('export', 's0')).stdout;
    await runHere(['journal', 'import', 'all/a'], { cwd, input: exported });
    await runHere(['journal', 'import', 'all/c'], { cwd, input: exported.replaceAll('abcde', 'fghij') });
    await mkdir(join(cwd, 'all', 'other'));
    expect((await journal('backup', 'all', 'safe')).exitCode).toBe(0);
    expect((await readdir(join(cwd, 'safe'))).sort()).toEqual(['abcde.jsonl', 'fghij.jsonl']);

    // One that cannot be read is reported, and does not keep the others from being backed up.
    const file = join(cwd, 'all/a/journal/jobs.mdb');
    await truncate(file, (await stat(file)).size / 2);
    await rm(join(cwd, 'safe'), { recursive: true });
    const partly = await journal('backup', 'all', 'safe');
    expect(partly.exitCode).not.toBe(0);
    expect(partly.stderr).toContain(join(cwd, 'all/a'));
    expect(await readdir(join(cwd, 'safe'))).toEqual(['fghij.jsonl']);
  });

  it('export prints each record as a line of JSON', async () => {
    await written(ACCEPTED, ENDED);
    const { stdout } = await journal('export', 's0');
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toMatchObject([
      { id: 'abcde-1', kind: 'accepted', key: 'k', spec: { name: 'nightly' } },
      { id: 'abcde-1', kind: 'ended', state: 'completed' },
    ]);
  });

  it('import restores the journal from the output of export', async () => {
    // The last record belongs to no job.
    await written(ACCEPTED, ENDED, { ...ACCEPTED, job: 2 }, SCHEDULERS);
    const { stdout } = await journal('export', 's0');
    const imported = await runHere(['journal', 'import', 's1'], { cwd, input: stdout });
    expect(imported).toMatchObject({
      exitCode: 0,
      stdout: `${join(cwd, 's1', 'journal')} has 4 records of 2 jobs\n`,
    });
    expect((await journal('export', 's1')).stdout).toBe(stdout);
    const again = await runHere(['journal', 'import', 's1'], { cwd, input: stdout });
    expect(again.exitCode).toBe(2);
    expect(again.stderr).toContain('there is already a journal in');
    const lines = ['{}', stdout.replace('"accepted"', '"no such"'), stdout.replace('abcde-2', 'other-2'), ''];
    for (const input of lines) {
      expect(await runHere(['journal', 'import', 's2'], { cwd, input })).toMatchObject({ exitCode: 2 });
    }
    expect(existsSync(join(cwd, 's2'))).toBe(false);
  });

  it.each([
    ['accepted', { stagesMs: 'long' }],
    ['accepted', { stagesMs: [1, 2, 3] }],
    ['accepted', { stagesMs: [-1] }],
    ['accepted', { stagesMs: [null] }],
    ['accepted', { spec: { ...ACCEPTED.spec, estimateMs: 'long' } }],
    ['accepted', { spec: { ...ACCEPTED.spec, stages: [null] } }],
    ['classified', { estimateMs: -5 }],
    ['classified', { estimateMs: '5s' }],
    ['classified', { stagesMs: [{}] }],
  ])('import rejects %s with %j in one line, and creates nothing', async (kind, fields) => {
    const records = [ACCEPTED, kind === 'accepted' ? { ...ACCEPTED, job: 2 } : { ...ACCEPTED, kind }];
    const lines = records.map((record, i) =>
      JSON.stringify({ id: `abcde-${record.job}`, ...record, ...(i === 1 ? fields : {}) }),
    );
    const { exitCode, stderr } = await runHere(['journal', 'import', 's2'], { cwd, input: lines.join('\n') });
    expect(stderr).toMatch(/^goshawk: line 2 (has a bad (stagesMs|estimateMs)|is not a job record).*\n$/);
    expect(exitCode).toBe(2);
    expect(existsSync(join(cwd, 's2'))).toBe(false);
  });

  it('verify and export report a truncated file in one line, and repair recovers the rest', async () => {
    await written(...Array.from({ length: 200 }, (_, i): JobRecord => ({ ...ACCEPTED, job: i + 1 })));
    const file = join(cwd, 's0', 'journal', 'jobs.mdb');
    await truncate(file, (await stat(file)).size - 2 * 4_096);
    const before = await readFile(file);
    const folder = join(cwd, 's0', 'journal');
    const line = new RegExp(
      `^goshawk: the journal in ${folder} is damaged: it has \\d+ bytes but should have .*repair.*\n$`,
    );
    for (const command of ['verify', 'export', 'inspect']) {
      const { exitCode, stderr } = await journal(command, 's0');
      expect(stderr).toMatch(line);
      expect(exitCode).toBe(2);
    }
    const start = openLmdbJournal({ folder, newTag: () => 'abcde', version: '1.2.3' });
    await expect(start).rejects.toThrow(/is damaged/);
    expect(await readFile(file)).toEqual(before);
    const { stdout, exitCode } = await journal('repair', 's0');
    expect(exitCode).toBe(0);
    const [, jobs, kept] = /has (\S+) records? of \S+ jobs?; the damaged one is kept as (.*)\n$/.exec(
      stdout,
    )!;
    expect(await readFile(kept!)).toEqual(before);
    expect((await journal('verify', 's0')).stdout).toContain(
      `${jobs} records of ${jobs} jobs can be read, 0 damaged`,
    );
    expect((await journal('repair', 's0')).stdout).toBe('no record is damaged; nothing was changed\n');
  });

  it('reports a folder without a journal', async () => {
    const { exitCode, stderr } = await journal('inspect', '.');
    expect(exitCode).toBe(2);
    expect(stderr).toBe(
      `goshawk: there is no journal in ${cwd}; use the data folder of a scheduler, such as .goshawk/s0\n`,
    );
    await writeFile(join(cwd, 'jobs.mdb'), 'not lmdb');
    expect((await journal('inspect', '.')).stderr).toContain('is damaged: it is not an LMDB file');
    const repair = await journal('repair', '.');
    expect([repair.exitCode, repair.stderr]).toEqual([2, expect.stringContaining('move jobs.mdb away')]);
  });
});
