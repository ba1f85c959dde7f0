import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JobRecord, JournalState } from '@goshawk/core';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Journal } from './contract.js';
import { openLmdbJournal } from './lmdb-journal.js';
import { createSchema, Link, PostgresJournals, parseJournalUrl } from './postgres/index.js';
import { databases } from './postgres/server.fixture.js';
import {
  accepted,
  attempt,
  EVERY_KIND,
  EVERY_KIND_BY_JOB,
  ended,
  forgotten,
  recordsOf,
} from './records.fixture.js';

/** A place where a journal can be opened repeatedly. */
interface Place {
  open(): Promise<Journal>;
  /** Makes the disk full or frees it; undefined if the journal does not check a disk. */
  setFull?: ((on: boolean) => void) | undefined;
  remove(): void | Promise<void>;
}

const options = { newTag: () => 'abcde', version: '1.2.3' };

const newDatabase = databases();

const PLACES: Record<string, () => Place> = {
  lmdb: () => {
    const folder = mkdtempSync(join(tmpdir(), 'goshawk-journal-'));
    // More records than the file may contain.
    const room = { fullBelow: 1e9, stopBelow: 100, reserve: 0, everyMs: 5 };
    let free = 1e12;
    return {
      open: () => openLmdbJournal({ ...options, folder, room, freeBytes: () => free }),
      setFull: (on) => {
        free = on ? 1e6 : 1e12;
      },
      remove: () => rmSync(folder, { recursive: true, force: true }),
    };
  },
  postgres: () => {
    const url = newDatabase().then(async (made) => {
      const link = new Link(parseJournalUrl(made), 'test');
      await createSchema(link);
      await link.close();
      return made;
    });
    const open = new Set<PostgresJournals>();
    const copyFolder = mkdtempSync(join(tmpdir(), 'goshawk-copies-'));
    return {
      open: async () => {
        const journals = await PostgresJournals.open({ ...options, url: await url, name: 's1', copyFolder });
        open.add(journals);
        return journals.own(async () => false);
      },
      remove: async () => {
        for (const journals of open) await journals.close();
        rmSync(copyFolder, { recursive: true });
      },
    };
  },
};

const cleanUp: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const action of cleanUp.splice(0).reverse()) await action();
});

/** Records the callbacks of a journal, and waits for them. */
class Ear {
  count = 0;
  readonly states: JournalState[] = [];
  readonly calls: number[] = [];
  #wake: () => void = () => {};

  constructor(journal: Journal) {
    journal.listen({
      recorded: (count) => {
        this.count = count;
        this.calls.push(count);
        this.#wake();
      },
      stateChanged: (state) => {
        this.states.push(state);
        this.#wake();
      },
    });
  }

