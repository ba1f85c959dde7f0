import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from '@goshawk/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Finished } from '../goshawk-process.fixture.js';
import { TestCluster } from '../test-cluster.fixture.js';

let up: TestCluster;

beforeAll(async () => {
  const size = ['--workers', '2', '--cpus', '2', '--schedulers', '1', '--resources', 'cpu=2,license=1'];
  up = await TestCluster.start(['--policy', 'carbyne', ...size]);
});

afterAll(async () => {
  await up.stop();
});

function expectRefusal({ exitCode, stdout, stderr }: Finished, line: RegExp): void {
  expect({ exitCode, stdout }, stderr).toEqual({ exitCode: 2, stdout: '' });
  // A cluster that has just started first waits for further workers, and says so.
  const lines = stderr
    .trim()
    .split('\n')
    .filter((each) => !each.startsWith('waiting for the cluster'));
  expect(lines, stderr).toEqual([expect.stringMatching(line)]);
}

const sleep = { tasks: [{ sleep: '10ms' }] };
const LIVE: readonly (readonly [string, object, RegExp])[] = [
  [
    'a circle',
    {
      stages: [
        { name: 'a', after: ['b'], ...sleep },
        { name: 'b', after: ['a'], ...sleep },
      ],
    },
    /stages depend on each other in a cycle: a → b → a/,
  ],
  [
    'a stage that no worker can hold',
    {
      stages: [
        { name: 'a', ...sleep },
        { name: 'b', after: ['a'], demand: { license: 2 }, ...sleep },
      ],
    },
    /no worker has license 2; the closest is w\d with .*license 1/,
  ],
  [
    'an estimate of 0',
    { stages: [{ name: 'a', estimate: 0, ...sleep }] },
    /an estimate is more than 0; omit it if nothing is known/,
  ],
];

it.each(LIVE)('%s in a job file is an error of one line, and nothing is queued', async (_, job, line) => {
  const file = join(up.folder, 'job.json');
  await writeFile(file, JSON.stringify(job));
  expectRefusal(await up.goshawk(['submit', file]), line);
  await using cluster = await connect(up.url);
  expect((await cluster.jobs({ all: true })).jobs).toEqual([]);
});

const TRACES: readonly (readonly [string, readonly object[], RegExp])[] = [
  [
    'a circle',
    [
      { name: 'a', after: ['b'], durationsSeconds: [1] },
      { name: 'b', after: ['a'], durationsSeconds: [1] },
    ],
    /jobs.jsonl:2: stage 'a' depends on itself, directly or through others; remove the cycle/,
  ],
  [
    'a stage that no worker can hold',
    [
      { name: 'a', durationsSeconds: [1] },
      { name: 'b', after: ['a'], durationsSeconds: [1], demand: { license: 2 } },
    ],
    /a task of job 1 needs 2 of license, and a worker has 1/,
  ],
  ['a stage of 0 s', [{ name: 'a', durationsSeconds: [0, 0] }], /jobs.jsonl:2: stages\[0\] takes 0 s/],
  [
    'an estimate of 0',
    [{ name: 'a', durationsSeconds: [1], estimateSeconds: 0 }],
    /estimateSeconds is '0'; it must be a number of seconds above zero/,
  ],
];

it.each(TRACES)('%s in a trace is an error of one line, simulated and replayed', async (_, stages, line) => {
  const file = join(up.folder, 'jobs.jsonl');
  const lines = [{ schema: 'goshawk.trace/1' }, { submitSeconds: 0, stages }];
  await writeFile(file, lines.map((each) => `${JSON.stringify(each)}\n`).join(''));
  const cluster = ['--policy', 'carbyne', '--workers', '2', '--cpus', '2', '--resources', 'cpu=2,license=1'];
  for (const command of ['simulate', 'replay'])
    expectRefusal(await up.goshawk([command, file, ...cluster, '--quiet']), line);
});
