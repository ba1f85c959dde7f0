import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumProgram, closeChromium, launchChromium } from './chromium.fixture.js';
import { canMount, type RunningGoshawk } from './goshawk-process.fixture.js';
import { TestCluster } from './test-cluster.fixture.js';

const PROGRAM = chromiumProgram();
/** Timeout (ms) that only a hanging page exceeds, even on a busy machine; two problems count after a minute. */
const PATIENCE_MS = 240_000;
const TOKEN = 'a-token-of-the-tests-0123456789';

const HAS_FULL_DISK = canMount();

/** The page and `goshawk top` describe each problem on their first view. */
const PROBLEMS: readonly (readonly [problem: string, says: RegExp])[] = [
  ['a lost worker', /1 worker lost: extra/],
  ['a job that no worker can run', /1 task cannot start: no worker .*rack=r9/],
  ['a failing array', /1 job failed within the last hour: array \(\S+ 40 of 40 tasks, exit code 3\)/],
  ['a user who floods the cluster', /user mallory has [\d,]+ of [\d,]+ waiting tasks/],
  ['a gang that waits', /gang training \(\S+\) has waited for .*: all 6 tasks of a gang start together/],
  ['a slow task', /slow-shard \(\S+\): task 3 has run for .* is usual/],
  ...(HAS_FULL_DISK
    ? ([['a full disk', /full takes no new jobs: the disk of the journal is full/]] as const)
    : []),
  ['a hanging stage', /pipeline \(\S+\): task [34] has run for .* where 2 s is estimated/],
];

describe.runIf(PROGRAM !== undefined)('a cluster with ten problems', () => {
  let cluster: TestCluster;
  let dashboard: RunningGoshawk;
  let full: RunningGoshawk | undefined;
  let browser: Browser;
  let page: Page;
  let url = '';

  beforeAll(async () => {
    cluster = await TestCluster.start(['--workers', '3', '--cpus', '2', '--schedulers', '2']);
    const tokens = join(cluster.folder, 'tokens');
    writeFileSync(tokens, `operate ${TOKEN}\n`, { mode: 0o600 });
    const extra = cluster.run(['worker', '--name', 'extra', '--central-url', cluster.url, '--json']);
    await extra.firstLine;
    // Central lists it once it has joined.
    while (!(await cluster.goshawk(['workers'])).stdout.includes('extra'));
    extra.kill('SIGKILL');
    if (HAS_FULL_DISK) {
      const smallDisk = join(cluster.folder, 'disk');
      mkdirSync(smallDisk);
      const args = ['scheduler', '--name', 'full', '--central-url', cluster.url, '--data-folder', smallDisk];
      full = cluster.run([...args, '--json'], { smallDisk });
      await full.firstLine;
    }
    dashboard = cluster.run([
      ...['dashboard', '--listen', '127.0.0.1:0', '--cluster', cluster.url, '--token-file', tokens],
    ]);
    url = await dashboard.firstLine;
    const tasks = (count: number, ...exec: string[]) => ({ count, run: { exec } });
    const jobs = [
      { name: 'array', user: 'bob', tasks: tasks(40, 'sh', '-c', 'echo bad shard >&2; exit 3') },
      {
        ...{ name: 'slow-shard', user: 'eve' },
        tasks: [...Array.from({ length: 3 }, () => ({ exec: ['true'] })), { exec: ['sleep', '900'] }],
      },
      {
        ...{ name: 'pipeline', user: 'eve' },
        stages: [
          { name: 'load', tasks: tasks(3, 'true') },
          { name: 'hang', after: ['load'], tasks: tasks(2, 'sleep', '900'), estimate: 2_000 },
          { name: 'report', after: ['hang'], tasks: tasks(1, 'true') },
        ],
      },
      { name: 'nowhere', user: 'cy', tasks: tasks(1, 'true'), require: { rack: 'r9' } },
      { name: 'training', user: 'cy', tasks: tasks(6, 'sleep', '30'), gang: true },
      { name: 'flood', user: 'mallory', tasks: tasks(3_000, 'sleep', '5') },
    ];
    for (const job of jobs) {
      const response = await fetch(`${url}v1/jobs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
        body: JSON.stringify(job),
      });
      const { job: id } = (await response.json()) as { job: string };
      // It must end before room is kept for the gang.
      if (job.name === 'array') expect((await cluster.goshawk(['wait', id])).exitCode).toBe(1);
    }
    browser = await launchChromium(PROGRAM!);
    page = await browser.newPage({ viewport: { width: 1440, height: 1_000 } });
    page.setDefaultTimeout(PATIENCE_MS);
  });

  afterAll(async () => {
    if (browser !== undefined) await closeChromium(browser);
    dashboard?.kill('SIGKILL');
    full?.kill('SIGKILL');
    // Otherwise `up` would wait for tasks that run for a quarter of an hour.
    await cluster?.goshawk(['cancel', '--all', '--yes']);
    await cluster?.stop();
  });

  it('asks for a token without an error, and for the right one instead of a wrong one', async () => {
    await page.goto(url);
    await page.getByText('The operator of the dashboard gives out tokens.').waitFor();
    expect(await page.getByText(/a bearer token is required/).count()).toBe(0);
    await page.goto('about:blank');
    await page.goto(`${url}#token=wrong`);
    await page
      .getByText(/access token/i)
      .first()
      .waitFor();
    await page.getByText(/this token is not valid/).waitFor();
    const answer = await fetch(`${url}v1/overview`, { headers: { authorization: 'Bearer wrong' } });
    expect(answer.status).toBe(401);
    expect(await answer.json()).toMatchObject({ message: expect.stringContaining('token') });
    await page.getByLabel('Access token').fill(TOKEN);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });

  it.each(PROBLEMS)('names %s on the first view of the page', async (_, says) => {
    await page.locator('.attention li', { hasText: says }).first().waitFor();
  });

  it.each(PROBLEMS)('names %s in goshawk top', async (_, says) => {
    const top = async () => (await cluster.goshawk(['top'])).stdout.replaceAll(/\s+/g, ' ');
    await expect.poll(top, { timeout: PATIENCE_MS }).toMatch(says);
  });

  it('names the silence of central, on the page and in the terminal', async () => {
    cluster.pause();
    try {
      await page
        .locator('.attention li', { hasText: /no answer from central/ })
        .first()
        .waitFor();
      const { exitCode, stderr } = await cluster.goshawk(['workers', '--cluster', cluster.url]);
      expect(exitCode).toBe(3);
      expect(stderr).toMatch(/no answer from tcp:/);
    } finally {
      cluster.resume();
    }
  });
});
