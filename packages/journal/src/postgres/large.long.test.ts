import { expect, test } from 'vitest';
import { PostgresJournals } from './journals.js';
import { Link } from './link.js';
import { initStore, storedJournals } from './offline.js';
import { databases } from './server.fixture.js';
import { parseJournalUrl } from './url.js';

const newDatabase = databases();

test.skipIf(!newDatabase.isThere)(
  'a journal larger than the largest PostgreSQL value can be read by a reader',
  async () => {
    const url = await newDatabase();
    await initStore(url);
    const journals = await PostgresJournals.open({ url, name: 's1', version: '1', newTag: () => 'large' });
    await journals.own(async () => false);
    const link = new Link(parseJournalUrl(url), 'test');
    for (let job = 1; job <= 210; job++)
      await link.ask(
        `insert into goshawk.records (tag, job, place, body) values ('large', $1, $1, decode(repeat('00', 1048576), 'hex'))`,
        [job],
      );
    await link.close();
    const [stored] = await storedJournals(url, 'large');
    let damaged = 0;
    for (const _ of stored!.entries(() => damaged++));
    expect(damaged).toBe(210);
    await journals.close();
  },
  120_000,
);
