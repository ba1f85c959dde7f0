import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { JournalState, KeyHolder } from '@goshawk/core';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Journal } from '../contract.js';
import { importJournal, journalsAt, summaryOf } from '../index.js';
import { FORMAT } from '../record-codec.js';
import {
  accepted,
  attempt,
  EVERY_KIND,
  EVERY_KIND_BY_JOB,
  ended,
  forgotten,
  recordsOf,
} from '../records.fixture.js';
import { byteaArray, int8Array } from './arrays.js';
import { checkSchema, createSchema } from './create-schema.js';
import { PostgresJournals } from './journals.js';
import { Link } from './link.js';
import { importStored, initStore, journalOwners, storedJournals } from './offline.js';
import { FENCED, SCHEMA_VERSION } from './schema.js';
import { databases } from './server.fixture.js';
import { isJournalUrl, parseJournalUrl } from './url.js';

const newDatabase = databases();
const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const action of cleanUp.splice(0).reverse()) await action();
});

let tags = 0;

async function initiated(): Promise<string> {
  const url = await newDatabase();
  await initStore(url);
  return url;
}

async function processOf(url: string, name = 's1'): Promise<PostgresJournals> {
  const journals = await PostgresJournals.open({ url, name, version: '1.2.3', newTag: () => `tag${++tags}` });
  cleanUp.push(() => journals.close());
  return journals;
}

interface Notices {
  count: number;
  readonly states: JournalState[];
  readonly taken: [number, KeyHolder][];
}

function listenTo(journal: Journal): Notices {
  const notices: Notices = { count: 0, states: [], taken: [] };
  journal.listen({
    recorded: (count) => {
      notices.count = count;
    },
    stateChanged: (state) => void notices.states.push(state),
    keyTaken: (job, by) => void notices.taken.push([job, by]),
  });
  return notices;
}

const never = async (): Promise<boolean> => false;

async function opened(
  url: string,
  name?: string,
  mayReclaim = never,
): Promise<{ journal: Journal; notices: Notices }> {
  const journal = await (await processOf(url, name)).own(mayReclaim);
  return { journal, notices: listenTo(journal) };
}

/** Other work on the machine must not fail a test. */
const until = (met: () => void): Promise<void> => vi.waitFor(met, { timeout: 30_000 });

describe('the URL of a journal', () => {
  test('contains hosts, user, database and encryption', () => {
    expect(parseJournalUrl('postgres://ada:p%40ss@db1,db2:5433/jobs?sslmode=verify-full')).toEqual({
      hosts: [
        { host: 'db1', port: 5432 },
        { host: 'db2', port: 5433 },
      ],
      user: 'ada',
      password: 'p@ss',
      database: 'jobs',
      tls: { rejectUnauthorized: true, checksHost: true },
      shown: 'postgres://ada:…@db1,db2:5433/jobs',
    });
    expect(parseJournalUrl('postgresql:///jobs?host=/run/postgresql').hosts).toEqual([
      { host: '/run/postgresql', port: 5432 },
    ]);
    expect(isJournalUrl('/var/lib/goshawk')).toBe(false);
  });

  test.each([
    ['postgres://a/b?sslmode=maybe', /sslmode=maybe/],
    ['postgres://a/b?target_session_attrs=standby', /selects a read-only server/],
    ['postgres://a/b?sslrootcert=/nowhere&sslmode=require', /sslrootcert cannot be read/],
    ['postgres://a/b?colour=red', /unknown part colour/],
  ])('%s is refused', (url, problem) => {
    expect(() => parseJournalUrl(url)).toThrow(problem);
  });
});

