#!/usr/bin/env node
// Draws the images of the page in docs/images: starts a cluster with several users, jobs with stages, a gang, a failing
// array and a lost worker, opens the views in Chromium, and saves them. `npm run build` first.
import { mkdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readOptions } from './options.mjs';

const { folder, widths, seconds } = readOptions('node scripts/page-images.mjs', {
  folder: fileURLToPath(new URL('../docs/images', import.meta.url)),
  /** `all`: every view at 375, 768, 1440 and 1920 px, light and dark. */
  widths: 'docs',
  seconds: '100',
});

const { chromiumProgram, closeChromium, launchChromium, TestCluster } = await import(
  '../packages/cli/dist/testing.fixture.js'
);
const program = chromiumProgram();
if (program === undefined) process.exit(1);

const shell = (script) => ({ exec: ['sh', '-c', script] });
const many = (count, run) => ({ count, run });
const sleeps = (count, from, to) =>
  Array.from({ length: count }, (_, index) => ({
    sleep: from + ((to - from) * ((index * 7) % count)) / count,
  }));

const PIPELINE = {
  name: 'nightly-etl',
  user: 'ann',
  stages: [
    { name: 'extract', tasks: sleeps(10, 2_000, 5_000) },
    { name: 'clean', after: ['extract'], tasks: sleeps(16, 4_000, 9_000) },
    { name: 'validate', after: ['extract'], tasks: sleeps(6, 5_000, 12_000) },
    { name: 'train', after: ['clean'], tasks: sleeps(6, 60_000, 90_000), demand: { cpu: 2 } },
    { name: 'score', after: ['train', 'validate'], tasks: sleeps(12, 3_000, 6_000) },
    { name: 'report', after: ['score'], tasks: [shell('echo done')] },
  ],
};
const BROKEN_PIPELINE = {
  name: 'import-orders',
  user: 'dee',
  stages: [
    { name: 'fetch', tasks: sleeps(6, 1_000, 2_000) },
    {
      name: 'parse',
      after: ['fetch'],
      tasks: many(
        8,
        shell(
          '[ $((GOSHAWK_TASK % 4)) -ne 3 ] || { echo "orders-$GOSHAWK_TASK.csv: line 214: expected 12 fields, got 11" >&2; exit 2; }; sleep 1',
        ),
      ),
    },
    { name: 'audit', after: ['fetch'], tasks: sleeps(4, 1_000, 3_000) },
    { name: 'load', after: ['parse'], tasks: sleeps(4, 1_000, 2_000) },
  ],
};
const FAILING = {
  name: 'ocr-pages',
  user: 'dee',
  tasks: many(
    40,
    shell(
      'sleep 0.$((GOSHAWK_TASK % 9)); [ $((GOSHAWK_TASK % 5)) -ne 0 ] || { echo "page $GOSHAWK_TASK: bad scan" >&2; exit 3; }',
    ),
  ),
};
const JOBS = [
  { name: 'mc-sweep', user: 'bob', tasks: sleeps(160, 20_000, 40_000), estimate: 30_000, preemptible: true },
  { name: 'render', user: 'eve', tasks: sleeps(12, 30_000, 50_000), demand: { cpu: 4 }, estimate: 40_000 },
  PIPELINE,
  {
    name: 'allreduce',
    user: 'cy',
    gang: true,
    tasks: sleeps(10, 40_000, 40_000),
    demand: { cpu: 2 },
    estimate: 40_000,
  },
  { name: 'forecast', user: 'cy', tasks: sleeps(8, 20_000, 20_000), estimate: 20_000, deadline: 900_000 },
  { name: 'archive', user: 'fay', tasks: sleeps(20, 10_000, 10_000), hold: true },
  { name: 'fine-tune', user: 'bob', tasks: sleeps(2, 1_000, 1_000), require: { gpu: 'a100' } },
];

const cluster = await TestCluster.start([
  '--workers',
  '11',
  '--cpus',
  '4',
  '--schedulers',
  '2',
  '--cutoff',
  '10',
  '--dashboard',
]);
const extra = cluster.run(['worker', '--name', 'w11', '--cpus', '4', '--central-url', cluster.url, '--json']);
const url = cluster.dashboard;
let isOver = false;
let browser;

