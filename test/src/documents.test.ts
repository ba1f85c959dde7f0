import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .trim()
  .split('\n')
  .filter((path) => existsSync(join(ROOT, path)));

const documents = files.filter((path) => path.endsWith('.md'));

function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** Converts headings to anchors as GitHub does. */
function anchorsOf(path: string): Set<string> {
  const seen = new Map<string, number>();
  const outsideFences = textOf(path).replace(/^```[\s\S]*?^```/gm, '');
  const anchors = [...outsideFences.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => {
    const anchor = heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
  return new Set(anchors);
}

describe.each(documents)('%s', (path) => {
  test('has links that lead somewhere', () => {
    const text = textOf(path).replace(/^```[\s\S]*?^```/gm, '');
    const wrong = [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link]) => {
      if (/^[a-z]+:/.test(link!)) return [];
      const [file, anchor] = link!.split('#') as [string, string | undefined];
      const target = file === '' ? path : normalize(join(dirname(path), file));
      if (!existsSync(join(ROOT, target))) return [`${link}: there is no ${target}`];
      if (anchor === undefined || anchorsOf(target).has(anchor)) return [];
      return [`${link}: ${target} has no such heading`];
    });
    expect(wrong).toEqual([]);
  });
});

test('all named documents, images and folders exist', () => {
  const wrong = files.flatMap((path) => {
    // The changelog may mention files that no longer exist.
    if (path === 'CHANGELOG.md' || /\.(png|gz|golden\.txt)$/.test(path)) return [];
    return [...textOf(path).matchAll(/\bdocs\/[\w/-]+\.(?:md|png)\b/g)].flatMap(([name]) =>
      files.includes(name) ? [] : [`${path}: ${name}`],
    );
  });
  expect(wrong).toEqual([]);
});

test('all tests that documents name exist', () => {
  const tests = new Set(files.flatMap((path) => (path.endsWith('.test.ts') ? path.split('/').at(-1)! : [])));
  const named = documents.flatMap((path) =>
    [...textOf(path).matchAll(/(?<![\w.-])(\w[\w.-]*\.test\.ts)\b/g)].map(([, name]) => `${path}: ${name}`),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((each) => !tests.has(each.split(': ')[1]!))).toEqual([]);
});

test('each promise of the pages about attacks, faults and operation names a test or a command', () => {
  const security = textOf('SECURITY.md').split('## What Goshawk does\n')[1]!.split('\n## ')[0]!;
  const inTables = ['docs/DURABILITY.md', 'docs/OPERATE.md'].map((path) =>
    [...textOf(path).matchAll(/^\| promise \| tests \|\n\|[-|]+\|\n((?:\|.*\n?)+)/gm)].flatMap(([, rows]) =>
      rows!.trim().split('\n'),
    ),
  );
  for (const promises of [security.split(/\n(?=- )/).slice(1), ...inTables]) {
    expect(promises.length).toBeGreaterThan(9);
    expect(promises.filter((each) => !/\.test\.ts`|`npm run [^`]+`/.test(each))).toEqual([]);
  }
});

test('all source files that documents name exist', () => {
  const named = documents.flatMap((path) =>
    // The changelog may mention files that no longer exist.
    path === 'CHANGELOG.md'
      ? []
      : [...textOf(path).matchAll(/`([\w.@/-]+\.(?:tsx?|mjs|py|css))`/g)].map(
          ([, name]) => [path, name!] as const,
        ),
  );
  expect(named.length).toBeGreaterThan(100);
  const wrong = named.flatMap(([path, name]) =>
    isFile(path, name) || EXAMPLES.has(name) ? [] : [`${path}: ${name}`],
  );
  expect(wrong).toEqual([]);
});

/** Files of users in examples. */
const EXAMPLES: ReadonlySet<string> = new Set([
  'oldest-first.mjs',
  'packages/research/papers/src/figures/papers/PAPER.ts',
]);

/**
 * Whether a document means a file: by a path from its own folder or from `packages/NAME/src`, or by the end of a path, which is in
 * its package if the document is in a package.
 */
function isFile(document: string, name: string): boolean {
  if (name.startsWith('.')) return files.includes(normalize(join(dirname(document), name)));
  const [first, ...rest] = name.split('/');
  const [own = ''] = /^packages\/(?:research\/)?[^/]+\//.exec(document) ?? [];
  const named = [
    name,
    ...['packages', 'packages/research'].map((at) => `${at}/${first}/src/${rest.join('/')}`),
  ];
  return files.some((file) => named.includes(file) || (file.startsWith(own) && file.endsWith(`/${name}`)));
}

test('every image is used', () => {
  const shown = documents.map(textOf).join('\n');
  const images = files.filter((path) => path.startsWith('docs/images/'));
  expect(images.filter((path) => !shown.includes(path.replace('docs/', '')))).toEqual([]);
});

test('docs/DESIGN.md gives a reason for each dependency', () => {
  const manifests = files.filter((path) => /^packages\/.*package\.json$/.test(path));
  const names = manifests.flatMap((path) => {
    const { dependencies = {} } = JSON.parse(textOf(path)) as { dependencies?: Record<string, string> };
    return Object.keys(dependencies).filter((name) => !name.startsWith('@goshawk/'));
  });
  const [, table] = textOf('docs/DESIGN.md').split('## Dependencies');
  const named = [...table!.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell]) => cell!.trim().split(', '));
  const isNamed = (name: string): boolean =>
    named.some((each) => (each.endsWith('/*') ? name.startsWith(each.slice(0, -1)) : each === name));
  expect(names.filter((name) => !isNamed(name))).toEqual([]);
  expect(
    named.filter(
      (each) =>
        !['library', '---'].includes(each) &&
        !names.some((name) => name === each || name.startsWith(each.slice(0, -1))),
    ),
  ).toEqual([]);
});

test('the README sets up and tests in a line each, and CI runs the latter', () => {
  const lines = textOf('README.md').split('\n');
  expect(lines).toContain('npm ci && npm run demo');
  expect(lines).toContain('npm ci && npm test');
  expect(textOf('.ci/run')).toContain('{ npm ci && npm test; }');
});
