import type { OutputStore, StoredOutput, StoredOutputPage } from '@goshawk/core';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { initStore } from './offline.js';
import { OutputTable } from './output-table.js';
import { databases } from './server.fixture.js';

const newDatabase = databases();
const open: OutputTable[] = [];
afterEach(async () => {
  for (const table of open.splice(0)) await table.close();
});

async function initiated(): Promise<string> {
  const url = await newDatabase();
  await initStore(url);
  return url;
}

function tableIn(url: string, jobs: number[] = [], limits = {}, tag = 'tag'): OutputTable {
  const table = new OutputTable(url, tag, jobs, limits);
  open.push(table);
  return table;
}

function chunk(number: number, text: string): StoredOutput {
  return {
    ...{ number, task: 1, attempt: 1, stream: 'stdout', offset: 0, at: 1_764_403_200_123 + number },
    bytes: Buffer.from(text),
  };
}

function settled(table: OutputTable, count: number): Promise<void> {
  return vi.waitFor(() => expect(table.settled).toBe(count), { timeout: 20_000, interval: 5 });
}

function page(store: OutputStore, job: number, from: number): Promise<StoredOutputPage> {
  return vi.waitFor(
    () => {
      const found = store.read(job, from);
      if (found === undefined) throw new Error('not fetched');
      return found;
    },
    { timeout: 20_000, interval: 5 },
  );
}

async function textOf(store: OutputStore, job: number): Promise<string> {
  let text = '';
  for (let next: number | undefined = 0; next !== undefined; ) {
    const read: StoredOutputPage = await page(store, job, next);
    text += read.chunks.map(({ bytes }) => Buffer.from(bytes).toString()).join('');
    next = read.next;
  }
  return text;
}

describe.skipIf(!newDatabase.isThere)('output in PostgreSQL', () => {
  test('is read by the scheduler that prints it, and by the one that takes its journal over', async () => {
    const url = await initiated();
    const table = tableIn(url);
    let expected = '';
    for (let number = 0; number < 40; number++) {
      table.append(1, undefined, chunk(number, `${number},`));
      expected += `${number},`;
      await settled(table, number + 1);
    }
    expect(await textOf(table, 1)).toBe(expected);
    const other = tableIn(url, [1]);
    expect(await textOf(other, 1)).toBe(expected);
    other.append(1, undefined, chunk(1_000, 'more'));
    expect(await textOf(other, 1)).toBe(`${expected}more`);
    expect((await page(other, 1, 1_000)).chunks).toHaveLength(1);
    expect(await textOf(tableIn(url, [1], {}, 'another'), 1)).toBe('');
  });

  test('is deleted with its job, and if its job was not restored', async () => {
    const url = await initiated();
    const table = tableIn(url);
    for (const job of [1, 2]) table.append(job, undefined, chunk(0, 'x'));
    await settled(table, 2);
    table.delete(1);
    expect(table.has(1)).toBe(false);
    await table.close();
    expect(await textOf(tableIn(url, [1, 2]), 1)).toBe('');
    const next = tableIn(url, [2]);
    next.allRestored();
    await next.close();
    expect(await textOf(tableIn(url, [2]), 2)).toBe('');
  });

  test('above its limit loses the oldest, and says so', async () => {
    const url = await initiated();
    const table = tableIn(url, [], { jobBytesMax: 2_000 });
    for (let number = 0; number < 64; number++) {
      table.append(1, undefined, chunk(number, 'x'.repeat(100)));
      await settled(table, number + 1);
    }
    const { chunks, gone } = await page(table, 1, 0);
    const [first] = chunks;
    expect(gone).toMatchObject({ before: first!.number, why: expect.stringMatching(/per job/) });
    expect((await textOf(table, 1)).length).toBeLessThanOrEqual(2_000);
    expect((await page(table, 1, 63)).chunks).toHaveLength(1);
  });

  test('that the database refuses delays nothing', async () => {
    const url = await initiated();
    const table = tableIn(url);
    const problem = vi.fn();
    table.problem = problem;
    table.append(-(2 ** 63), undefined, chunk(0, 'no such number'));
    table.append(2 ** 64, undefined, chunk(0, 'no such number'));
    await settled(table, 2);
    expect(problem).toHaveBeenCalled();
  });
});