  async until(met: () => boolean): Promise<void> {
    while (!met()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

const KINDS = Object.keys(PLACES).filter((kind) => kind !== 'postgres' || newDatabase.isThere);

describe.each(KINDS)('a journal in %s', (kind) => {
  function place(): Place {
    const made = PLACES[kind]!();
    cleanUp.push(() => made.remove());
    return made;
  }

  async function opened(at: Place): Promise<{ journal: Journal; before: JobRecord[]; ear: Ear }> {
    const journal = await at.open();
    cleanUp.push(() => journal.close());
    return {
      journal,
      before: recordsOf(journal),
      ear: new Ear(journal),
    };
  }

  async function written(at: Place, records: readonly JobRecord[]): Promise<void> {
    const { journal } = await opened(at);
    for (const record of records) journal.append(record);
    await journal.close();
  }

  test('the ends of attempts are read, pending, durable and after reopening, until their job is forgotten', async () => {
    const at = place();
    const first = await opened(at);
    const ends = [attempt(1, 0, 'one'), attempt(1, 1, { two: 2 })];
    first.journal.append(accepted(1));
    const places = ends.map((end) => first.journal.append(end)!);
    const readEnds = ({ readRecord }: Journal) => places.map((of) => readRecord!(1, of));
    expect(readEnds(first.journal)).toEqual(ends);
    await first.ear.until(() => first.ear.count === 3);
    expect(readEnds(first.journal)).toEqual(ends);
    expect(first.journal.readRecord!(2, places[0]!)).toBeUndefined();
    await first.journal.close();
    const journal = await at.open();
    cleanUp.push(() => journal.close());
    const read = Array.from(journal.entries(() => {}));
    expect(read.flatMap(([of, { kind }]) => (kind === 'attempt' ? [of] : []))).toEqual(places);
    expect(readEnds(journal)).toEqual(ends);
    const ear = new Ear(journal);
    journal.append(forgotten(1));
    await ear.until(() => ear.count === 1);
    await vi.waitFor(() => expect(readEnds(journal)).toEqual([undefined, undefined]));
  });

  test('a new journal is empty, and has a permanent tag', async () => {
    const at = place();
    const first = await opened(at);
    expect(first.before).toEqual([]);
    expect(first.journal.tag).toBe('abcde');
    expect(first.journal.lastJob).toBe(0);
    await first.journal.close();
    expect((await opened(at)).journal.tag).toBe('abcde');
  });

  test('every kind of record survives the round trip', async () => {
    const at = place();
    await written(at, EVERY_KIND);
    expect((await opened(at)).before).toEqual(EVERY_KIND_BY_JOB);
  });

  test('records are read by job, and within a job in order of writing', async () => {
    const at = place();
    await written(at, [accepted(2), accepted(1), attempt(2, 1), attempt(1, 0), attempt(2, 0)]);
    await written(at, [attempt(1, 1), ended(2)]);
    const { before, journal } = await opened(at);
    expect(before).toEqual([
      accepted(1),
      attempt(1, 0),
      attempt(1, 1),
      accepted(2),
      attempt(2, 1),
      attempt(2, 0),
      ended(2),
    ]);
    expect(journal.lastJob).toBe(2);
  });

  test('records of one turn are one commit, and count when they are durable', async () => {
    const { journal, ear } = await opened(place());
    for (let job = 1; job <= 100; job++) journal.append(accepted(job));
    expect(ear.count).toBe(0);
    await ear.until(() => ear.count === 100);
    expect(ear.calls).toEqual([100]);
    expect(journal.metrics()).toMatchObject({ commits: 1, recordsAppended: 100, recordsWritten: 100 });
  });

  test('records appended during a commit belong to the next one', async () => {
    const { journal, ear } = await opened(place());
    journal.append(accepted(1));
    await ear.until(() => ear.count === 1);
    for (let job = 2; job <= 9; job++) journal.append(accepted(job));
    await ear.until(() => ear.count === 9);
    expect(ear.calls).toEqual([1, 9]);
  });

  test('a forgotten job leaves no records, and its number is not reused', async () => {
    const at = place();
    await written(at, [accepted(6), accepted(7), attempt(7, 0), ended(7)]);
    await written(at, [forgotten(7)]);
    const { before, journal } = await opened(at);
    expect(before).toEqual([accepted(6)]);
    expect(journal.lastJob).toBe(7);
  });

  test('a job may be forgotten in the group in which it was written', async () => {
    const at = place();
    await written(at, [accepted(1), ended(1), forgotten(1), accepted(2)]);
    expect((await opened(at)).before).toEqual([accepted(2)]);
  });

  test('it knows its previous owner', async () => {
    const at = place();
    for (let i = 1; i <= 10; i++) {
      const { journal } = await opened(at);
      await journal.begin(`tcp://127.0.0.1:1!${i}/0`);
      await journal.close();
    }
    const { previousIncarnations } = (await opened(at)).journal;
    expect(previousIncarnations).toEqual([3, 4, 5, 6, 7, 8, 9, 10].map((i) => `tcp://127.0.0.1:1!${i}/0`));
  });

  test('numbers that may have been assigned without a record are skipped at each restart', async () => {
    const at = place();
    const lastJobs: number[] = [];
    for (let i = 1; i <= 4; i++) {
      const { journal } = await opened(at);
      lastJobs.push(journal.lastJob);
      await journal.begin(`tcp://127.0.0.1:1!${i}/0`);
      await journal.close();
    }
    // The second scheduler uses up 10,000 numbers from its start; the third must not start there.
    expect(lastJobs).toEqual([0, 0, 10_000, 20_000]);
  });

  test('a second journal at the same place is refused until the first is closed', async () => {
    const at = place();
    const { journal } = await opened(at);
    await expect(at.open()).rejects.toThrow(/another scheduler uses/);
    await journal.close();
    await expect(opened(at)).resolves.toBeDefined();
  });

  test('a full disk is reported, and appended records are still written', async () => {
    const at = place();
    const { journal, ear } = await opened(at);
    if (at.setFull === undefined) return;
    at.setFull(true);
    journal.append(accepted(1));
    await ear.until(() => ear.states.length > 0 && ear.count === 1);
    expect(journal.state).toMatchObject({ kind: 'full', message: expect.stringContaining('full') });
    at.setFull(false);
    journal.append(ended(1));
    await ear.until(() => ear.states.length > 1 && ear.count === 2);
    expect(ear.states.map((state) => state.kind)).toEqual(['full', 'open']);
  });

  test('closing writes the appended records', async () => {
    const at = place();
    const { journal } = await opened(at);
    journal.append(accepted(1));
    await journal.close();
    expect((await opened(at)).before).toEqual([accepted(1)]);
  });
});
