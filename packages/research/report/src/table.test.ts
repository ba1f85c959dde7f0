import { stripVTControlCharacters } from 'node:util';
import { cellWidth } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { buildRun, job, measurements, sample } from './sample-runs.fixture.js';
import { comparisonText } from './table.js';

const ESCAPE = '\u001b[';
const ABLATIONS = {
  hawk: 1,
  sparrow: 8,
  central: 2,
  split: 1.2,
  'hawk --no-partition': 1,
  'hawk --no-stealing': 3,
};

const lines = (text: string) => stripVTControlCharacters(text).split('\n');
const width = (text: string) => Math.max(...lines(text).map((line) => line.length));

describe('the table of a comparison', () => {
  const text = comparisonText(sample().comparison, { color: false, columns: 100 });

  test('has one row per policy with p50, p90, p99 and mean of both classes', () => {
    const { short, long } = sample().comparison.runs[1]!.runtimeSeconds;
    const row = lines(text).find((line) => line.startsWith('sparrow'))!;
    const expected = [short, long]
      .flatMap(({ p50, p90, p99, mean }) => [p50, p90, p99, mean])
      .map((seconds) => Number((seconds! * 1000).toPrecision(3)).toLocaleString('en-US'));
    expect(row.split(/ +/).slice(1)).toEqual(expected);
    expect(text).toMatch(/run time of short jobs, ms +run time of long jobs, ms/);
  });

  test('describes the gain of the first policy over the other in words', () => {
    expect(text).toMatch(/hawk against sparrow:\s+short p50 0\.\d+×, p90 0\.\d+×, mean 0\.\d+×/);
    expect(text).toContain('below 1×: hawk is faster');
  });

  test('shows names of policies unchanged, in columns of their width', () => {
    const { comparison } = sample();
    const runs = comparison.runs.map((run) =>
      run.policy === 'sparrow' ? { ...run, policy: '策略\u202e漢.mjs' } : run,
    );
    const shown = comparisonText({ ...comparison, runs, ratios: [] }, { color: false, columns: 100 });
    expect(shown).not.toMatch(/[\u202a-\u202e]/);
    const rows = shown.split('\n\n')[1]!.split('\n');
    expect(rows.some((row) => row.startsWith('策略漢.mjs'))).toBe(true);
    expect(new Set(rows.slice(1).map(cellWidth)).size).toBe(1);
  });

  test('shows workload, cluster, messages per task, steals and utilisation', () => {
    expect(text).toContain('google-like (generated with jobs=120)');
    expect(lines(text)).toContainEqual(
      expect.stringMatching(/^policy +busy at arrivals .*messages\/task +steals/),
    );
  });

  test('has no escape sequences unless colour is requested', () => {
    expect(text).not.toContain(ESCAPE);
    const coloured = comparisonText(sample().comparison, { color: true, columns: 100 });
    expect(coloured).toContain(ESCAPE);
    expect(stripVTControlCharacters(coloured)).toBe(text);
  });

  test('has no trailing spaces', () => {
    expect(lines(text).filter((line) => line.endsWith(' '))).toEqual([]);
  });
});

describe('narrow terminals', () => {
  test.each([100, 80, 70])('many policies and seeds fit in %i columns', (columns) => {
    const { comparison } = sample(ABLATIONS, [1, 2, 3]);
    expect(width(comparisonText(comparison, { color: true, columns }))).toBeLessThanOrEqual(columns);
  });

  test('nothing is omitted if the classes are stacked', () => {
    const numbers = (columns: number) =>
      comparisonText(sample(ABLATIONS).comparison, { color: false, columns })
        .match(/[\d.,]+/g)!
        .toSorted();
    expect(numbers(60)).toEqual(numbers(200));
  });
});

test('one job is not "1 jobs"', () => {
  const { comparison } = sample();
  const one = { ...comparison, workload: { ...comparison.workload, jobs: 1, tasks: 1 } };
  expect(comparisonText(one, { color: false })).toContain('1 job, 1 task, ');
});

test('several seeds show the spread of the ratios', () => {
  const text = comparisonText(sample(undefined, [1, 2]).comparison, { color: false });
  expect(text).toContain('means of 2 seeds');
  expect(text).toMatch(/p50 0\.\d+× \(0\.\d+–0\.\d+×\)/);
  expect(text).toContain('brackets show the minimum and maximum over the seeds');
});

test('failed jobs are pointed out', () => {
  const { comparison } = sample();
  const failed = job({ id: 'f', outcome: 'failed' });
  const { run } = buildRun(measurements([job(), failed]));
  const text = comparisonText({ ...comparison, runs: [run], ratios: [] }, { color: false });
  expect(text).toContain('hawk: 1 of 2 jobs failed; run times are those of the others');
});

test('a single policy has no ratios, and an empty class shows dashes', () => {
  const { comparison } = sample();
  const { run } = buildRun(measurements([job()]));
  const text = comparisonText({ ...comparison, runs: [run], ratios: [] }, { color: false });
  expect(text).not.toContain('against');
  expect(text).toMatch(/hawk +3,000 +3,000 +3,000 +3,000 +– +– +– +–/);
});

test('names from outside cannot move the cursor or change colours', () => {
  const { comparison } = sample();
  const hostile = { ...comparison.workload, name: '\u001b[2J\u001b]0;title\u0007trace\r\n\b' };
  const text = comparisonText({ ...comparison, workload: hostile }, { color: false });
  expect(text).toContain('trace');
  expect([...text].filter((character) => /\p{Cc}/u.test(character) && character !== '\n')).toEqual([]);
});
