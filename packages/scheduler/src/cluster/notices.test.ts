import { LIMITS, type MessageOf } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { DurableBench } from '../durable.fixture.js';
import { CENTRAL, W1 } from '../lone-scheduler.fixture.js';

/** Texts of the notices that the next heartbeat sends. */
function reported(bench: DurableBench): MessageOf<'notices'>['notices'] {
  bench.take();
  bench.scheduler.wake('heartbeat', 0, bench.now);
  const sent = bench.take().filter((message) => message.type === 'notices');
  expect(sent.length).toBeLessThanOrEqual(1);
  return sent[0]?.notices ?? [];
}

function stored(bench: DurableBench, number: number): void {
  bench.receive(CENTRAL, { type: 'noticesStored', number });
}

function joined(): DurableBench {
  const bench = new DurableBench();
  bench.members(W1);
  return bench;
}

describe('events that only the scheduler knows', () => {
  test('are repeated with each heartbeat until central has stored them', () => {
    const bench = joined();
    expect(reported(bench)).toEqual([]);
    bench.scheduler.journalChanged(
      { kind: 'full', message: 'the disk of /data at host h is full' },
      bench.now,
    );
    bench.scheduler.notice('limit-reached', 'new jobs are refused', bench.now);
    const first = reported(bench);
    expect(first.map(({ kind, text }) => [kind, text])).toEqual([
      ['journal-refuses-jobs', 'no new jobs are accepted: the disk of /data at host h is full'],
      ['limit-reached', 'new jobs are refused'],
    ]);
    stored(bench, first[0]!.number);
    bench.scheduler.journalChanged({ kind: 'open' }, bench.now);
    const second = reported(bench);
    expect(second.map(({ kind }) => kind)).toEqual(['limit-reached', 'journal-accepts-jobs']);
    stored(bench, second[1]!.number);
    expect(reported(bench)).toEqual([]);
  });

  test('of one user are thinned out, so that those of others are not dropped', () => {
    const bench = joined();
    bench.scheduler.notice('limit-reached', 'new jobs are refused', bench.now);
    const miss = (user: string, count: number): void => {
      for (let job = 0; job < count; job++) {
        const { number } = bench.accept({ user, tasks: [{ sleep: 1 }], deadline: 1 });
        bench.scheduler.wake('deadline', number, bench.now);
      }
    };
    bench.now = 10;
    miss('mal', 3_000);
    miss('ann', 2);
    const texts: string[] = [];
    for (let part = reported(bench); part.length > 0; part = reported(bench)) {
      texts.push(...part.map(({ text }) => text));
      stored(bench, part.at(-1)!.number);
    }
    expect(texts[0]).toBe('new jobs are refused');
    expect(texts.filter((text) => text.includes('of ann'))).toHaveLength(2);
    expect(texts.filter((text) => text.includes('of mal')).length).toBeLessThan(40);
    expect(texts.join()).toContain('this is number 2048 in ten minutes');
  });

  test('are sent in parts', () => {
    const bench = joined();
    const all = Array.from({ length: 2 * LIMITS.noticesPerMessageMax + 1 }, (_, at) => `event ${at}`);
    for (const text of all) bench.scheduler.notice('limit-reached', text, bench.now);
    const seen: string[] = [];
    for (let part = reported(bench); part.length > 0; part = reported(bench)) {
      expect(part.length).toBeLessThanOrEqual(LIMITS.noticesPerMessageMax);
      seen.push(...part.map(({ text }) => text));
      stored(bench, part.at(-1)!.number);
    }
    expect(seen).toEqual(all);
  });

  test.each([
    ['has not ended', () => {}, 1],
    ['has completed', (bench: DurableBench) => bench.end(W1, bench.ask(W1, 1)!), 0],
  ])('include a missed deadline of a job that %s', (_, before, expected) => {
    const bench = joined();
    bench.submit({ name: 'nightly', user: 'ann', deadline: '10s', tasks: [{ exec: ['a-command'] }] });
    bench.commit();
    before(bench);
    const deadline = bench.timers.get('deadline 1');
    expect(deadline === undefined).toBe(expected === 0);
    if (deadline !== undefined) {
      bench.now = deadline;
      bench.scheduler.wake('deadline', 1, bench.now);
    }
    const texts = reported(bench).map(({ kind, text }) => [kind, text]);
    expect(texts).toEqual(
      Array.from({ length: expected }, () => [
        'deadline-missed',
        'job s-1 (nightly) of ann missed its deadline',
      ]),
    );
  });
});