async function submit(job) {
  const response = await fetch(`${url}v1/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(job),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${job.name}: ${answer.message}`);
  return answer.job;
}

/** Submits short jobs of several users until the images are drawn. */
async function submitShortJobs() {
  for (let index = 0; !isOver; index++) {
    const user = ['ann', 'dee', 'gus'][index % 3];
    await submit({
      name: ['query', 'thumbnails', 'lint'][index % 3],
      user,
      tasks: sleeps(2 + (index % 5), 300, 1_500),
      estimate: 800,
    });
    await pause(700);
  }
}

try {
  await extra.firstLine;
  browser = await launchChromium(program);
  const watcher = await browser.newPage();
  await watcher.goto(url);
  const ids = {};
  ids.failing = await submit(FAILING);
  ids.broken = await submit(BROKEN_PIPELINE);
  const short = submitShortJobs();
  await pause(12_000);
  for (const job of JOBS) ids[job.name] = await submit(job);
  await pause(Math.max(0, 1_000 * Number(seconds) - 40_000));
  extra.kill('SIGKILL');
  await cluster.goshawk(['drain', 'w3']);
  await pause(28_000);
  const views = {
    overview: '#/',
    jobs: '#/jobs',
    job: `#/jobs/${ids['nightly-etl']}`,
    failed: `#/jobs/${ids.broken}`,
    array: `#/jobs/${ids.failing}`,
    why: `#/jobs/${ids.allreduce}`,
    workers: '#/workers',
    worker: '#/workers/w1',
    lost: '#/workers/w11',
    users: '#/users',
    submit: '#/submit',
    policy: '#/policy',
  };
  mkdirSync(folder, { recursive: true });
  const shots =
    widths === 'docs'
      ? [
          ['overview', 'overview-wide-light', 1440, 'light'],
          ['overview', 'overview-wide-dark', 1440, 'dark'],
          ['overview', 'overview-narrow-dark', 375, 'dark'],
          ['overview', 'stream-wide-light', 1440, 'light', 'section.stream-card'],
          ['job', 'job-wide-light', 1440, 'light'],
          ['job', 'job-narrow-dark', 375, 'dark'],
          ['failed', 'graph-wide-light', 1440, 'light', 'section:has(> h2:text-is("Stages"))'],
          ['why', 'why-wide-dark', 1440, 'dark'],
          ['why', 'why-narrow-light', 375, 'light'],
          ['worker', 'workers-wide-light', 1440, 'light'],
          ['worker', 'workers-narrow-dark', 375, 'dark'],
          ['users', 'users-wide-light', 1440, 'light'],
        ]
      : [375, 768, 1440, 1920].flatMap((width) =>
          ['light', 'dark'].flatMap((scheme) =>
            Object.keys(views)
              .filter(() => widths === 'all' || widths.split(',').includes(String(width)))
              .map((view) => [view, `${view}-${width}-${scheme}`, width, scheme]),
          ),
        );
  for (const [view, name, width, colorScheme, part] of shots) {
    const page = await browser.newPage({
      viewport: { width, height: width < 600 ? 900 : 1_000 },
      colorScheme,
    });
    page.on('pageerror', (error) => console.error(`${name}: ${error}`));
    await page.goto(`${url}${views[view]}`);
    await page.locator('.tile, tbody tr, .legend li, .card dl').first().waitFor();
    await pause(2_500);
    const file = `${folder}/${name}.png`;
    if (part !== undefined) await page.locator(part).first().screenshot({ path: file });
    else await page.screenshot({ path: file, fullPage: widths !== 'docs' });
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    if (overflow > 0) console.error(`${name}: overflows by ${overflow} px`);
    await page.close();
  }
  isOver = true;
  await short;
} finally {
  isOver = true;
  if (browser !== undefined) await closeChromium(browser);
  extra.kill('SIGKILL');
  await cluster.goshawk(['cancel', '--all', '--yes']);
  await cluster.stop();
}
