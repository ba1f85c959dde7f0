import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, connect } from '@goshawk/client';
import { sumOf } from '@goshawk/core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumProgram, closeChromium, launchChromium } from '../chromium.fixture.js';
import type { RunningGoshawk } from '../goshawk-process.fixture.js';
import { TestCluster } from '../test-cluster.fixture.js';

const PROGRAM = chromiumProgram();
const COMPARISONS = 500;
/** The page polls every two seconds, and a busy machine answers late. ms */
const WINDOW_MS = 8_000;

type Numbers = Readonly<Record<'cpus' | 'slots' | 'workers' | 'jobs' | 'waiting', number>>;

/** What the page shows: its numbers, and the text that may say how old they are. */
interface Shown {
  readonly tiles: Readonly<Record<string, string>>;
  readonly text: string;
}

const READ = `({
  tiles: Object.fromEntries([...document.querySelectorAll('.tile')].map((tile) =>
    [tile.querySelector('.label').textContent, tile.querySelector('strong').textContent])),
  text: document.body.innerText.slice(0, 600),
})`;

describe.runIf(PROGRAM !== undefined)('the numbers of the page', () => {
  let cluster: TestCluster;
  let browser: Browser;
  let page: Page;
  let client: Cluster;

  beforeAll(async () => {
    cluster = await TestCluster.start(['--workers', '3', '--cpus', '4', '--schedulers', '2', '--dashboard']);
    browser = await launchChromium(PROGRAM!);
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.setDefaultTimeout(60_000);
    client = await connect(cluster.url);
    await page.goto(cluster.dashboard!);
    await page.locator('.tile strong').first().waitFor();
  });

  afterAll(async () => {
    await client?.close();
    if (browser !== undefined) await closeChromium(browser);
    await cluster?.stop();
  });

  /** The same numbers from the data of `--json`. */
  async function ask(): Promise<Numbers> {
    const [{ workers }, { counts }, { waiting }] = await Promise.all([
      client.describe(),
      client.jobs({ states: ['waiting', 'running'], limit: 1 }),
      client.waiting(),
    ]);
    return {
      cpus: Number(sumOf(workers, ({ cpus = 0 }) => cpus).toFixed(2)),
      slots: sumOf(workers, ({ slots }) => slots),
      workers: workers.length,
      jobs: counts.waiting + counts.running,
      waiting: sumOf(waiting, ({ tasks }) => tasks),
    };
  }

  it(`are those of --json in ${COMPARISONS} comparisons while jobs and workers come and go, or have an age`, async () => {
    const samples: (Numbers & { readonly from: number; readonly to: number })[] = [];
    let isOver = false;
    const sampling = (async () => {
      while (!isOver) {
        const from = Date.now();
        samples.push({ ...(await ask()), from, to: Date.now() });
        await pause(100);
      }
    })();
    const changing = (async () => {
      let extra: RunningGoshawk | undefined;
      for (let round = 0; !isOver; round++) {
        await client.submit({ name: 'churn', tasks: { count: 6 + (round % 9), run: { sleep: 1_500 } } });
        if (round % 6 === 1)
          extra = cluster.run(['worker', '--name', `x${round}`, '--cpus', '4', '--central-url', cluster.url]);
        if (round % 6 === 4) extra?.kill(round % 12 === 4 ? 'SIGKILL' : 'SIGTERM');
        await pause(2_500);
      }
      extra?.kill('SIGKILL');
    })();
    const differences: string[] = [];
    let compared = 0;
    while (compared < COMPARISONS) {
      const at = Date.now();
      const { tiles, text } = await page.evaluate<Shown>(READ);
      await pause(500);
      const recent = samples.filter(({ from, to }) => to >= at - WINDOW_MS && from <= at + 500);
      const hasAge = / s old|does not answer|at least/.test(text);
      for (const [name, shown] of Object.entries(numbersOf(tiles)) as [keyof Numbers, number][]) {
        compared++;
        if (hasAge || recent.some((sample) => sample[name] === shown)) continue;
        const known = [...new Set(recent.map((sample) => sample[name]))].join(', ');
        differences.push(`${name}: the page shows ${shown}, and --json ${known}`);
      }
    }
    isOver = true;
    await Promise.all([sampling, changing]);
    expect(differences).toEqual([]);
    // The numbers did change.
    expect(new Set(samples.map(({ workers }) => workers)).size).toBeGreaterThan(1);
    expect(new Set(samples.map(({ cpus }) => cpus)).size).toBeGreaterThan(4);
  });
});

function numbersOf(tiles: Shown['tiles']): Numbers {
  const of = (text = ''): number => Number(text.replaceAll(/,|at least /g, ''));
  const [cpus, slots] = (tiles['CPUs in use'] ?? '').split(' of ');
  return {
    cpus: of(cpus),
    slots: of(slots),
    workers: of(tiles.Workers),
    jobs: of(tiles['Active jobs']),
    waiting: of(tiles['Tasks waiting']),
  };
}
