import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chromiumProgram, closeChromium, launchChromium } from '../chromium.fixture.js';
import { TestCluster } from '../test-cluster.fixture.js';

const PROGRAM = chromiumProgram();
/** Timeout (ms) that only a hanging page exceeds, even on a busy machine. */
const PATIENCE_MS = 60_000;

/** The main paths of the page; `dashboard-page.long.test.ts` has all views and faults. */
describe.runIf(PROGRAM !== undefined)('the page in Chromium, in short', () => {
  let cluster: TestCluster;
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    cluster = await TestCluster.start(['--workers', '2', '--cpus', '2', '--schedulers', '1', '--dashboard']);
    browser = await launchChromium(PROGRAM!);
  });

  // A test that is repeated after a failure needs a page without the rest of the first try.
  beforeEach(async () => {
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.setDefaultTimeout(PATIENCE_MS);
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    await page.goto(cluster.dashboard!);
  });

  afterEach(() => page.close());

  afterAll(async () => {
    if (browser !== undefined) await closeChromium(browser);
    await cluster?.goshawk(['cancel', '--all', '--yes']);
    await cluster?.stop();
  });

  async function submit(job: object): Promise<string> {
    const response = await fetch(`${cluster.dashboard}v1/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(job),
    });
    return ((await response.json()) as { job: string }).job;
  }

  /** The focused element, as its tag with its link or text. */
  async function focused(): Promise<string> {
    return page.evaluate<string>(
      '(() => { const e = document.activeElement; return e.tagName + " " + (e.getAttribute("href") ?? e.textContent.slice(0, 30)); })()',
    );
  }

  it('follows a job from the list to its log and back by keyboard, without losing the focus', async () => {
    // Jobs of an earlier try would use the CPUs.
    await cluster.goshawk(['cancel', '--all', '--yes']);
    const second = `two-${Date.now()}`;
    const ids = await Promise.all(
      ['one', second].map((name) =>
        submit({ name, tasks: [{ exec: ['sh', '-c', `echo output of ${name}; sleep 600`] }] }),
      ),
    );
    await page.getByText('Nothing needs attention.').waitFor();
    await page.keyboard.press('Control+k');
    await page.getByLabel('Query of jobs').fill(`name:${second}`);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: ids[0]! }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: ids[1]! }).waitFor();
    // `j` moves to the row, from wherever the focus is outside of the query.
    await page.getByRole('button', { name: 'Find' }).focus();
    await page.keyboard.press('j');
    expect(await focused()).toBe(`A #/jobs/${ids[1]}`);
    // On a slow line the log arrives after the user has asked for that of a task.
    let letLogs = (): void => {};
    const arrives = new Promise<void>((resolve) => {
      letLogs = resolve;
    });
    await page.route(/\/logs\?/, (route) => arrives.then(() => route.continue()));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: `${second} (${ids[1]})` }).waitFor();
    expect(await focused()).toMatch(/^H1 /);
    const log = page.getByRole('link', { name: 'Log of task 0' });
    await log.focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/task=0/);
    letLogs();
    await page.locator('.log', { hasText: `0: output of ${second}` }).waitFor();
    await expect.poll(focused).toMatch(/^PRE /);
    // Updates keep the focus.
    await page.waitForResponse(/\/logs\?/);
    await page.waitForResponse(/\/logs\?/);
    expect(await focused()).toMatch(/^PRE /);
    await page.goBack();
    await page.goBack();
    await expect.poll(focused).toBe(`A #/jobs/${ids[1]}`);
  });

  it('an address shows the same view in another window', async () => {
    const fails = await submit({
      name: 'fails',
      tasks: { count: 45, run: { exec: ['sh', '-c', 'echo no >&2; exit 3'] } },
    });
    await page.goto(`${cluster.dashboard}#/jobs/${fails}`);
    await page.locator('.name .badge.failed').waitFor();
    await page
      .getByRole('navigation', { name: 'Pages of tasks' })
      .getByRole('link', { name: 'Next' })
      .click();
    await page.getByRole('link', { name: 'Log of task 21' }).click();
    await page.getByLabel('Find').fill('no');
    await page.getByText('1 of 1 lines match.').waitFor();
    const other = await browser.newPage();
    other.setDefaultTimeout(PATIENCE_MS);
    await other.goto(page.url());
    await other.getByText('1 of 1 lines match.').waitFor();
    expect(await other.getByLabel('Task', { exact: true }).inputValue()).toBe('21');
    await other.getByRole('link', { name: 'Log of task 39' }).waitFor();
    await other.goto(`${cluster.dashboard}#/?seconds=900&workers=w1`);
    await other.getByText('1 worker of 1').waitFor();
    expect(await other.getByRole('button', { name: '15 min' }).getAttribute('aria-pressed')).toBe('true');
    await other.close();
  });

  it('elapsed times grow between events', async () => {
    const id = await submit({ name: 'sleeps', tasks: [{ sleep: 600_000 }] });
    await page.goto(`${cluster.dashboard}#/jobs/${id}`);
    const ran = page.getByRole('region', { name: 'Tasks' }).getByRole('cell', { name: /^[1-9]\d* s$/ });
    await ran.waitFor();
    const first = Number.parseInt(await ran.innerText(), 10);
    await expect
      .poll(async () => Number.parseInt(await ran.innerText(), 10), { timeout: PATIENCE_MS })
      .toBeGreaterThanOrEqual(first + 2);
  });

  it('actions are confirmed, and change only the jobs that were confirmed', async () => {
    const held = { tasks: [{ sleep: 1 }], hold: true };
    const first = await submit({ name: 'batch-a', ...held });
    await page.goto(`${cluster.dashboard}#/jobs?q=name:batch-*`);
    await page.getByRole('button', { name: 'Cancel all 1 that match…' }).click();
    await page.getByText('Cancel 1 job? 1 waiting task will not start').waitFor();
    const second = await submit({ name: 'batch-b', ...held });
    await page.getByRole('link', { name: second }).waitFor();
    await page.getByRole('button', { name: 'Cancel all 1 that match', exact: true }).click();
    await page.getByText('1 job cancelled.').waitFor();
    const states = await page.getByRole('row', { name: /batch-/ }).allInnerTexts();
    expect(states.find((row) => row.includes(first))).toContain('cancelled');
    expect(states.find((row) => row.includes(second))).toContain('held');
  });

  it.each(['#/', '#/jobs', '#/workers/w1', '#/users', '#/submit', '#/policy'])(
    'nothing moves while %s loads',
    async (hash) => {
      const other = await browser.newPage({ viewport: { width: 1280, height: 900 } });
      other.setDefaultTimeout(PATIENCE_MS);
      await other.addInitScript(
        'moved = 0; new PerformanceObserver((list) => { for (const { value } of list.getEntries()) moved += value; }).observe({ type: "layout-shift", buffered: true });',
      );
      await other.goto(`${cluster.dashboard}${hash}`);
      await other.locator('main .pending').first().waitFor({ state: 'detached' });
      await other.locator('main :is(.card, .tile)').first().waitFor();
      // The score of Web Vitals; 0.1 is the limit of "good".
      expect(await other.evaluate<number>('moved')).toBeLessThan(0.03);
      await other.close();
    },
  );

  it('complains of nothing', () => {
    expect(complaints).toEqual([]);
  });
});
