import { InputError, type JobInput } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPipeline, pipelineJob } from './pipeline.js';

/** Returns the stages that would run, with the parameters of their tasks, and what is printed. */
async function plan(content: object, times: Record<string, number>) {
  const notes: string[] = [];
  const job = await pipelineJob(content, 'p.yaml', '/here', {
    cwd: '/here',
    environment: {},
    modifiedMs: (path) => times[path.replace('/here/', '')],
    note: (line) => notes.push(line),
    async read(path) {
      throw new InputError('no-file', `no ${path}`);
    },
  });
  return { job: job as JobInput, notes };
}

const build = {
  params: { seed: [1, 2, 3] },
  stages: [
    { name: 'report', run: 'cat {inputs} > {outputs}', inputs: ['out/{seed}.txt'], outputs: ['report.txt'] },
    { name: 'fit', run: './fit {seed} > {outputs}', inputs: ['data.csv'], outputs: ['out/{seed}.txt'] },
  ],
};
const fresh = { 'data.csv': 1, 'out/1.txt': 2, 'out/2.txt': 2, 'out/3.txt': 2, 'report.txt': 3 };

/** Returns `fit 1 3` for each stage with tasks. */
const running = ({ stages = [] }: JobInput) =>
  stages.map(({ name, tasks }) =>
    [
      name,
      ...(tasks as unknown as readonly { params?: { seed?: string } }[]).map(
        ({ params }) => params?.seed ?? '',
      ),
    ]
      .join(' ')
      .trim(),
  );

describe('a pipeline', () => {
  it('is a job file whose stages have "run"', () => {
    expect(isPipeline(build)).toBe(true);
    for (const other of [
      null,
      'x',
      {},
      { stages: 1 },
      { stages: [null, 1] },
      { stages: [{ name: 'a', tasks: [] }] },
    ])
      expect(isPipeline(other)).toBe(false);
  });

  it.each([
    ['nothing exists', { 'data.csv': 1 }, ['fit 1 2 3', 'report']],
    ['all is up to date', fresh, []],
    ['files have the same time', { ...fresh, 'data.csv': 2, 'report.txt': 2 }, []],
    ['an output is missing', { ...fresh, 'out/2.txt': undefined }, ['fit 2', 'report']],
    ['an output is incomplete', { ...fresh, 'out/3.txt.incomplete': 2 }, ['fit 3', 'report']],
    ['an input changed', { ...fresh, 'data.csv': 9 }, ['fit 1 2 3', 'report']],
    ['an intermediate file changed', { ...fresh, 'out/1.txt': 9 }, ['report']],
    ['only the end is missing', { ...fresh, 'report.txt': undefined }, ['report']],
  ])('runs what is needed if %s', async (_, times, expected) => {
    const { job, notes } = await plan(build, times as Record<string, number>);
    expect(running(job)).toEqual(expected);
    expect(notes).toHaveLength(2);
  });

  it('says why each stage runs or is left out', async () => {
    expect((await plan(build, fresh)).notes).toEqual([
      'fit: skipped, its outputs are newer than its inputs',
      'report: skipped, its outputs are newer than its inputs',
    ]);
    expect((await plan(build, { ...fresh, 'out/2.txt': 0 })).notes).toEqual([
      'fit: 1 of 3 tasks run: data.csv is newer than out/2.txt',
      'report: 1 task runs: stage fit writes out/2.txt',
    ]);
  });

  it('makes tasks that wait for the stages that write their inputs, and quotes values', async () => {
    const content = { ...build, params: { seed: ["it's"] }, name: 'n', retries: 2 };
    const { job } = await plan(content, { 'data.csv': 1 });
    expect(job).toMatchObject({ name: 'n', retries: 2 });
    expect(job.stages).toMatchObject([
      { name: 'fit', after: [], tasks: [{ params: { seed: "it's" } }] },
      { name: 'report', after: ['fit'] },
    ]);
    const [fit] = job.stages![0]!.tasks as { exec: string[] }[];
    expect(fit!.exec.slice(3)).toEqual([`./fit 'it'\\''s' > 'out/it'\\''s.txt'`, "out/it's.txt"]);
  });

  it.each([
    [
      'a missing input',
      { stages: [{ name: 'a', run: 'x', inputs: ['no'] }] },
      /its input no does not exist; no stage/,
    ],
    ['a cycle', { stages: [ab('a', 'b'), ab('b', 'a')] }, /stages need each other: a, b, a/],
    [
      'one output of two tasks',
      { stages: [ab('a', 'in'), { ...ab('a', 'in'), name: 'c' }] },
      /a is an output of two/,
    ],
    [
      'an unknown name',
      { params: { rate: [1] }, stages: [{ name: 'a', run: 'x {rte} {rate}' }] },
      /did you mean \{rate\}/,
    ],
    [
      'an unused parameter',
      { params: { rate: [1] }, stages: [{ name: 'a', run: 'x' }] },
      /no stage contains \{rate\}/,
    ],
    ['an unknown field', { stages: [{ name: 'a', run: 'x', output: ['y'] }] }, /stages\[0\].*output/],
    ['an unknown stage', { stages: [{ name: 'a', run: 'x', after: ['b'] }] }, /there is no stage "b"/],
    [
      'a name used twice',
      {
        stages: [
          { name: 'a', run: 'x' },
          { name: 'a', run: 'y' },
        ],
      },
      /two stages have the same name/,
    ],
  ])('with %s is refused', async (_, content, message) => {
    await expect(
      plan(content, { in: 1 }).catch((error: InputError) => {
        throw new Error(`${error.message}; ${error.hint}`);
      }),
    ).rejects.toThrow(message);
  });

  it('runs exactly what a rerun of everything would change, for any chain and any files', async () => {
    const time = fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(fc.array(time, { minLength: 2, maxLength: 8 }), async ([first, ...times]) => {
        const stages = times.map((_, at) => ab(`f${at + 1}`, `f${at}`));
        const all = Object.fromEntries([first ?? 0, ...times].map((at, index) => [`f${index}`, at]));
        const { job } = await plan({ stages: stages.toReversed() }, all as Record<string, number>);
        // A stage runs if its file is missing or older than the one before, or the stage before runs.
        const expected: string[] = [];
        times.forEach((at, index) => {
          const before = all[`f${index}`];
          const isStale = at === undefined || (before !== undefined && at < before);
          if (isStale || expected.includes(`f${index}`)) expected.push(`f${index + 1}`);
        });
        expect(running(job)).toEqual(expected);
      }),
    );
  });
});

/** Returns a stage that writes a file from another. */
function ab(output: string, input: string) {
  return { name: output, run: 'cp {inputs} {outputs}', inputs: [input], outputs: [output] };
}
