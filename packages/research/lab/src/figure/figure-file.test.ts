import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isFigureFile, readFigureFile } from './figure-file.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-figure-file-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const FIGURE = {
  title: 'Load',
  workload: 'google-like:jobs=50',
  policies: ['goshawk', 'hawk:no-stealing'],
  options: { workers: 20, cutoff: 'p90' },
  sweep: { option: 'load', values: [0.5, 0.9] },
  panels: [{ title: 'Short jobs', over: 'goshawk' }],
};

async function read(figure: unknown): Promise<Awaited<ReturnType<typeof readFigureFile>>> {
  await writeFile(join(folder, 'mine.json'), JSON.stringify(figure));
  return readFigureFile('mine.json', folder);
}

describe('a figure file', () => {
  it('has another name than a figure of the list', () => {
    expect(['mine.json', './mine', 'of/mine', 'hawk-5'].map(isFigureFile)).toEqual([true, true, true, false]);
  });

  it('has the settings of its runs, as `simulate` has', async () => {
    const { id, settings, axis, variants, workload } = await read(FIGURE);
    expect(id).toBe('mine');
    expect(workload.generator).toBe('google-like:jobs=50');
    expect(settings).toEqual({ workers: 20, cutoff: 'p90' });
    expect(axis.ticks.map(({ x, settings: { load } }) => [x, load])).toEqual([
      [0.5, 0.5],
      [0.9, 0.9],
    ]);
    expect(variants).toEqual([
      { name: 'goshawk', settings: { policy: 'goshawk' } },
      { name: 'hawk:no-stealing', settings: { policy: 'hawk', stealing: false } },
    ]);
  });

  it('names policies as it likes, and has their files and its trace beside it', async () => {
    const example = join(import.meta.dirname, '../../../../../examples/shortest-first.js');
    await writeFile(join(folder, 'policy.mjs'), await readFile(example));
    const { variants, workload } = await read({
      ...FIGURE,
      workload: 'jobs.tr',
      policies: { mine: './policy.mjs' },
      panels: [{ title: 'All' }],
    });
    expect(variants).toMatchObject([{ name: 'mine', settings: { policy: './policy.mjs' } }]);
    expect(workload.generator).toBe(join(folder, 'jobs.tr'));
  });

  it.each<[change: object, message: string]>([
    [{ policies: ['goshawk', 'goshawk'] }, 'mine.json: policies: goshawk is there twice'],
    [{ policies: ['goshawk', 'hawkk'] }, 'hawk'],
    [
      { panels: [{ title: 'A', over: 'sparrow' }] },
      'panel "A": no policy "sparrow"; there are goshawk, hawk:no-stealing',
    ],
    [{ panels: [{ title: 'A', statistic: 'p42' }] }, 'mine.json: panels.0.statistic:'],
    [{ panels: [] }, 'mine.json: panels:'],
    [{ options: { worker: 5 } }, 'mine.json: unknown option "worker"; did you mean workers?'],
    [{ options: { workers: 'five' } }, 'five'],
    [{ options: { policy: 'hawk' } }, 'unknown option "policy"'],
    [{ sweep: { option: 'lod', values: [1] } }, 'unknown option "lod"; did you mean load?'],
    [{ more: 1 }, 'mine.json: figure: '],
    [{ claims: [{ text: 'C', of: 'goshawk', over: 'x', is: 'lower' }] }, 'claim "C": no policy "x"'],
  ])('is refused with its defect: %j', async (change, message) => {
    await expect(read({ ...FIGURE, ...change })).rejects.toThrow(message);
  });

  it('that is missing is an error with a remedy', async () => {
    await expect(readFigureFile('none.json', folder)).rejects.toMatchObject({
      message: 'cannot read none.json (ENOENT)',
      hint: expect.stringContaining('--list'),
    });
  });
});
