import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { Packr } from 'msgpackr/index-no-eval';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openLmdbJournal } from './lmdb-journal.js';
import { OfflineJournal, summaryOf, verify } from './offline.js';
import type { Damaged } from './reading.js';
import { FORMAT } from './record-codec.js';
import {
  accepted,
  attempt,
  EVERY_KIND,
  EVERY_KIND_BY_JOB,
  ended,
  forgotten,
  recordsOf,
} from './records.fixture.js';
import { importJournal } from './repair.js';
import { Room } from './room.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-journal-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const room = { fullBelow: 0, stopBelow: 0, reserve: 0, everyMs: 1_000 };

const NOTHING_SPARE = { spareBytes: () => 0, problem: () => undefined };

function openHere() {
  return openLmdbJournal({ folder, newTag: () => 'abcde', version: '1.2.3', room });
}

async function written(...records: Parameters<Awaited<ReturnType<typeof openHere>>['append']>[0][]) {
  const journal = await openHere();
  const before = recordsOf(journal);
  for (const record of records) journal.append(record);
  await journal.close();
  return before;
}

/** Changes the file behind the journal's back. */
async function tamper(
  change: (database: (name: string) => ReturnType<ReturnType<typeof open>['openDB']>) => void,
) {
  const root = open({ path: join(folder, 'jobs.mdb'), noSubdir: true, overlappingSync: false, maxDbs: 2 });
  change((name) => root.openDB(name, { encoding: 'binary' }));
  await root.close();
}

describe('versions', () => {
  test('a journal from a newer version is refused with its version', async () => {
    await written(accepted(1));
    await tamper((database) =>
      database('identity').putSync(
        'identity',
        new Packr().pack({ format: FORMAT + 1, tag: 'x', version: '9.0.0' }),
      ),
    );
    const error = await openHere().catch((thrown: Error) => thrown);
    expect(error).toMatchObject({
      code: 'journal-newer',
      message: `the journal in ${folder} was written by goshawk 9.0.0 in format ${FORMAT + 1}; this version reads formats up to ${FORMAT}`,
      hint: 'use that version or a later one',
    });
  });

  test('a journal from an older version is read, and records the version that opened it', async () => {
    await written(accepted(1));
    const identity = { format: FORMAT, tag: 'abcde', version: '0.0.9' };
    await tamper((database) => database('identity').putSync('identity', new Packr().pack(identity)));
    const journal = await openHere();
    expect(recordsOf(journal)).toEqual([accepted(1)]);
    await journal.begin('tcp://127.0.0.1:1!a/0');
    await journal.close();
    const offline = await OfflineJournal.open(folder);
    expect(summaryOf(offline)).toMatchObject({ format: FORMAT, version: '1.2.3', jobs: 1 });
    await offline.close();
  });

  test('a file that is not a journal is refused', async () => {
    writeFileSync(join(folder, 'jobs.mdb'), 'these are not the jobs that you are looking for'.repeat(1_000));
    await expect(openHere()).rejects.toMatchObject({ code: 'journal-damaged' });
  });
});

test('a closing journal reports its last durable record, and then that nothing can be read any more', async () => {
  const journal = await openHere();
  expect(recordsOf(journal)).toEqual([]);
  const reported: unknown[] = [];
  journal.listen({ recorded: (count) => reported.push(count), stateChanged: () => {} });
  const place = journal.append(accepted(1));
  await journal.close(() => reported.push(journal.readRecord?.(1, place!)));
  expect(reported).toEqual([1, accepted(1)]);
});

test('all records of a job are read once and in order, durable or in flight', async () => {
  await written(accepted(1), accepted(2), attempt(1, 0));
  const journal = await openHere();
  void recordsOf(journal);
  const kindsOf = (job: number) => Array.from(journal.readJobRecords!(job), ([, { kind }]) => kind);
  expect(kindsOf(1)).toStrictEqual(['accepted', 'attempt']);
  journal.append(attempt(1, 1));
  journal.append(ended(1));
  expect(kindsOf(1)).toStrictEqual(['accepted', 'attempt', 'attempt', 'ended']);
  expect(kindsOf(2)).toStrictEqual(['accepted']);
  expect(kindsOf(3)).toStrictEqual([]);
  await journal.close();
});

