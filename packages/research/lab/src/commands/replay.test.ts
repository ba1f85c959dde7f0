import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunHere, runHere } from '@goshawk/cli/testing';
import { ESTIMATOR_FORMS } from '@goshawk/predictor';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-replay-test-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Expects a one-line error message and the exit code for wrong usage. */
function expectRefusal({ exitCode, stdout, stderr }: RunHere, line: string | RegExp): void {
  expect(stderr).toMatch(line);
  expect(stderr).toMatch(/^goshawk: [^\n]*\n$/);
  expect(stdout).toBe('');
  expect(exitCode).toBe(2);
}

describe('replay refuses before it starts anything', () => {
  const cases: [what: string, args: string[], line: string | RegExp][] = [
    [
      'an unknown policy',
      ['prototype', '--policy', 'hawk,kestrel'],
      'unknown policy "kestrel"; `goshawk policies` lists all policies',
    ],
    ['a policy twice', ['prototype', '--policy', 'hawk,hawk'], '--policy lists hawk twice'],
    [
      'no workers',
      ['prototype', '--workers', '0'],
      '--workers: 0 is out of range; it must be from 1 to 10000',
    ],
    ['half a worker', ['prototype', '--workers', '1.5'], '--workers: "1.5" is not a whole number'],
    [
      'an unknown estimator',
      ['prototype', '--estimator', 'nobody'],
      `there is no estimator "nobody"; known: ${ESTIMATOR_FORMS}`,
    ],
    [
      'a scale and a time',
      ['prototype', '--scale', '1000', '--for', '5s'],
      '--scale and --for cannot be used together; use one of them',
    ],
    ['a time without a unit', ['prototype', '--for', '5'], '"5" is not a duration'],
    ['no time', ['prototype', '--for', '0s'], '--for must be more than 0'],
    ['a negative cutoff', ['prototype', '--cutoff', '-1'], '--cutoff'],
    ['a short partition of everything', ['prototype', '--short-partition', '1'], '--short-partition'],
    [
      'a report in a missing folder',
      ['prototype', '--report', 'no/such/folder/x.html'],
      /--report: .*no\/such\/folder is not a writable folder/,
    ],
    [
      'results in the file of the jobs',
      ['prototype', '--save-jobs', 'x.jsonl', '--save-results', './x.jsonl'],
      /--save-results and --save-jobs: both write to .*x\.jsonl; use two files/,
    ],
    ['no workload', [], 'replay needs WORKLOAD'],
    ['two workloads', ['prototype', 'motivation'], '"motivation" is not expected'],
    [
      'an unknown generator',
      ['gogle-like'],
      "'gogle-like' is neither a file nor a generator; known generators are google-like, ",
    ],
    [
      'an option that its generator lacks',
      ['prototype:job=5'],
      "prototype has no option 'job'; its options are jobs, ",
    ],
    ['a missing file', ['no/such.tr'], 'no/such.tr: no such file; check the path'],
    ['an unknown option', ['prototype', '--worker', '5'], '--worker'],
    [
      'a setting of an existing cluster',
      ['prototype', '--cluster', 'tcp://127.0.0.1:1', '--probe-ratio', '3', '--for', '5s'],
      '--probe-ratio: the cluster at tcp://127.0.0.1:1 already defines it; omit it, or omit --cluster',
    ],
    [
      'several settings of an existing cluster, in any notation',
      ['prototype', '--cluster', 'tcp://127.0.0.1:1', '--workers=4', '--no-stealing', '--cutoff', '10'],
      '--cutoff, --no-stealing, --workers: the cluster at tcp://127.0.0.1:1 already defines them; omit them',
    ],
    [
      'a cluster that is not a URL',
      ['prototype', '--cluster', 'localhost'],
      '--cluster: "localhost" is not a URL',
    ],
  ];

  it.each(cases)('%s', async (_what, args, line) => {
    expectRefusal(await runHere(['replay', ...args]), line);
  });

  it('ignores environment settings of other commands', async () => {
    const environment = { GOSHAWK_WORKERS: '4', GOSHAWK_CUTOFF: '10' };
    const here = await runHere(['replay', 'prototype', '--cluster', 'localhost'], { environment });
    expectRefusal(here, '--cluster: "localhost" is not a URL');
  });

  it.each([
    ['missing', '0 2 5 5 5\n3 3 1 1 1\n', 2],
    ['negative', '0 2 5 5 5\n3 2 1 1 -1\n', 2],
    ['no number', '0 2 5 5 x\n', 1],
  ])('a trace with a duration that is %s: with file and line', async (_what, text, line) => {
    const file = join(folder, 'jobs.tr');
    await writeFile(file, text);
    expectRefusal(await runHere(['replay', file]), `${file}:${line}: `);
    expectRefusal(await runHere(['trace', 'stats', file]), `${file}:${line}: `);
  });

  it('reports errors as JSON on request', async () => {
    const { exitCode, stdout, stderr } = await runHere([
      'replay',
      'prototype',
      '--policy',
      'kestrel',
      '--json',
    ]);
    expect(exitCode).toBe(2);
    expect(stdout).toBe('');
    expect(JSON.parse(stderr)).toEqual({
      schema: 'goshawk.error/1',
      code: 'unknown-policy',
      message: 'unknown policy "kestrel"',
      hint: '`goshawk policies` lists all policies',
    });
  });

  it('names settings of the environment and of a file as they are written there', async () => {
    expectRefusal(
      await runHere(['replay', 'prototype'], { environment: { GOSHAWK_POLICY: 'kestrel' } }),
      'unknown policy "kestrel"',
    );
    const config = join(folder, 'config.json');
    await writeFile(config, '{"steal-cap": 0}');
    expectRefusal(
      await runHere(['replay', 'prototype', '--config', config]),
      `${config}: steal-cap: 0 is out of range`,
    );
  });
});
