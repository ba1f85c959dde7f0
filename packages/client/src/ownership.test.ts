import { spawnSync } from 'node:child_process';
import fs, {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { untrustedAt } from '@goshawk/core';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const [CALLER, STRANGER] = [54_321, 54_322];
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-ownership-'));
  chmodSync(folder, 0o755);
});
afterEach(() => rmSync(folder, { recursive: true }));

interface Entry {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

interface Tree {
  readonly outer: Entry;
  readonly inner: Entry;
  readonly file: Entry;
  /** Entry that is a link to the real one, which is in a folder of the caller; its owner. */
  readonly link?: { readonly of: 'inner' | 'file'; readonly uid: number } | undefined;
}

const ids = fc.constantFrom(0, CALLER, STRANGER);
const entry = (modes: readonly number[]) =>
  fc.record({ uid: ids, gid: fc.constantFrom(0, CALLER, STRANGER), mode: fc.constantFrom(...modes) });
const FOLDER_MODES = [0o700, 0o755, 0o775, 0o770, 0o777, 0o1777, 0o1775];
const trees: fc.Arbitrary<Tree> = fc.record({
  outer: entry(FOLDER_MODES),
  inner: entry(FOLDER_MODES),
  file: entry([0o600, 0o644, 0o664, 0o660, 0o666, 0o602]),
  link: fc.option(fc.record({ of: fc.constantFrom('inner' as const, 'file' as const), uid: ids }), {
    nil: undefined,
  }),
});

/** Creates a tree in the folder. @returns path of its file */
function create(name: string, { outer, inner, file, link }: Tree): string {
  const base = join(folder, name);
  const own = join(base, 'own');
  const inOuter = join(base, 'outer', 'inner');
  mkdirSync(own, { recursive: true });
  mkdirSync(join(base, 'outer'));
  const realInner = link?.of === 'inner' ? join(own, 'inner') : inOuter;
  mkdirSync(realInner);
  const realFile = link?.of === 'file' ? join(own, 'file') : join(realInner, 'file');
  writeFileSync(realFile, '');
  const linked =
    link &&
    (link.of === 'inner' ? ([realInner, inOuter] as const) : ([realFile, join(realInner, 'file')] as const));
  if (linked !== undefined) {
    symlinkSync(...linked);
    lchownSync(linked[1], link!.uid, link!.uid);
  }
  chownSync(own, CALLER, CALLER);
  for (const [path, { uid, gid, mode }] of [
    [realFile, file],
    [realInner, inner],
    [join(base, 'outer'), outer],
  ] as const) {
    chownSync(path, uid, gid);
    chmodSync(path, mode);
  }
  return join(inOuter, 'file');
}

/** Tries as another user to change what each path leads to; prints the paths for which something succeeded. */
const ATTACK = `
const fs = require('node:fs');
const path = require('node:path');
const works = (change) => { try { change(); return true; } catch { return false; } };
const canReplace = (at) => works(() => { fs.renameSync(at, at + '.gone'); fs.renameSync(at + '.gone', at); });
const canChange = (at) => {
  const stats = fs.lstatSync(at, { throwIfNoEntry: false });
  if (stats === undefined) return false;
  return works(() => fs.chmodSync(at, stats.mode & 0o7777)) || works(() => fs.closeSync(fs.openSync(at, 'r+')));
};
const files = JSON.parse(fs.readFileSync(0, 'utf8'));
const hit = files.filter(([base, file]) => {
  const steps = [];
  for (let at = file; at !== base; at = path.dirname(at)) steps.push(at);
  const real = works(() => fs.realpathSync(file)) ? fs.realpathSync(file) : file;
  for (let at = real; at !== base && at.startsWith(base); at = path.dirname(at)) steps.push(at);
  return steps.some((at) => works(() => fs.lstatSync(at)) && (canReplace(at) || canChange(at)));
});
console.log(JSON.stringify(hit.map(([, file]) => file)));
`;

// Reason: only root can create files of several users.
describe.runIf(process.getuid?.() === 0)('a path', () => {
  test('that another user can in fact change or replace is never trusted', () => {
    const seed = Date.now() % 1_000_000;
    const drawn = fc.sample(trees, { numRuns: 400, seed });
    const made = drawn.map((tree, index) => ({
      tree,
      base: join(folder, `${index}`),
      file: create(`${index}`, tree),
    }));
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', ATTACK], {
      input: JSON.stringify(made.map(({ base, file }) => [base, file])),
      uid: STRANGER,
      gid: STRANGER,
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    const changed = new Set(JSON.parse(stdout) as string[]);
    const trusted = made.filter(({ file }) => untrustedAt(fs, file, CALLER) === undefined);
    const wrong = trusted.filter(({ file }) => changed.has(file)).map(({ tree }) => tree);
    expect(wrong, `seed ${seed}`).toEqual([]);
    // Otherwise the test would prove nothing.
    expect(changed.size, `seed ${seed}`).toBeGreaterThan(100);
    expect(trusted.length, `seed ${seed}`).toBeGreaterThan(5);
  });

  const CALLERS = { uid: CALLER, gid: CALLER, mode: 0o755 };
  const ROOTS = { uid: 0, gid: 0, mode: 0o755 };
  const FILE = { uid: CALLER, gid: CALLER, mode: 0o600 };
  const own: Tree = { outer: CALLERS, inner: CALLERS, file: FILE };

  test.each<readonly [string, Tree, RegExp | undefined]>([
    ['of the caller in folders of the caller', own, undefined],
    ['in folders of root', { ...own, outer: ROOTS, inner: ROOTS }, undefined],
    ['in a sticky folder that all can write to', { ...own, outer: { ...ROOTS, mode: 0o1777 } }, undefined],
    [
      'in a folder that the group of the caller alone can write to',
      { ...own, inner: { ...CALLERS, mode: 0o775 } },
      undefined,
    ],
    ['that a link of the caller leads to', { ...own, link: { of: 'inner', uid: CALLER } }, undefined],
    [
      'of another user',
      { ...own, file: { ...FILE, uid: STRANGER } },
      /file belongs to another user \(uid 54322\)/,
    ],
    [
      'that a link of another user leads to',
      { ...own, link: { of: 'file', uid: STRANGER } },
      /belongs to another user/,
    ],
    [
      'in a folder of another user',
      { ...own, outer: { ...CALLERS, uid: STRANGER } },
      /outer belongs to another user/,
    ],
    [
      'in a folder that all can write to',
      { ...own, outer: { ...CALLERS, mode: 0o777 } },
      /other users can write to .*outer \(mode 0777\)/,
    ],
    ['that all can write to', { ...own, file: { ...FILE, mode: 0o666 } }, /other users can write to .*file/],
    [
      'that another group can write to',
      { ...own, file: { uid: CALLER, gid: STRANGER, mode: 0o660 } },
      /file \(mode 0660\)/,
    ],
    ['whose sticky folder is the end of the path', { ...own, file: { ...FILE, mode: 0o1666 } }, /file/],
  ])('%s is judged', (_, tree, reason) => {
    const said = untrustedAt(fs, create('tree', tree), CALLER);
    if (reason === undefined) expect(said).toBeUndefined();
    else expect(said).toMatch(reason);
  });

  test('of root is not of the caller, although root may have written it', () => {
    const file = create('tree', { ...own, file: { uid: 0, gid: 0, mode: 0o600 } });
    expect(untrustedAt(fs, file, CALLER)).toBeUndefined();
    expect(untrustedAt(fs, file, CALLER, 'caller')).toMatch(/belongs to another user \(uid 0\)/);
    const callers = create('other', own);
    expect(untrustedAt(fs, callers, 0, 'caller')).toMatch(/belongs to another user/);
  });
});

test('links in a circle are not trusted', () => {
  symlinkSync(join(folder, 'b'), join(folder, 'a'));
  symlinkSync(join(folder, 'a'), join(folder, 'b'));
  expect(untrustedAt(fs, join(folder, 'a'), process.getuid?.() ?? 0)).toMatch(/too many links/);
});

test('a path whose end does not exist yet is judged by its folders', () => {
  const uid = process.getuid?.() ?? 0;
  expect(untrustedAt(fs, join(folder, 'none', 'x'), uid)).toBeUndefined();
  chmodSync(folder, 0o777);
  expect(untrustedAt(fs, join(folder, 'none', 'x'), uid)).toMatch(/other users can write/);
});
