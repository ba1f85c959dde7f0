import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HappenedEvent } from '@goshawk/core';
import type { Logger } from '@goshawk/transport';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventBook } from './event-book.js';

const HOUR_MS = 3_600_000;
const silent = { error: () => {} } as unknown as Logger;

let folder: string;
const open: EventBook[] = [];
let now = 1_800_000_000_000;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-events-'));
});
afterEach(() => {
  for (const book of open.splice(0)) book.close();
  rmSync(folder, { recursive: true, force: true });
});

function bookIn(path: string | undefined = join(folder, 'central', 'events.jsonl')): EventBook {
  const book = new EventBook(path, silent, () => now);
  open.push(book);
  return book;
}

const IN_MEMORY = undefined;

/** Reads the events that follow, as a follower does. */
function textsAfter(book: EventBook, after: number, since?: number): { texts: string[]; next: number } {
  const texts: string[] = [];
  for (let next = after; ; ) {
    const page = book.page(next, since);
    for (const { text } of page.events) texts.push(text);
    ({ next } = page);
    if (page.atEnd) return { texts, next };
  }
}

const event = (text: string, kind = 'worker-drained'): Pick<HappenedEvent, 'kind' | 'text'> => ({
  kind,
  text,
});

describe('events', () => {
  it('that a scheduler reports again are stored once, also by the next process, with the time of the report', () => {
    const at = now - HOUR_MS;
    const missed = { ...event('job s-1 missed its deadline', 'deadline-missed'), scheduler: 's0', at };
    for (const offsetMs of [0, 1, -1]) {
      const book = bookIn();
      book.add({ ...missed, at: at + offsetMs });
      book.add({ ...missed, at: at + offsetMs });
      expect(book.page(0).events).toMatchObject([{ at, scheduler: 's0' }]);
      book.close();
    }
    const book = bookIn();
    for (const other of [{ at: at + 60_000 }, { scheduler: 's1' }, { text: 'job s-2 missed its deadline' }])
      book.add({ ...missed, ...other });
    expect(book.page(0).events).toHaveLength(4);
  });

  it('are delivered once to a follower, also after a kill of the process, and with all of their fields', () => {
    const first = bookIn();
    first.add({ ...event('drains'), worker: 'w0', by: 'ann' });
    first.add({ ...event('taken over'), scheduler: 's0' });
    const { texts, next } = textsAfter(first, 0);
    expect(texts).toEqual(['drains', 'taken over']);
    first.add(event('third'));
    // The process ends without closing the book, in the middle of a line.
    appendFileSync(join(folder, 'central', 'events.jsonl'), '{"number":99,"at":');
    const second = bookIn();
    second.add(event('fourth'));
    expect(textsAfter(second, next).texts).toEqual(['third', 'fourth']);
    expect(second.page(0).events[0]).toMatchObject({
      worker: 'w0',
      by: 'ann',
      kind: 'worker-drained',
      at: now,
    });
    const third = bookIn();
    expect(textsAfter(third, next).texts).toEqual(['third', 'fourth']);
  });

  it('have higher numbers after a restart even if they were not kept', () => {
    const first = new EventBook(IN_MEMORY, silent, () => now);
    first.add(event('lost'));
    const { next } = first.page(0);
    first.close();
    now += 1_000;
    const second = new EventBook(IN_MEMORY, silent, () => now);
    second.add(event('new'));
    expect(textsAfter(second, next).texts).toEqual(['new']);
    second.close();
  });

  it('are kept for seven days, and say since when they are known', () => {
    const book = bookIn();
    const start = now;
    book.add(event('old'));
    now += 5 * 24 * HOUR_MS;
    book.add(event('recent'));
    expect(book.page(0).since).toBe(start);
    now += 3 * 24 * HOUR_MS;
    for (const each of [book, bookIn()]) {
      expect(textsAfter(each, 0).texts).toEqual(['recent']);
      expect(textsAfter(each, 0, now - 24 * HOUR_MS).texts).toEqual([]);
      expect(each.page(0).since).toBeGreaterThan(start);
    }
  });

  it('are bounded in number', () => {
    const book = new EventBook(IN_MEMORY, silent, () => now);
    for (let index = 0; index < 20_100; index++) book.add(event(String(index)));
    const { texts } = textsAfter(book, 0);
    expect([texts.length, texts[0], texts.at(-1)]).toEqual([20_000, '100', '20099']);
    book.close();
  });

  it('of a thousand workers at once are a few', () => {
    const book = bookIn();
    for (let index = 0; index < 1_000; index++)
      book.add({ ...event(`worker w${index} joined`, 'worker-joined'), worker: `w${index}` });
    book.close();
    const { texts } = textsAfter(bookIn(), 0);
    expect(texts).toHaveLength(6);
    expect(texts.at(-1)).toBe('workers w5, w6, w7 and 992 more joined');
  });
});