describe.runIf(newDatabase.isThere)('journals in PostgreSQL', () => {
  test('report the owner of each, and none if its scheduler is gone', async () => {
    const url = await initiated();
    const owner = await processOf(url, 'a');
    const journal = await owner.own(never);
    const { tag, epoch } = journal;
    expect(await owner.all()).toEqual([]);
    const notices = listenTo(journal);
    journal.append(accepted(1));
    await until(() => expect(notices.count).toBe(1));
    expect(await owner.all()).toEqual([{ name: 'a', tag, epoch }]);
    const held = { name: 'a', tag, holder: 'a', epoch, isHeld: true };
    expect(await journalOwners(url)).toEqual([held]);
    await owner.close();
    expect(await journalOwners(url)).toEqual([{ ...held, isHeld: false }]);
    const other = await processOf(url, 'b');
    await other.takeOver(tag, epoch);
    expect(await journalOwners(url)).toEqual([{ ...held, holder: 'b', epoch: epoch + 1 }]);
    expect(await other.all()).toEqual([{ name: 'a', tag, epoch: epoch + 1 }]);
  });

  test('records of a journal are not cached after reading', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const url = await initiated();
    const first = await opened(url);
    first.journal.append(accepted(1));
    for (let task = 0; task < 40; task++) first.journal.append(attempt(1, task, 'x'.repeat(500_000)));
    await until(() => expect(first.notices.count).toBe(41));
    await first.journal.close();
    const { journal } = await opened(url);
    const held = (): number => {
      collect();
      return process.memoryUsage().arrayBuffers;
    };
    const before = held();
    expect(recordsOf(journal)).toHaveLength(41);
    await until(() => expect(before - held()).toBeGreaterThan(15_000_000));
    await journal.close();
  });

  test('do not exist before the schema is created, which several processes may do at once', async () => {
    const url = await newDatabase();
    await expect(processOf(url)).rejects.toMatchObject({ code: 'no-journal' });
    expect(await Promise.all([initStore(url), initStore(url), initStore(url)])).toContain(0);
    expect(await initStore(url)).toBe(SCHEMA_VERSION);
    const link = new Link(parseJournalUrl(url), 'test');
    await link.ask('update goshawk.meta set version = 99');
    await expect(checkSchema(link)).rejects.toMatchObject({ code: 'journal-newer' });
    await expect(createSchema(link)).rejects.toMatchObject({ code: 'journal-newer' });
    await link.close();
  });

  test('arrays survive the round trip', async () => {
    const link = new Link(parseJournalUrl(await newDatabase()), 'test');
    cleanUp.push(() => link.close());
    const numbers = [0, 1, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER];
    const values = [Buffer.from('a\0b'), undefined, Buffer.alloc(0), Buffer.alloc(70_000, 7)];
    const sent = [int8Array(numbers), byteaArray(values), int8Array([]), byteaArray([])];
    const [row] = await link.ask('select $1::bigint[] a, $2::bytea[] b, $3::bigint[] c, $4::bytea[] d', sent);
    expect(row).toEqual({ a: numbers.map(String), b: values.map((value) => value ?? null), c: [], d: [] });
  });

  test('a group is written once, even if it is resent', async () => {
    const url = await initiated();
    const { journal } = await opened(url);
    const link = new Link(parseJournalUrl(url), 'test');
    cleanUp.push(() => link.close());
    const send = async (group: number, epoch = 1, key = 'ab', job = 7) => {
      const [row] = await link.ask<{ taken: string[] | null }>(
        `select goshawk.write($1, $2, $3, $4, '{0}', $5, $6, null) as taken`,
        [
          journal.tag,
          epoch,
          group,
          int8Array([job]),
          byteaArray([Buffer.from(key)]),
          byteaArray([Buffer.from('xy')]),
        ],
      );
      return row!.taken;
    };
    expect(await send(1)).toBeNull();
    expect(await send(1)).toBeNull();
    await expect(send(3)).rejects.toMatchObject({ code: FENCED });
    await expect(send(2, 2)).rejects.toMatchObject({ code: FENCED });
    expect(await send(2, 1, 'ab', 8)).toEqual(['8']);
    expect(await send(2, 1, 'ab', 8)).toEqual(['8']);
    expect(await link.ask('select job, place from goshawk.records')).toEqual([{ job: '7', place: '0' }]);
  });

  test('an owner that was taken over writes nothing more and reports it once; the new owner continues', async () => {
    const url = await initiated();
    const old = await opened(url, 's1');
    await old.journal.begin('tcp://127.0.0.1:1!1/0');
    old.journal.append(accepted(1));
    await until(() => expect(old.notices.count).toBe(1));
    const other = await processOf(url, 's2');
    const taken = await other.takeOver(old.journal.tag, 1);
    expect(taken).toMatchObject({
      tag: old.journal.tag,
      epoch: 2,
      home: 's1',
      previousIncarnations: ['tcp://127.0.0.1:1!1/0'],
    });
    expect(await other.takeOver(old.journal.tag, 1)).toBeUndefined();
    old.journal.append(attempt(1, 0));
    await until(() => expect(old.notices.states).toHaveLength(1));
    expect(old.notices).toMatchObject({
      count: 1,
      states: [{ kind: 'failed', message: expect.stringMatching(/s2/) }],
    });
    expect(recordsOf(taken!)).toEqual([accepted(1)]);
    const notices = listenTo(taken!);
    taken!.append(ended(1));
    await until(() => expect(notices.count).toBe(1));
    // Without central, the former owner would take its jobs from the new one and could not run them.
    const again = await opened(url, 's1');
    expect(again.journal.tag).not.toBe(old.journal.tag);
    expect(recordsOf(again.journal)).toEqual([]);
  });

  test('a scheduler that returns has one journal, however often it was taken over', async () => {
    const url = await initiated();
    const first = await opened(url, 's1');
    first.journal.append(accepted(1));
    await until(() => expect(first.notices.count).toBe(1));
    const { tag } = first.journal;
    const other = await processOf(url, 's2');
    for (const epoch of [1, 3, 5]) {
      const taken = listenTo((await other.takeOver(tag, epoch))!);
      const { journal, notices } = await opened(url, 's1', async () => true);
      expect(journal).toMatchObject({ tag, epoch: epoch + 2, home: 's1' });
      expect(recordsOf(journal)).toEqual([accepted(1)]);
      await until(() =>
        expect(taken.states).toMatchObject([{ kind: 'failed', message: expect.stringMatching(/s1/) }]),
      );
      expect(notices.states).toEqual([]);
    }
    expect(await journalOwners(url)).toMatchObject([{ name: 's1', tag, holder: 's1' }]);
  });

  test('an idle owner also learns that it was taken over', async () => {
    const url = await initiated();
    const old = await opened(url, 's1');
    await (await processOf(url, 's2')).takeOver(old.journal.tag, 1);
    await until(() => expect(old.notices.states).toMatchObject([{ kind: 'failed' }]));
  });

  test('a restarted scheduler still has the journals that it took over', async () => {
    const url = await initiated();
    const lost = await opened(url, 's1');
    const first = await processOf(url, 's2');
    const own = await first.own(never);
    await first.takeOver(lost.journal.tag, 1);
    await first.close();
    const second = await processOf(url, 's2');
    expect((await second.own(never)).tag).toBe(own.tag);
    expect((await second.adopted()).map(({ tag, epoch }) => [tag, epoch])).toEqual([[lost.journal.tag, 3]]);
  });

  test('a journal of a newer version is not taken over, and stays for a scheduler that can read it', async () => {
    const url = await initiated();
    const { journal } = await opened(url, 'newer');
    await journal.begin('tcp://127.0.0.1:1!s.x/0');
    const setFormat = async (format: number): Promise<void> => {
      const link = new Link(parseJournalUrl(url), 'test');
      await link.ask('update goshawk.journals set format = $2 where tag = $1', [journal.tag, format]);
      await link.close();
    };
    await setFormat(FORMAT + 1);
    const older = await processOf(url, 'older');
    await expect(older.takeOver(journal.tag, journal.epoch)).rejects.toMatchObject({ code: 'journal-newer' });
    await setFormat(FORMAT);
    const able = await processOf(url, 'able');
    expect(await able.takeOver(journal.tag, journal.epoch)).toMatchObject({ home: 'newer' });
  });

  test('a journal of any size is read in order, each record once', async () => {
    const url = await initiated();
    const { journal } = await opened(url);
    await journal.begin('tcp://127.0.0.1:1!s.x/0');
    const link = new Link(parseJournalUrl(url), 'test');
    const insert = `insert into goshawk.records (tag, job, place, body) select $1, g / 3, g, decode(repeat('00', $4), 'hex')
      from generate_series($2::int, $3::int) g`;
    await link.ask(insert, [journal.tag, 3, 4_502, 10]);
    await link.ask(insert, [journal.tag, 4_503, 4_505, 5 * 1024 * 1024]);
    await link.ask(insert, [journal.tag, 4_506, 4_514, 1024 * 1024]);
    await link.close();
    const taken = (await (await processOf(url, 's2')).takeOver(journal.tag, journal.epoch))!;
    const found: [number | undefined, number][] = [];
    for (const _ of taken.entries(({ job, place }) => found.push([job, place])));
    expect(found).toEqual(Array.from({ length: 4_512 }, (_, i) => [Math.floor(i / 3) + 1, i % 3]));
  });

  test('a journal is deleted once it is empty and unused', async () => {
    const url = await initiated();
    const lost = await opened(url, 's1');
    lost.journal.append(accepted(1));
    await until(() => expect(lost.notices.count).toBe(1));
    const other = await processOf(url, 's2');
    const own = await other.own(never);
    const tagsLeft = async () => (await storedJournals(url)).map(({ identity }) => identity.tag);
    const first = (await other.takeOver(lost.journal.tag, 1))!;
    await first.discard();
    expect((await tagsLeft()).sort()).toEqual([own.tag, first.tag].sort());
    const second = (await other.takeOver(lost.journal.tag, 2))!;
    const notices = listenTo(second);
    second.append(forgotten(1));
    await until(() => expect(notices.count).toBe(1));
    await second.discard();
    expect(await tagsLeft()).toEqual([own.tag]);
    expect(notices.states).toEqual([]);
  });

  test('a key creates one job for all schedulers that share the journals, even at the same time', async () => {
    const url = await initiated();
    const [one, two] = [await opened(url, 's1'), await opened(url, 's2')];
    for (let i = 1; i <= 20; i++) {
      for (const { journal } of [one, two]) {
        journal.append(accepted(i, { key: `key ${i} \0é` }));
        journal.append(attempt(i, 0));
      }
      await until(() => expect([one.notices.count, two.notices.count]).toEqual([2 * i, 2 * i]));
    }
    expect(one.notices.taken.length + two.notices.taken.length).toBe(20);
    for (const [job, { id, accepted: by }] of one.notices.taken) {
      expect(id).toBe(`${two.journal.tag}-${job}`);
      expect(by).toEqual(accepted(job, { key: `key ${job} \0é` }));
    }
    const stored = await storedJournals(url);
    const records = stored.flatMap((journal) => recordsOf(journal));
    expect(records).toHaveLength(40);
  });

  test('a key is free once its job is forgotten, even within the same group', async () => {
    const url = await initiated();
    const { journal, notices } = await opened(url);
    journal.append(accepted(1, { key: 'k' }));
    await until(() => expect(notices.count).toBe(1));
    journal.append(ended(1));
    journal.append(forgotten(1));
    journal.append(accepted(2, { key: 'k' }));
    await until(() => expect(notices.count).toBe(4));
    expect(notices.taken).toEqual([]);
  });

  test('nothing is lost while the server is down, and work continues when it is back', {
    timeout: 60_000,
  }, async () => {
    const url = await initiated();
    const { journal, notices } = await opened(url);
    const server = await newDatabase.server();
    await server.stop('immediate');
    journal.append(accepted(1));
    await until(() =>
      expect(journal.state).toMatchObject({ kind: 'away', message: expect.stringMatching(/127/) }),
    );
    journal.append(attempt(1, 0));
    expect(notices.count).toBe(0);
    await server.start({ fsync: 'off' });
    await until(() => expect(notices.count).toBe(2));
    expect(notices.states.map(({ kind }) => kind)).toEqual(['away', 'open']);
  });

  test('each kind of journal imports the exports of the other', async () => {
    const url = await initiated();
    await importStored(url, 's1', { tag: 'abcde', version: '1' }, EVERY_KIND_BY_JOB);
    const [stored] = await storedJournals(url, 'abcde');
    expect(summaryOf(stored!)).toMatchObject({
      tag: 'abcde',
      jobs: 1,
      jobsEnded: 1,
      records: EVERY_KIND.length,
    });
    const records = recordsOf(stored!);
    expect(records).toEqual(EVERY_KIND_BY_JOB);
    await expect(importStored(url, 's1', { tag: 'abcde', version: '1' }, records)).rejects.toThrow(/already/);
    await expect(importStored(url, 's1', { tag: 'other', version: '1' }, records)).rejects.toThrow(
      /has the key/,
    );
    const { journal } = await opened(url, 's1');
    expect(journal).toMatchObject({ tag: 'abcde', epoch: 2 });
    expect(recordsOf(journal)).toEqual(EVERY_KIND_BY_JOB);
    const folder = mkdtempSync(join(tmpdir(), 'goshawk-journal-'));
    cleanUp.push(() => rmSync(folder, { recursive: true }));
    await importJournal(folder, { tag: 'abcde', version: '1' }, records);
    const [file] = await journalsAt(folder);
    expect(recordsOf(file!)).toEqual(EVERY_KIND_BY_JOB);
    await file!.close();
  });

  test('a new scheduler starts with the estimator state of another one', async () => {
    const url = await initiated();
    const [one, two] = [await processOf(url, 's1'), await processOf(url, 's2')];
    expect(await one.estimatorStates()).toBeUndefined();
    await one.keepEstimatorStates('first');
    expect(await two.estimatorStates()).toBe('first');
    await two.keepEstimatorStates('second');
    expect([await one.estimatorStates(), await two.estimatorStates()]).toEqual(['first', 'second']);
  });
});
