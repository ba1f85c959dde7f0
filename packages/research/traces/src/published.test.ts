import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WorkloadError } from './errors.js';
import { GENERATORS } from './generators/index.js';
import { findPublished, PUBLISHED } from './published.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-published-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe.each(Object.entries(PUBLISHED))('%s', (name, { repository, path }) => {
  it('is found as in a clone, or else by the name of its file', async () => {
    const [clone, alone] = [join(folder, repository, path), join(folder, basename(path))];
    writeFileSync(alone, '');
    expect(await findPublished(name, folder)).toBe(alone);
    mkdirSync(dirname(clone), { recursive: true });
    writeFileSync(clone, '');
    expect(await findPublished(name, folder)).toBe(clone);
  });

  it('says where to get it', async () => {
    const found = findPublished(name, folder);
    await expect(found).rejects.toThrow(WorkloadError);
    await expect(found).rejects.toThrow(
      `https://github.com/${repository} to ${join(folder, basename(path))}`,
    );
  });
});

it('no name is that of a generator, and other names are not published', async () => {
  expect(Object.keys(PUBLISHED).filter((name) => name in GENERATORS)).toEqual([]);
  for (const name of ['toString', 'hpc2', '']) expect(await findPublished(name, folder)).toBeUndefined();
});
