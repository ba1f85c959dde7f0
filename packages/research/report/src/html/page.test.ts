import { describe, expect, test } from 'vitest';
import type { Comparison } from '../comparison.js';
import { ComparisonError } from '../errors.js';
import { buildRun, job, measurements, sample } from '../sample-runs.fixture.js';
import { buildSeries, countedSeries } from '../series.js';
import { renderReport } from './page.js';

const META = {
  command: 'goshawk replay google-like:jobs=120 --seed 1 --report out.html',
  generator: 'goshawk 0.1.0',
};
const SEVEN = {
  hawk: 1,
  sparrow: 8,
  central: 2,
  split: 1.2,
  'no-central': 1,
  'no-partition': 3,
  'no-stealing': 4,
};

const renderPage = (...args: Parameters<typeof renderReport>) => renderReport(...args).page;

const all = (page: string, pattern: RegExp) =>
  [...page.matchAll(pattern)].map((match) => match[1] ?? match[0]);

describe('the page of a comparison', () => {
  const { comparison, series } = sample();
  const page = renderPage(comparison, series, META);

  test('is self-contained: no scripts, no links, no addresses', () => {
    expect(page).not.toMatch(/<script|<link|<img|<iframe|@import|https?:|javascript:| on\w+=|url\((?!#)/i);
    expect(page).toContain('content="default-src &#39;none&#39;; style-src');
  });

  test('has its sections in order', () => {
    expect(all(page, /<h2>(.*?)<\/h2>/g)).toEqual([
      'Run times',
      'Distribution of run times',
      'hawk against sparrow, by percentile',
      'Where a job’s time goes',
      'The cluster over time',
      'Slots, steals and messages',
      'Provenance',
    ]);
  });

  test('draws two labelled charts per section, with their numbers as a table', () => {
    const charts = all(page, /<svg viewBox="0 0 500 \d+" role="img" aria-label="([^"]+)"/g);
    expect(charts).toHaveLength(12);
    expect(charts[0]).toMatch(/short jobs\. hawk: half within \d+ ms, 90% within \d+ ms; sparrow:/);
    expect(all(page, /<details>/g)).toHaveLength(12);
  });

  test('names the best other policy in each tile, if it is not the only one', () => {
    const { comparison: three, series: of } = sample({ hawk: 2, sparrow: 8, central: 1 });
    const tiles = all(renderPage(three, of, META), /(best other: [^<]*)/g);
    expect(tiles).toHaveLength(4);
    expect(tiles[0]).toMatch(/^best other: central [\d.]+ m?s \([\d.]+×\)$/);
    expect(page).not.toContain('best other');
  });

  test('shows the command that reproduces it', () => {
    expect(
      all(page, /<code>goshawk(.*?)<\/code>/g).map((line) => `goshawk${line.replaceAll(/<[^>]+>/g, '')}`),
    ).toEqual([META.command]);
    expect(page).toContain(comparison.workload.sha256);
    expect(page).toMatch(/<dt>Seed<\/dt><dd>1<\/dd>/);
    expect(page).toContain('<li>cutoff <b>p90</b></li>');
    expect(page).toMatch(/steal-cap<\/th><td>10<\/td><td>0<\/td>/);
  });

  test('uses only colors of the page in its charts, for light, dark and print', () => {
    const charts = all(page, /<svg viewBox="0 0 500[\s\S]*?<\/svg>/g).join('');
    const colors = new Set(all(charts, /(?:fill|stroke)="([^"]+)"/g));
    expect([...colors].filter((color) => !/^(none|var\(--[\w-]+\)|#000)$/.test(color))).toEqual([]);
    // Black occurs only in clip paths, where it is invisible.
    expect(charts.replaceAll(/<clipPath[\s\S]*?<\/clipPath>/g, '')).not.toContain('#000');
    const defined = new Set(all(page, /(--[\w-]+):/g));
    expect(all(page, /var\((--[\w-]+)\)/g).filter((name) => !defined.has(name))).toEqual([]);
    expect(page).toContain('prefers-color-scheme:dark');
    expect(page).toContain('@media print');
  });

  test('has unique ids and no dangling references', () => {
    const ids = all(page, / id="([^"]+)"/g);
    expect(new Set(ids).size).toBe(ids.length);
    expect(all(page, /url\(#([^)]+)\)/g).filter((id) => !ids.includes(id))).toEqual([]);
  });

  test('is the same for the same input, even after other pages', () => {
    expect(renderPage(comparison, series, META)).toBe(page);
  });

  test('is well-formed', () => {
    for (const tag of ['section', 'div', 'table', 'tr', 'svg', 'g', 'figure', 'details', 'ul', 'dl', 'p']) {
      expect(all(page, new RegExp(`</${tag}>`, 'g')).length).toBe(
        all(page, new RegExp(`<${tag}[ >]`, 'g')).length,
      );
    }
  });
});

describe('contents of a page', () => {
  test('has tables and charts without series if only the JSON is given', () => {
    const { comparison } = sample();
    const page = renderPage(JSON.parse(JSON.stringify(comparison)) as Comparison, [], META);
    expect(all(page, /<h2>(.*?)<\/h2>/g)).toEqual([
      'Run times',
      'Where a job’s time goes',
      'The cluster over time',
      'Slots, steals and messages',
      'Provenance',
    ]);
  });

  test("shows the workers' queues if they were read, and active jobs otherwise", () => {
    const { comparison, series } = sample({ hawk: 1 });
    const page = renderPage(comparison, series, META);
    expect(page).toContain('Entries in worker queues');
    expect(page).not.toContain('Active jobs');
    const unread = comparison.runs.map((run) => ({ ...run, series: { ...run.series, counted: null } }));
    const without = renderPage({ ...comparison, runs: unread }, series, META);
    expect(without).toContain('Active jobs');
    expect(without).not.toContain('Steals that succeeded');
  });

  test('several baselines have a legend and a separate title', () => {
    const { comparison, series } = sample(SEVEN, [1, 2]);
    const page = renderPage(comparison, series, META);
    expect(page).toContain('<h1>hawk against 6 other policies</h1>');
    expect(page).toContain('hawk against the others, by percentile');
    expect(page).toContain('numbers are means over 2 seeds');
    expect(page).toContain('Small print shows the minimum and maximum over the seeds');
  });

  test('a single policy is shown without ratios', () => {
    const { comparison, series } = sample({ hawk: 1 });
    const page = renderPage(comparison, series, META);
    expect(page).toContain('<h1>hawk</h1>');
    expect(page).not.toContain('by percentile');
  });

  test('the round trip that binds a task is a separate part if it is known', () => {
    const { comparison, series } = sample({ hawk: 1 });
    const timeParts = { short: { queueing: 1, binding: 0.25, running: 2 }, long: null };
    const runs = comparison.runs.map((run) => ({ ...run, timeParts }));
    expect(renderPage({ ...comparison, runs }, series, META)).toContain(
      'queueing 1 s, binding 250 ms, running 2 s',
    );
  });

  test('failed jobs and a predictor are shown if there are any', () => {
    const { comparison } = sample({ hawk: 1 });
    const predictor = {
      jobsSampled: 7,
      pilotTasks: 21,
      meanAbsoluteErrorPercent: 12.3,
      medianAbsoluteErrorPercent: 4.5,
      p90AbsoluteErrorPercent: 67.8,
      misclassifiedPercent: null,
      takenForShortPercent: 1,
      takenForLongPercent: 2,
      misclassifiedJobsPercent: 3,
      decisionSeconds: null,
    };
    const { run } = buildRun(
      measurements([job({ id: 'a' }), job({ id: 'b', outcome: 'failed' })], { predictor }),
    );
    const page = renderPage({ ...comparison, runs: [run] }, [], META);
    expect(page).toMatch(/hawk: 1(\.00)? of 2 jobs failed/);
    expect(page).toContain('<td>21</td><td>12.3%</td><td>4.5%</td><td>67.8%</td><td>–</td>');
  });

  test('a series of a policy outside the comparison is an error', () => {
    const { comparison, series } = sample();
    expect(() => renderPage(comparison, [{ ...series[0]!, policy: 'eagle' }], META)).toThrow(ComparisonError);
  });
});

describe('unusual numbers', () => {
  const { comparison } = sample({ hawk: 1 });
  const pageOf = (seconds: readonly number[]) => {
    const jobs = seconds.map((runSeconds, index) => job({ id: String(index), waitSeconds: 0, runSeconds }));
    const { run, series } = buildRun(measurements(jobs, { snapshotIntervalSeconds: 1e7 }));
    const twin = { ...run, policy: 'sparrow' };
    const runs = [run, twin];
    return renderPage({ ...comparison, runs }, [series, { ...series, policy: 'sparrow' }], META);
  };

  test.each([
    ['one job', [1]],
    ['all the same', [2, 2, 2]],
    ['all of no length', [0, 0]],
    ['some of no length', [0, 1e-6, 3]],
    ['from microseconds to weeks', [1e-6, 1, 1e6]],
    ['hardly apart', [1, 1.0000001]],
  ])('%s', (_, seconds) => {
    expect(pageOf(seconds)).not.toMatch(/NaN|Infinity|undefined|\[object/);
  });
});

test('names from outside are escaped everywhere', () => {
  const hostile = `</title><script>alert("1")</script><img src=x onerror='alert(2)'>{a|b}&`;
  const { comparison, series } = sample({ [hostile]: 1, [`${hostile}2`]: 3 });
  const page = renderPage(
    {
      ...comparison,
      workload: { ...comparison.workload, name: hostile, sha256: hostile },
      runs: comparison.runs.map((run) => ({
        ...run,
        options: { ...run.options, [hostile]: [hostile] },
        messages: { total: 1, byType: { [hostile]: 1 } },
      })),
    },
    series,
    { command: hostile, generator: hostile, note: hostile },
  );
  expect(page).not.toMatch(/<script|<img/);
  const withoutTooltips = page.replaceAll(/<(?:circle|rect) [^>]*><title>[^<]*<\/title>/g, '');
  expect(all(withoutTooltips, /<\/title>/g)).toHaveLength(1);
  expect(page).toContain('<h1>&lt;/title&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;');
  // Quotes in names do not end their attributes.
  const labels = all(page, /aria-label="([^"]*)"/g).join();
  expect(labels).toContain('onerror=&#39;alert(2)&#39;');
});

test('values of charts are tooltips, and each chart is also a picture', () => {
  const { comparison, series } = sample({ goshawk: 1, hawk: 3 });
  const { page, charts } = renderReport(comparison, series, META);
  expect(page).toMatch(/<circle [^>]*><title>goshawk: \d+% at [^<]+<\/title><\/circle>/);
  expect(page).toMatch(/<rect [^>]*><title>hawk, p50: [\d.]+×<\/title><\/rect>/);
  expect(charts.map(({ id }) => id)).toEqual(
    expect.arrayContaining(['cdf-short', 'ratio-short', 'parts-long', 'busy']),
  );
  expect(new Set(charts.map(({ id }) => id)).size).toBe(charts.length);
  for (const { svg } of charts) expect(svg()).toMatch(/^<svg xmlns[\s\S]*<\/svg>\s*$/);
});

test('all charts are one picture with a caption, and one table of values', () => {
  const { comparison, series } = sample({ goshawk: 1, hawk: 3 });
  const { charts, picture, values } = renderReport(comparison, series, META);
  const svg = picture();
  for (const { id } of charts) expect(svg).toContain(`id="${id}-title"`);
  expect(svg.match(/<svg /g)).toHaveLength(charts.length + 1);
  expect(svg).toMatch(/<text x="16" y="[\d.]+">[^<]+ jobs? with /);
  const [, width, height] = /width="(\d+)" height="(\d+)"/.exec(svg)!.map(Number);
  for (const [, x, y] of [...svg.matchAll(/<svg x="(\d+)" y="(\d+)"/g)].map((found) => found.map(Number))) {
    expect(x).toBeLessThan(width!);
    expect(y).toBeLessThan(height!);
  }
  const [head, ...rows] = values().trimEnd().split('\n');
  expect(head).toBe('chart,series,x,y');
  expect(new Set(rows.map((row) => row.split(',')[0]))).toEqual(new Set(charts.map(({ id }) => id)));
});

test('a page of half a million jobs under seven policies is smaller than 400 kB', () => {
  const { comparison, series } = sample(SEVEN);
  const runtimes = Float64Array.from({ length: 500_000 }, (_, index) => 1 + ((index * 7919) % 500_000) / 100);
  const levels = Array.from({ length: 20_000 }, (_, index) => index % 97);
  const byClass = { short: levels, long: levels };
  const snapshots = { busySlots: levels, waitingTasks: byClass, jobsUnderway: byClass };
  const readings = levels.map((steals, index) => ({
    seconds: index * 100,
    stealAttempts: index,
    stealSuccesses: index,
    probesMoved: index,
    queuedEntries: steals,
  }));
  const overTime = buildSeries(100, 2_000_000, snapshots, countedSeries(readings));
  const large = series.map((each) => ({
    ...each,
    shortRuntimes: runtimes,
    longRuntimes: runtimes,
  }));
  const runs = comparison.runs.map((run) => ({ ...run, series: overTime }));
  expect(Buffer.byteLength(renderPage({ ...comparison, runs }, large, META))).toBeLessThan(400_000);
});