describe('damage', () => {
  test('a record that changed on disk is detected when it is read', async () => {
    await written(accepted(1), attempt(1, 0));
    await tamper((database) => {
      const records = database('records');
      const [last] = [...records.getKeys({ reverse: true, limit: 1 })];
      const bytes = Buffer.from(records.get(last!) as Buffer);
      bytes[bytes.length - 1]! ^= 1;
      records.putSync(last!, bytes);
    });
    const journal = await openHere();
    const damaged = { job: 1, place: 1, problem: 'the checksum is wrong' };
    const leftOut: Damaged[] = [];
    expect(recordsOf(journal, (one) => leftOut.push(one))).toEqual([accepted(1)]);
    expect(leftOut).toEqual([damaged]);
    await journal.close();
    const offline = await OfflineJournal.open(folder);
    expect(verify(offline)).toEqual({
      records: 1,
      jobs: 1,
      damaged: [damaged],
    });
    await offline.close();
  });

  test('misplaced records are detected', async () => {
    await written(accepted(1), ended(1), attempt(1, 0), attempt(2, 0));
    const offline = await OfflineJournal.open(folder);
    expect(verify(offline).damaged).toEqual([
      { job: 1, place: 2, problem: '"attempt" follows its end' },
      { job: 2, place: 0, problem: 'it begins with "attempt"' },
    ]);
    await offline.close();
  });
});

describe('offline', () => {
  test('a journal can be read while its scheduler uses it', async () => {
    const journal = await openHere();
    expect(recordsOf(journal)).toEqual([]);
    const recorded = new Promise<void>((resolve) => {
      journal.listen({ recorded: () => resolve(), stateChanged: () => {} });
    });
    for (const record of EVERY_KIND) journal.append(record);
    await recorded;
    const offline = await OfflineJournal.open(folder);
    expect(recordsOf(offline)).toEqual(EVERY_KIND_BY_JOB);
    expect(summaryOf(offline)).toMatchObject({
      tag: 'abcde',
      format: FORMAT,
      version: '1.2.3',
      jobs: 1,
      jobsEnded: 1,
      records: EVERY_KIND.length,
    });
    await offline.close();
    await journal.close();
  });

  test('reading creates no journal', async () => {
    await expect(OfflineJournal.open(folder)).rejects.toMatchObject({ code: 'no-journal' });
    expect(existsSync(join(folder, 'jobs.mdb'))).toBe(false);
  });
});

