import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumProgram, closeChromium, launchChromium } from '../chromium.fixture.js';
import type { RunningGoshawk } from '../goshawk-process.fixture.js';
import { TestCluster } from '../test-cluster.fixture.js';

const PROGRAM = chromiumProgram();
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Timeout (ms) that only a hanging page exceeds, even on a busy machine. */
const PATIENCE_MS = 60_000;

/** All tests share one browser and one cluster; each continues from the state that the previous one left. */
describe.runIf(PROGRAM !== undefined)('the page in Chromium', () => {
  let cluster: TestCluster;
  let extra: RunningGoshawk;
  let dashboard: RunningGoshawk;
  let browser: Browser;
  let page: Page;
  let url = '';
  /** Requests and console errors of the page. */
  const asked = new Set<string>();
  const complaints: string[] = [];
  const loaded = new Set<string>();

  beforeAll(async () => {
    cluster = await TestCluster.start(['--workers', '3', '--schedulers', '2']);
    extra = cluster.run(['worker', '--name', 'extra', '--central-url', cluster.url, '--json']);
    dashboard = startDashboard('127.0.0.1:0');
    url = await dashboard.firstLine;
    await extra.firstLine;
    browser = await launchChromium(PROGRAM!);
    page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    page.setDefaultTimeout(PATIENCE_MS);
    page.on('request', (request) => asked.add(new URL(request.url()).host));
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('response', (response) => {
      if (/^(document|stylesheet|script)$/.test(response.request().resourceType()))
        loaded.add(response.url());
    });
    await page.goto(url);
  });

  afterAll(async () => {
    if (browser !== undefined) await closeChromium(browser);
    dashboard?.kill('SIGKILL');
    extra?.kill('SIGKILL');
    await cluster?.stop();
  });

  /** Compressed size of everything the page loaded. */
  async function loadedBytes(): Promise<number> {
    const texts = [...loaded].map(async (file) => (await fetch(file)).arrayBuffer());
    return (await Promise.all(texts)).reduce((sum, text) => sum + gzipSync(text).length, 0);
  }

  function startDashboard(bind: string): RunningGoshawk {
    return cluster.run(['dashboard', '--listen', bind, '--cluster', cluster.url]);
  }

  async function submit(job: object): Promise<string> {
    const response = await fetch(`${url}v1/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(job),
    });
    return ((await response.json()) as { job: string }).job;
  }

  async function open(address: string, heading: string | RegExp): Promise<void> {
    await page.goto(`${url}${address}`);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  }

  it('shows the cluster at an unknown or badly encoded address', async () => {
    await open('#/constructor', 'Overview');
    await open('#/policy/100%', 'Policy');
    await open('#/jobs', 'Jobs');
    await page.getByText('There are no jobs.').waitFor();
    await open('#/', 'Overview');
    expect(complaints).toEqual([]);
  });

  it('shows the cluster, and stays within its size limit', async () => {
    await page.getByText('Nothing needs attention.').waitFor();
    await page.getByText('all active').waitFor();
    expect(complaints).toEqual([]);
    await page.getByRole('heading', { name: 'Task stream' }).waitFor();
    // Further views are one more file; earlier tests have loaded it.
    expect([...loaded].map((file) => new URL(file).pathname).sort()).toEqual([
      ...['/', '/main.js', '/pictures.js', '/style.css', '/views.js'],
    ]);
    loaded.delete(`${url}views.js`);
    expect(await loadedBytes()).toBeLessThan(60_000);
  });

  it('shows a job that was submitted over the API, from the list to its end', async () => {
    const id = await submit({
      name: 'watched',
      user: 'ann',
      tasks: [{ exec: ['sh', '-c', 'echo seen; sleep 1'] }, { exec: ['echo', '<img src=x>'] }],
    });
    await page.getByRole('link', { name: 'Jobs', exact: true }).first().click();
    await page.getByLabel('Query of jobs').fill('user:an* name:watch*');
    await page.getByLabel('Query of jobs').press('Enter');
    await page.waitForURL(/#\/jobs\?q=user/);
    await page.getByRole('link', { name: id }).click();
    await page.locator('.name .badge.completed').waitFor();
    await page.getByText(/^Completed after .* until the first task started/).waitFor();
    // Task output is shown as text, never as markup.
    await page.locator('.log', { hasText: '<img src=x>' }).waitFor();
    expect(await page.locator('.log img').count()).toBe(0);
    await page.locator('.timeline rect').first().waitFor();
  });

  it("shows the values under the pointer in a chart's legend, and none when the pointer leaves", async () => {
    await open('#/', 'Overview');
    const card = page.locator('.charts .card', { hasText: 'Run time of jobs' });
    const legend = card.locator('.legend');
    await card.locator('.u-over').hover();
    await expect
      .poll(() => legend.innerText(), { timeout: PATIENCE_MS })
      .toMatch(/short p50 *[\d.]+ m?s[\s\S]*at \d\d:\d\d$/);
    await page.mouse.move(0, 0);
    await expect.poll(() => legend.innerText()).not.toMatch(/\d:\d/);
  });

  it('shows why a job waits, holds it, changes its priority, and cancels it after a confirmation', async () => {
    const id = await submit({ name: 'stuck', tasks: { count: 3, run: { sleep: 600_000 } }, maxRunning: 1 });
    await open(`#/jobs/${id}`, new RegExp(`\\(${id}\\)`));
    await page.locator('.sentence', { hasText: /tasks have waited .*: / }).waitFor();
    await page.getByRole('button', { name: 'Hold' }).click();
    await page.locator('.name .badge.held').waitFor();
    await page.getByRole('button', { name: 'Release' }).click();
    await page.locator('.name .badge.held').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Priority high' }).click();
    await page.getByRole('button', { name: 'Priority normal' }).waitFor();
    await page.getByRole('button', { name: 'Cancel…' }).click();
    await page
      .getByText(/^Cancel the job\? 2 waiting tasks will not start, and 1 running task will be killed\./)
      .waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Cancel…' }).click();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.locator('.name .badge.cancelled').waitFor();
    await page.getByRole('button', { name: 'Retry…' }).waitFor();
  });

  it('predicts the start of a waiting job with more workers', async () => {
    const id = await submit({
      name: 'crowded',
      tasks: { count: 60, run: { sleep: 600_000 } },
      estimate: 600_000,
    });
    await open(`#/jobs/${id}`, new RegExp(`\\(${id}\\)`));
    await page.locator('.name .badge.running').waitFor();
    await page.getByRole('button', { name: '+10 workers' }).click();
    const table = page.getByRole('region', { name: 'What if' });
    await table.getByRole('row', { name: /^no change \d+ min/ }).waitFor();
    await table.getByRole('row', { name: /^\+10 workers \d+ ms/ }).waitFor();
    await page.getByText('Simulated: no other job arrives').waitFor();
    await page.getByRole('button', { name: 'Cancel…' }).click();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.locator('.name .badge.cancelled').waitFor();
  });

  it('shows the CPU and memory that a task and its worker use', async () => {
    const id = await submit({ name: 'busy', tasks: [{ exec: ['sh', '-c', 'while :; do :; done'] }] });
    await open(`#/jobs/${id}`, new RegExp(`\\(${id}\\)`));
    const row = page.getByRole('row', {
      name: /running .* 0\.\d+ CPU, [\d.]+ MiB|running .* 1 CPU, [\d.]+ MiB/,
    });
    await row.waitFor();
    await row.getByRole('link', { name: /^(w\d|extra)$/ }).click();
    await page.getByText(/busy .* in use: [\d.]+ CPU, [\d.]+ MiB/).waitFor();
    await fetch(`${url}v1/jobs/${id}/cancel`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
  });

  it('shows why a job failed', async () => {
    const fails = { exec: ['sh', '-c', 'exit 3'] };
    const id = await submit({ name: 'broken', tasks: { count: 7, run: fails } });
    await open(`#/jobs/${id}`, new RegExp(`\\(${id}\\)`));
    await page
      .getByText(/^7 tasks, such as task 0 on (w\d|extra): the command ended with exit code 3$/)
      .waitFor();
  });

  it('draws tasks by worker, and moves and zooms by keyboard', async () => {
    const id = await submit({ name: 'drawn', tasks: { count: 6, run: { sleep: 300 } } });
    await open('#/', 'Overview');
    const stream = page.locator('section', { has: page.getByRole('heading', { name: 'Task stream' }) });
    await stream.getByText('Table', { exact: true }).click();
    await stream.getByRole('link', { name: 'drawn', exact: true }).first().waitFor();
    await stream.getByRole('application').focus();
    await page.keyboard.press('ArrowLeft');
    await stream.getByText(/until \d\d:\d\d:\d\d/).waitFor();
    await page.keyboard.press('+');
    await stream.getByText(/^30 s, /).waitFor();
    await page.keyboard.press('Escape');
    await stream.getByText(/^1 min, live/).waitFor();
    await stream.getByRole('button', { name: '1 h' }).press('Enter');
    await stream.getByText(/^1 h, live/).waitFor();
    await stream.getByRole('searchbox', { name: 'Workers' }).fill('w1');
    await stream.getByText('1 worker of 1').waitFor();
    expect(new URL(page.url()).hash).toBe('#/?toggled=stream&seconds=3600&workers=w1');
    await stream.getByText(/^1 h, live: [\d,]+ sampled attempts? of \d+ jobs?/).waitFor();
    await open(`#/jobs/${id}`, new RegExp(`\\(${id}\\)`));
  });

  it('draws the stages of a job, with the path that failed', async () => {
    const id = await submit({
      name: 'graph',
      stages: [
        { name: 'first', tasks: [{ sleep: 1 }] },
        { name: 'breaks', after: ['first'], tasks: [{ exec: ['sh', '-c', 'exit 3'] }] },
        { name: 'last', after: ['breaks'], tasks: [{ sleep: 1 }] },
      ],
    });
    await open(`#/jobs/${id}`, new RegExp(`\\(${id}\\)`));
    await page
      .getByRole('img', { name: '3 stages: first completed, breaks failed, last cancelled' })
      .waitFor();
    expect(await page.locator('.graph .stage.broken').count()).toBe(2);
    expect(await page.locator('.graph .edge.broken').count()).toBe(1);
    await page.locator('.waterfall', { hasText: 'tasks run' }).waitFor();
  });

  it('plans a job, shows errors beside the buttons, and submits it', async () => {
    await open('#/submit', 'Submit');
    const editor = page.getByLabel('Job', { exact: true });
    await editor.fill('{"name": ');
    await page.getByRole('button', { name: 'Plan', exact: true }).click();
    await page.getByText('This is not JSON').waitFor();
    await editor.fill('{"name": "typed", "tasks": [{"sleeps": 1}]}');
    await editor.press('Control+Enter');
    await page.locator('#job-outcome .error', { hasText: 'tasks' }).waitFor();
    await editor.fill('{"name": "typed", "tasks": {"count": 5, "run": {"sleep": 1}}}');
    await page.getByRole('button', { name: 'Plan', exact: true }).click();
    await page.getByText(/^5 tasks\. /).waitFor();
    await page.getByRole('button', { name: 'Submit', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: /^typed \(/ }).waitFor();
    await page.locator('.name .badge.completed').waitFor();
  });

  it('acts on matching or selected jobs, after it has described the action', async () => {
    const held = { tasks: { count: 2, run: { sleep: 1 } }, hold: true };
    // A retry of this test must not find the jobs of the try before it.
    const group = `bulk-${randomUUID()}`;
    const ids = await Promise.all(['a', 'b', 'c'].map((end) => submit({ name: `${group}-${end}`, ...held })));
    await open(`#/jobs?q=name:${group}-*`, 'Jobs');
    await page.getByRole('button', { name: 'Release all 3 that match…' }).waitFor();
    await page.getByLabel(`Select ${ids[0]}`).check();
    await page.getByRole('button', { name: 'Cancel 1 selected…' }).click();
    await page.getByText('Cancel 1 job? 2 waiting tasks will not start').waitFor();
    await page.getByRole('button', { name: 'Cancel 1 selected', exact: true }).click();
    await page.getByText('1 job cancelled.').waitFor();
    // Its row moves once the page has its new state.
    await page.getByRole('row').filter({ hasText: ids[0]! }).locator('.badge.cancelled').waitFor();
    await page.getByLabel(`Select ${ids[0]}`).uncheck();
    await page.getByRole('button', { name: 'Cancel all 3 that match…' }).click();
    await page.getByText('Cancel 2 jobs? 4 waiting tasks will not start').waitFor();
    await page.getByText('It does not apply to 1 of the 3.').waitFor();
    await page.getByRole('button', { name: 'Go back' }).click();
    await page.getByRole('button', { name: 'Cancel all 3 that match…' }).click();
    await page.getByRole('button', { name: 'Cancel all 3 that match', exact: true }).click();
    await page.getByText('2 jobs cancelled.').waitFor();
  });

  it('chooses a worker by keyboard, and drains it', async () => {
    await open('#/workers', 'Workers');
    // Workers of the grid are in the order of their names, so all must be there.
    for (const name of ['extra', 'w0', 'w1', 'w2'])
      await page.getByRole('row', { name: new RegExp(`^${name} active`) }).waitFor();
    await page.getByRole('application').focus();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('heading', { level: 2, name: 'extra' }).waitFor();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('heading', { level: 2, name: 'w0' }).waitFor();
    await page.getByRole('button', { name: 'Drain…' }).click();
    // A task of an earlier test may still run there.
    await page.getByText('Drain w0? It accepts no new tasks.').waitFor();
    await page.getByRole('button', { name: 'Drain', exact: true }).click();
    await page.locator('.panel .badge.drained').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.locator('.panel .badge.active').waitFor();
  });

  it('shows a worker that was killed, in the grid, its table and under needs attention', async () => {
    await open('#/workers', 'Workers');
    // Few workers: the table is open.
    await page.getByRole('row', { name: /^extra active/ }).waitFor();
    extra.kill('SIGKILL');
    await page.getByText(/^lost 1$/).waitFor();
    // An open table shows changes.
    await page.getByRole('row', { name: /^extra lost/ }).waitFor();
    await open('#/workers/extra', 'Workers');
    const panel = page.locator('.panel');
    await panel.locator('.badge.lost').waitFor();
    await panel.getByText(/^\d\d:\d\d:\d\d, .* ago$/).waitFor();
    await panel
      .getByText(/its process has ended|its connection/)
      .first()
      .waitFor();
    await panel.getByText('none ran on it').waitFor();
    await open('#/', 'Overview');
    await page.getByText('1 worker lost: extra').waitFor();
  });

  it('follows the output of a task between events, with its colors, and shows its command', async () => {
    const loop =
      'i=0; while [ $i -lt 4000 ]; do i=$((i+1)); printf "\\033[31mline %d\\033[0m\\n" $i; sleep 0.05; done';
    const id = await submit({ name: 'talks', tasks: [{ exec: ['sh', '-c', loop] }] });
    await open(`#/jobs/${id}`, new RegExp(`\\(${id}\\)`));
    await page.locator('.command', { hasText: 'while [ $i -lt 4000 ]' }).waitFor();
    await page.locator('.log .ansi-red', { hasText: /^line 40$/ }).waitFor();
    const distance =
      'const log = document.querySelector("pre.log[tabindex]"); log.scrollHeight - log.clientHeight - log.scrollTop';
    await page.locator('.log .ansi-red', { hasText: /^line 80$/ }).waitFor();
    expect(
      await page.evaluate<number>(`(() => { ${distance.replace('; log.', '; return log.')} })()`),
    ).toBeLessThan(5);
    expect(await page.locator('pre.log[tabindex]').textContent()).not.toContain('[31m');
    await fetch(`${url}v1/jobs/${id}/cancel`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
  });

  it('lists a job that no worker can run under needs attention, and all failures as a number', async () => {
    await submit({ name: 'nowhere', tasks: [{ sleep: 1 }], require: { rack: 'r9' } });
    await open('#/', 'Overview');
    await page
      .locator('.attention', { hasText: '1 task cannot start: no worker has the attributes they require' })
      .waitFor();
    const words = /2 jobs failed within the last hour: graph \(.*: 1 of 3 tasks, exit code 3\), broken /;
    await page.getByRole('link', { name: words }).waitFor();
  });

  it('finds jobs from everywhere by Ctrl-K: by id, by name, by state', async () => {
    await open('#/policy', 'Policy');
    await page.keyboard.press('Control+k');
    const field = page.getByLabel('Query of jobs');
    await field.fill('state:failed bro');
    await field.press('Enter');
    await page.getByRole('link', { name: 'broken' }).or(page.getByText('broken')).first().waitFor();
    await page.getByRole('link', { name: /^failed 1$/ }).waitFor();
    await field.fill('color:red');
    await field.press('Enter');
    await page.getByText('"color:" is not a filter of jobs').waitFor();
  });

  it('shows one error for an unknown job', async () => {
    await page.goto(`${url}#/jobs/zzz-99`);
    await page.getByRole('link', { name: 'All jobs' }).waitFor();
    expect(await page.getByRole('heading', { level: 2 }).count()).toBe(0);
  });

  it('shows unknown values with their age, and says so on every view, while central does not respond', async () => {
    await open('#/', 'Overview');
    cluster.pause();
    await page
      .locator('.tile.unknown', { hasText: /CPUs in use.*unknown.*\d+ CPUs in total, .* ago/ })
      .waitFor();
    await page.locator('.tile.unknown', { hasText: 'Active jobs' }).waitFor();
    expect(await page.locator('.tile strong').allTextContents()).not.toContain('0');
    for (const part of ['jobs', 'workers', 'users', 'submit', 'policy']) {
      await page.goto(`${url}#/${part}`);
      await page
        .locator('.connection', { hasText: /Central does not answer: its values are .* old/ })
        .waitFor();
    }
    cluster.resume();
    await page.locator('.connection', { hasText: 'Central does not answer' }).waitFor({ state: 'detached' });
    await open('#/', 'Overview');
    await page.locator('.tile.unknown').first().waitFor({ state: 'detached' });
  });

  it('reports an error of the page, and continues', async () => {
    await open('#/', 'Overview');
    const before = complaints.length;
    await page.evaluate(
      'Object.defineProperty(Node.prototype, "insertBefore", { configurable: true, value() { throw new Error("cannot draw"); } })',
    );
    await page.goto(`${url}#/jobs`);
    await expect
      .poll(() => complaints.slice(before).join(), { timeout: PATIENCE_MS })
      .toContain('cannot draw');
    expect(await page.getByText('no answer from the dashboard').count()).toBe(0);
    await page.reload();
    // The page complains until it is loaded again.
    complaints.length = before;
  });

  it('loads in more tabs than a browser opens connections, because hidden ones close theirs', async () => {
    const context = await browser.newContext();
    const tabs: Page[] = [];
    const hide = (tab: Page, isHidden: boolean) =>
      tab.evaluate(
        `Object.defineProperty(document, 'hidden', { get: () => ${isHidden}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));`,
      );
    for (let n = 0; n < 8; n++) {
      const tab = await context.newPage();
      tab.setDefaultTimeout(PATIENCE_MS);
      await tab.goto(url);
      await tab.getByText('Task stream').waitFor();
      const closed = tab.waitForEvent('requestfailed', (request) => request.url().endsWith('/v1/events'));
      await hide(tab, true);
      await closed;
      tabs.push(tab);
    }
    const [first] = tabs as [Page];
    const reopened = first.waitForResponse((response) => response.url().endsWith('/v1/events'));
    await hide(first, false);
    expect((await reopened).status()).toBe(200);
    await context.close();
  });

  it('recovers after a restart of the server', async () => {
    await open('#/jobs', 'Jobs');
    dashboard.kill('SIGKILL');
    await dashboard.finished;
    const gone = page.locator('.connection', { hasText: 'no answer from the dashboard' });
    await gone.waitFor();
    const { host } = new URL(url);
    dashboard = startDashboard(host);
    await dashboard.firstLine;
    await gone.waitFor({ state: 'detached' });
    const id = await submit({ name: 'after', tasks: [{ sleep: 1 }] });
    await page.getByRole('link', { name: id }).waitFor();
    // Connection errors of the browser are not errors of the page.
    const others = complaints.filter((text) => !/net::ERR_|Failed to load resource/.test(text));
    expect(others).toEqual([]);
  });

  it.each([
    ['light', 375],
    ['dark', 375],
    ['light', 768],
    ['dark', 768],
    ['light', 1_440],
    ['dark', 1_440],
    ['light', 1_920],
    ['dark', 1_920],
  ] as const)('is accessible and does not overflow, %s, %i px', async (colorScheme, width) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    const id = await submit({ name: 'checked', tasks: [{ exec: ['sh', '-c', 'echo no; exit 1'] }] });
    const long = await submit({
      ...{ name: 'n'.repeat(250), user: 'u'.repeat(250), key: 'long names' },
      require: { ['k'.repeat(200)]: 'v'.repeat(200) },
      tasks: [{ sleep: 1 }],
    });
    const parts: readonly (readonly [address: string, heading: string | RegExp, shown: string])[] = [
      ['#/', 'Overview', '.tile'],
      ['#/jobs', 'Jobs', 'tbody tr'],
      [`#/jobs/${id}`, new RegExp(`\\(${id}\\)`), '.name .badge.failed'],
      [`#/jobs/${long}`, new RegExp(`\\(${long}\\)`), '.name .badge'],
      ['#/workers/w1', 'Workers', '.panel dl'],
      ['#/users', 'Users', '.card .hint, .card .well'],
      ['#/submit', 'Submit', 'tbody tr'],
      ['#/policy', 'Policy', '.card dl'],
    ];
    for (const [address, heading, shown] of parts) {
      await open(address, heading);
      await page.locator(shown).first().waitFor();
      for (const table of await page.getByText('Table', { exact: true }).all()) await table.click();
      await page.evaluate(AXE);
      const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
        'axe.run()',
      );
      const found = violations.map(({ id: rule, nodes }) => `${address} ${rule}: ${nodes[0]!.html}`);
      expect(found).toEqual([]);
      const overflow = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect({ address, overflow }).toEqual({ address, overflow: 0 });
    }
  });

  it('sends requests only to the gateway', () => {
    expect([...asked]).toEqual([new URL(url).host]);
  });
});
