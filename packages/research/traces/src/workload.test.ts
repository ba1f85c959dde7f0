import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collect } from './job.js';
import { openWorkload, type Workload } from './workload.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-workload-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function fileOf(content: string): Promise<string> {
  const file = join(folder, 'some.tr');
  await writeFile(file, content);
  return file;
}

async function submits(workload: Workload): Promise<number[]> {
  return (await collect(workload.jobs())).map((job) => job.submitSeconds);
}

describe('openWorkload of a file', () => {
  it('yields the jobs in order of submission on each iteration', async () => {
    const content = '9 1 1 1\n3 2 2 1 3\n9 1 7 7\n';
    const workload = await openWorkload(await fileOf(content));
    expect(workload.name).toBe('some.tr');
    expect(workload.jobCount).toBe(3);
    expect(await submits(workload)).toEqual([3, 9, 9]);
    expect(await submits(workload)).toEqual([3, 9, 9]);
    expect(await workload.sha256()).toBe(createHash('sha256').update(content).digest('hex'));
  });

  it('finds an error anywhere in it immediately', async () => {
    const file = await fileOf('0 1 1 1\n1 2 1 1\n');
    await expect(openWorkload(file)).rejects.toThrow(`${file}:2: 1 of 2 task durations is missing; `);
  });

  it('streams a file that is too large for memory, and rejects one that is out of order', async () => {
    const sorted = await openWorkload(await fileOf('1 1 1 1\n1 1 1 1\n2 1 1 1\n'), { heldTasksMax: 2 });
    expect(sorted.jobCount).toBe(3);
    expect(await submits(sorted)).toEqual([1, 1, 2]);
    expect(await submits(sorted)).toEqual([1, 1, 2]);
    const unsorted = await fileOf('1 1 1 1\n2 1 1 1\n1.5 1 1 1\n');
    await expect(openWorkload(unsorted, { heldTasksMax: 2 })).rejects.toThrow(
      /some\.tr: job 3 is submitted at 1\.5 s, before the previous one \(2 s\), and more than 2 tasks/,
    );
  });
});

describe('openWorkload of a generator', () => {
  it('yields the same jobs on each iteration, and names all of its options', async () => {
    const workload = await openWorkload('motivation:jobs=20');
    expect(workload.name).toBe('motivation:jobs=20,interarrival=50,seed=1');
    expect(workload.jobCount).toBe(20);
    expect(await submits(workload)).toEqual(await submits(workload));
  });

  it('hashes options and jobs', async () => {
    const hash = async (spec: string) => (await openWorkload(spec)).sha256();
    expect(await hash('motivation:jobs=20')).toMatch(/^[0-9a-f]{64}$/);
    expect(await hash('motivation:jobs=20')).toBe(await hash('motivation:seed=1,jobs=20'));
    expect(await hash('motivation:jobs=20')).not.toBe(await hash('motivation:jobs=20,seed=2'));
  });
});

// Figures in the documents depend on these jobs, which change with the generators.
it.each([
  ['google-like:jobs=100', '9082c6fb4c013fcaa44bb2c44caaa99a3148e232aea6b6ab8dbdabe28c8a8113'],
  ['motivation:jobs=20', 'be543c2d6f1538565436946c3292b171b7130700f2972c680752260dca4ba79d'],
  ['dag-like:jobs=20', 'e239db76371249332ba5bfd3f35d1a9a12db4c6009b6bdd5d1ad986b418368a0'],
  ['yahoo:jobs=100', 'a9ab695ad7c8d61201866d8c5c0a09d593401fac2df1fa83ddc8886bf646039f'],
])('%s is on every machine the same', async (spec, sha256) => {
  expect(await (await openWorkload(spec)).sha256()).toBe(sha256);
});

describe('openWorkload refuses', () => {
  it.each([
    [
      'googel-like:jobs=3',
      /^'googel-like' is neither a file nor a generator; known generators are google-like, /,
    ],
    ['./missing.tr', /^\.\/missing\.tr: no such file; check the path$/],
    ['missing.tr', /^missing\.tr: no such file; check the path$/],
    ['google-like:job=3', /^google-like has no option 'job'; its options are jobs, load, workers, seed$/],
    ['google-like:jobs=-3', /^google-like: jobs is '-3'; write jobs=VALUE with a whole number/],
  ])('%s', async (spec, message) => {
    await expect(openWorkload(spec)).rejects.toThrow(message);
  });
});