describe('disk space', () => {
  test('the space of forgotten jobs is freed when the journal is opened again', async () => {
    const large = 'x'.repeat(200_000);
    const jobs = Array.from({ length: 100 }, (_, i) => i + 1);
    await written(...jobs.flatMap((job) => [accepted(job), attempt(job, 0, large)]));
    await written(...jobs.slice(1).map((job) => forgotten(job)));
    const before = statSync(join(folder, 'jobs.mdb')).size;
    expect(await written()).toEqual([accepted(1), attempt(1, 0, large)]);
    expect(statSync(join(folder, 'jobs.mdb')).size).toBeLessThan(before / 10);
    expect(await written(ended(1))).toHaveLength(2);
    expect(await written()).toHaveLength(3);
  });

  test('a removed or replaced file accepts no new jobs, because its records would be lost', async () => {
    const journal = await openLmdbJournal({
      folder,
      newTag: () => 'abcde',
      version: '1.2.3',
      room: { ...room, everyMs: 5 },
    });
    expect(recordsOf(journal)).toEqual([]);
    const file = join(folder, 'jobs.mdb');
    renameSync(file, `${file}.aside`);
    const gone = {
      kind: 'full',
      isLost: true,
      message: expect.stringContaining(`${file} was removed or replaced`),
    };
    await expect.poll(() => journal.state).toEqual(gone);
    expect(journal.metrics().state).toBe('lost');
    writeFileSync(file, 'a backup');
    journal.append(accepted(1));
    await expect.poll(() => journal.metrics().recordsWritten).toBe(1);
    expect(journal.state).toEqual(gone);
    rmSync(file);
    renameSync(`${file}.aside`, file);
    await expect.poll(() => journal.state).toEqual({ kind: 'open' });
    await journal.close();
  });

  test('the reserve is released when the disk is full, and restored when there is space', async () => {
    let free = 10_000_000;
    const said: (string | undefined)[] = [];
    const limits = { fullBelow: 1_000_000, stopBelow: 1_000, reserve: 50_000, everyMs: 1e6 };
    const watch = new Room(folder, limits, { freeBytes: () => free, ...NOTHING_SPARE }, (problem) =>
      said.push(problem),
    );
    const reserve = join(folder, 'reserve');
    await watch.settled;
    expect(statSync(reserve).size).toBe(50_000);
    free = 999_999;
    watch.check();
    expect(existsSync(reserve)).toBe(false);
    // The reserve's space is used by records of accepted jobs.
    free = 1_040_000;
    watch.check();
    free = 10_000_000;
    watch.check();
    await watch.settled;
    expect(statSync(reserve).size).toBe(50_000);
    expect(said.map((problem) => problem !== undefined)).toEqual([false, true, true, false]);
    watch.close();
  });

  test('an unreadable or read-only disk is reported, and the process continues', async () => {
    let fails = true;
    const said: (string | undefined)[] = [];
    const limits = { fullBelow: 1_000, stopBelow: 100, reserve: 500, everyMs: 1e6 };
    const freeBytes = () => {
      if (fails) throw new Error('EIO: i/o error');
      return 1_000_000;
    };
    mkdirSync(join(folder, 'reserve'));
    const watch = new Room(folder, limits, { freeBytes, ...NOTHING_SPARE }, (problem) => said.push(problem));
    expect(said).toEqual([`cannot check the disk of ${folder}: EIO: i/o error`]);
    expect(watch.free).toBeUndefined();
    fails = false;
    rmSync(join(folder, 'reserve'), { recursive: true });
    mkdirSync(join(folder, 'reserve'), { mode: 0 });
    watch.check();
    await watch.settled;
    watch.check();
    await watch.settled;
    expect(said.at(-1)).toMatch(/cannot create the reserve file in .*EISDIR/);
    rmSync(join(folder, 'reserve'), { recursive: true });
    watch.check();
    await watch.settled;
    watch.check();
    expect(said.at(-1)).toBeUndefined();
    watch.close();
  });

  test('new jobs reuse the space of forgotten ones in the file', () => {
    let spare = 0;
    let problem: string | undefined;
    const limits = { fullBelow: 1_000, stopBelow: 100, reserve: 0, everyMs: 1e6 };
    const space = { ...NOTHING_SPARE, freeBytes: () => 600, spareBytes: () => spare };
    const watch = new Room(folder, limits, space, (now) => {
      problem = now;
    });
    expect(problem).toMatch(/is full/);
    spare = 400;
    watch.check();
    expect(problem).toBeUndefined();
    watch.close();
  });

  test('without space for a compacted copy, the journal is opened unchanged', async () => {
    const large = 'x'.repeat(200_000);
    const jobs = Array.from({ length: 100 }, (_, i) => i + 1);
    await written(...jobs.flatMap((job) => [accepted(job), attempt(job, 0, large)]));
    await written(...jobs.slice(1).map((job) => forgotten(job)));
    const before = statSync(join(folder, 'jobs.mdb')).size;
    const warned: string[] = [];
    const warn = (message: string) => warned.push(message);
    const options = { folder, newTag: () => 'abcde', version: '1.2.3', room };
    const journal = await openLmdbJournal({ ...options, freeBytes: () => 100_000, warn });
    expect(recordsOf(journal)).toEqual([accepted(1), attempt(1, 0, large)]);
    await journal.close();
    expect(warned).toEqual([expect.stringMatching(/but compacting it failed: 100000 bytes are free/)]);
    expect(statSync(join(folder, 'jobs.mdb')).size).toBe(before);
    expect(statSync(join(folder, 'jobs.mdb')).mode & 0o777).toBe(0o600);
    // If the disk becomes full while the copy is written, the journal still opens.
    mkdirSync(join(folder, 'jobs.mdb.new', 'in the way'), { recursive: true });
    const again = await openLmdbJournal({ ...options, freeBytes: () => 1e9, warn });
    await again.close();
    expect(warned).toHaveLength(2);
  });

  test('nothing is written if lmdb might run out of disk space', () => {
    let free = 10_000;
    const limits = { fullBelow: 5_000, stopBelow: 2_000, reserve: 0, everyMs: 1e6 };
    const watch = new Room(folder, limits, { freeBytes: () => free, ...NOTHING_SPARE }, () => {});
    expect(watch.hasRoomFor(100)).toBe(true);
    free = 2_300;
    expect(watch.hasRoomFor(1_300)).toBe(false);
    watch.check();
    expect(watch.hasRoomFor(50)).toBe(true);
    expect(watch.hasRoomFor(100)).toBe(false);
    watch.close();
  });
});

