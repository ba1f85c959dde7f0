import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OutputStore, StoredOutput, StoredOutputPage } from '@goshawk/core';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OutputFolder } from './output-folder.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-output-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function chunk(number: number, text: string, more: Partial<StoredOutput> = {}): StoredOutput {
  return {
    ...{ number, task: 0, attempt: 1, stream: 'stdout', offset: 0, at: 0 },
    bytes: Buffer.from(text),
    ...more,
  };
}

/** Reads all output of a job, page by page. */
function readAll(store: OutputStore, job: number, from = 0): StoredOutput[] {
  const all: StoredOutput[] = [];
  for (let next: number | undefined = from; next !== undefined; ) {
    const page: StoredOutputPage = store.read(job, next)!;
    all.push(...page.chunks);
    next = page.next;
  }
  return all;
}

function textOf(store: OutputStore, job: number, from = 0): string {
  return readAll(store, job, from)
    .map(({ bytes }) => Buffer.from(bytes).toString())
    .join('');
}

const ROOMY = { freeBytes: () => Number.POSITIVE_INFINITY };

describe('output in a folder', () => {
  it('is read before and after it is written, and by the next process', async () => {
    const written = chunk(7, 'first', {
      task: 3,
      attempt: 2,
      stream: 'stderr',
      offset: 40,
      at: 1_764_403_200_123,
    });
    const store = new OutputFolder(folder, ROOMY);
    store.append(1, 'ada', written);
    store.append(1, 'ada', chunk(8, 'second'));
    expect(textOf(store, 1)).toBe('firstsecond');
    await store.close();
    expect(store.settled).toBe(2);
    expect(textOf(store, 1, 8)).toBe('second');
    const next = new OutputFolder(folder, ROOMY);
    const [first] = readAll(next, 1);
    expect({ ...first, bytes: Buffer.from(first!.bytes) }).toEqual(written);
    next.append(1, 'ada', chunk(1_000, 'third'));
    expect(textOf(next, 1)).toBe('firstsecondthird');
    await next.close();
    expect(textOf(new OutputFolder(folder, ROOMY), 1)).toBe('firstsecondthird');
  });

  it('equals what was appended, whatever the sizes, the restarts and the positions of readers', async () => {
    const step = fc.record({
      job: fc.integer({ min: 1, max: 3 }),
      bytes: fc.oneof(fc.nat(100), fc.integer({ min: 100_000, max: 900_000 })),
      action: fc.constantFrom('append', 'write', 'restart'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const at = mkdtempSync(join(folder, 'case-'));
        let store = new OutputFolder(at, ROOMY);
        const expected = new Map<number, string[]>();
        for (const [number, { job, bytes, action }] of steps.entries()) {
          const text = `${number}.`.padEnd(bytes, '-');
          store.append(job, undefined, chunk(number, text));
          expected.set(job, [...(expected.get(job) ?? []), text]);
          if (action !== 'append') await store.close();
          if (action === 'restart') store = new OutputFolder(at, ROOMY);
        }
        for (const [job, texts] of expected)
          for (let from = 0; from <= steps.length; from++) {
            const wanted = texts.filter((text) => Number.parseInt(text, 10) >= from);
            expect(textOf(store, job, from) === wanted.join('')).toBe(true);
          }
        await store.close();
      }),
      { numRuns: 15 },
    );
  });

  it('is deleted with its job, and by a start at which its job does not exist', async () => {
    const store = new OutputFolder(folder, ROOMY);
    for (const job of [1, 2, 3]) store.append(job, undefined, chunk(0, 'x'));
    store.delete(1);
    await store.close();
    store.delete(2);
    expect(readdirSync(folder).sort()).toEqual(['3-0.out', 'since']);
    const next = new OutputFolder(folder, ROOMY);
    next.allRestored();
    expect(readdirSync(folder)).toEqual(['since']);
    expect(next.has(3)).toBe(false);
  });

  it('above its limit loses the oldest output, and says so, also after a restart', async () => {
    const limits = { bytesMax: 1_000 };
    const store = new OutputFolder(folder, { ...ROOMY, limits });
    for (let job = 1; job <= 5; job++) {
      store.append(job, undefined, chunk(0, 'x'.repeat(250)));
      await store.close();
    }
    expect(store.bytes).toBeLessThanOrEqual(1_000);
    for (const each of [store, new OutputFolder(folder, { ...ROOMY, limits })]) {
      expect(each.has(1)).toBe(true);
      expect(each.read(1, 0)).toMatchObject({
        chunks: [],
        gone: { before: 1, why: expect.stringMatching(/1000 B of output, and deleted the oldest/) },
      });
      expect(textOf(each, 5)).toHaveLength(250);
      expect(each.read(5, 0).gone).toBeUndefined();
    }
  });

  it('above its limit is lost by the user with the most output', async () => {
    const store = new OutputFolder(folder, { ...ROOMY, limits: { bytesMax: 2_000 } });
    store.append(1, 'ada', chunk(0, 'mine'));
    for (let job = 2; job < 30; job++) {
      store.append(job, 'eve', chunk(0, 'x'.repeat(200)));
      await store.close();
    }
    expect(textOf(store, 1)).toBe('mine');
    expect(textOf(store, 2)).toBe('');
  });

  it('of one job is bounded, the oldest first', async () => {
    const store = new OutputFolder(folder, { ...ROOMY, limits: { jobBytesMax: 8_000 } });
    for (let number = 0; number < 100; number++) {
      store.append(1, undefined, chunk(number, `${number}`.padEnd(300)));
      await store.close();
    }
    const numbers = readAll(store, 1).map(({ number }) => number);
    expect(numbers.at(-1)).toBe(99);
    expect(numbers.length).toBeGreaterThan(15);
    expect(store.bytes).toBeLessThanOrEqual(8_000);
    expect(store.read(1, 0).gone).toMatchObject({
      before: numbers[0],
      why: expect.stringMatching(/per job/),
    });
  });

  it('on a full disk loses the oldest output, then the new one, and says so once', async () => {
    const problems: (string | undefined)[] = [];
    const limits = { keepFree: 1_000 };
    let size = 1_600;
    const freeBytes = (): number => size - store.bytes;
    const store: OutputFolder = new OutputFolder(folder, {
      ...{ limits, freeBytes },
      problem: (problem) => problems.push(problem),
    });
    for (const job of [1, 2, 3]) {
      store.append(job, undefined, chunk(0, 'x'.repeat(250)));
      await store.close();
    }
    expect(store.read(1, 0)).toMatchObject({ chunks: [], gone: { why: expect.stringMatching(/was full/) } });
    expect(textOf(store, 3)).toHaveLength(250);
    expect(problems).toEqual([]);
    size = 0;
    for (const job of [4, 5]) store.append(job, undefined, chunk(0, 'lost'));
    await store.close();
    expect(store.settled).toBe(5);
    expect(store.read(5, 0)).toMatchObject({ chunks: [], gone: { before: 1 } });
    expect(problems).toEqual([expect.stringMatching(/the disk of .* is full/)]);
    size = 10_000;
    store.append(6, undefined, chunk(0, 'kept'));
    await store.close();
    expect(textOf(store, 6)).toBe('kept');
    expect(problems).toHaveLength(2);
  });

  it('survives a removed folder, and files whose end is torn or damaged', async () => {
    const store = new OutputFolder(folder, ROOMY);
    store.append(1, undefined, chunk(0, 'a'));
    store.append(1, undefined, chunk(1, 'b'));
    await store.close();
    truncateSync(join(folder, '1-0.out'), 45);
    writeFileSync(join(folder, '2-0.out'), 'garbage');
    writeFileSync(join(folder, 'notes.txt'), 'not ours');
    const next = new OutputFolder(folder, ROOMY);
    expect(textOf(next, 1)).toBe('a');
    expect(textOf(next, 2)).toBe('');
    next.append(1, undefined, chunk(9, 'c'));
    await next.close();
    expect(textOf(next, 1)).toBe('ac');
    rmSync(folder, { recursive: true });
    next.append(3, undefined, chunk(0, 'd'));
    await next.close();
    expect(textOf(next, 3)).toBe('d');
    expect(next.settled).toBe(2);
  });

  it('does not create the folder of a removed journal again', async () => {
    const journal = join(folder, 'journal');
    const store = new OutputFolder(join(journal, 'output'), ROOMY);
    rmSync(journal, { recursive: true });
    store.append(1, undefined, chunk(0, 'a'));
    await store.close();
    expect(readdirSync(folder)).toEqual([]);
    expect(store.settled).toBe(1);
    expect(store.read(1, 0)).toMatchObject({
      chunks: [],
      gone: { why: expect.stringMatching(/could not be written/) },
    });
  });
});