test('no journal is created on a full disk, and no files remain', async () => {
  const limits = { ...room, stopBelow: 1_000 };
  const options = { folder, newTag: () => 'abcde', version: '1.2.3', room: limits };
  await expect(openLmdbJournal({ ...options, freeBytes: () => 999 })).rejects.toMatchObject({
    code: 'journal-folder',
    message: `the disk of ${folder} has no space for a journal`,
    hint: 'free space on that disk, or use another --data-folder',
  });
  expect(existsSync(join(folder, 'jobs.mdb'))).toBe(false);
  const begun = await openLmdbJournal({ ...options, freeBytes: () => 1_000 });
  await begun.close();
  // An existing journal is opened: its jobs continue when there is space.
  const again = await openLmdbJournal({ ...options, freeBytes: () => 999 });
  await again.close();
});

test.runIf(existsSync('/proc/self'))(
  'a folder that cannot be made is said to be so, whatever its parents lack',
  async () => {
    const options = { folder: '/proc/goshawk/s0/journal', newTag: () => 'abcde', version: '1.2.3', room };
    await expect(openLmdbJournal(options)).rejects.toMatchObject({
      code: 'journal-folder',
      message: expect.stringMatching(
        /cannot use \/proc\/goshawk\/s0\/journal for a journal: E\w+: .*, mkdir '\/proc\/goshawk'/,
      ),
    });
  },
);

describe('copies of a folder', () => {
  const at = (place: string) => openLmdbJournal({ folder: place, newTag: () => 'abcde', version: '1', room });
  /** Opens the journal as its scheduler does. */
  const started = async (place: string) => {
    const journal = await at(place);
    await journal.begin('tcp://host:1!s/0');
    return journal;
  };
  const lineageAt = async (place: string) => {
    const journal = await started(place);
    const { lineage } = journal;
    await journal.close();
    return lineage;
  };
  const own = () => join(folder, 'own');
  const copy = () => join(folder, 'copy');
  const copied = () =>
    cpSync(own(), copy(), {
      recursive: true,
      preserveTimestamps: true,
      filter: (path) => !path.endsWith('.sock'),
    });

  test('a restart is no copy, nor is a folder that was moved', async () => {
    for (let start = 0; start < 3; start++)
      expect(await lineageAt(own())).toEqual({ moves: 0, copyOf: undefined });
    renameSync(own(), copy());
    expect(await lineageAt(copy())).toEqual({ moves: 0, copyOf: undefined });
  });

  test.each([true, false])('a copy knows whether its original had stopped: %s', async (hadStopped) => {
    const original = await started(own());
    if (hadStopped) await original.close();
    copied();
    if (!hadStopped) await original.close();
    const copyOf = hadStopped ? 'stopped' : 'running';
    // A copy says so over restarts until it is admitted.
    for (let start = 0; start < 2; start++) expect(await lineageAt(copy())).toEqual({ moves: 0, copyOf });
    const admitted = await started(copy());
    admitted.admitted();
    await admitted.close();
    expect(await lineageAt(copy())).toEqual({ moves: 1, copyOf: undefined });
    expect(await lineageAt(own())).toEqual({ moves: 0, copyOf: undefined });
  });

  test('an imported backup is a copy', async () => {
    await importJournal(own(), { tag: 'abcde', version: '1' }, [accepted(1)]);
    expect(await lineageAt(own())).toEqual({ moves: 0, copyOf: 'restored' });
  });
});
