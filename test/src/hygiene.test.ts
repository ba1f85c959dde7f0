import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { packageFolders } from '../../scripts/packages.mjs';

/**
 * What no tool checks about the code base; Biome checks import directions and the names that pure packages must
 * not use, knip what is unused; its rule of cycles takes ten times as long as this test. Each finding is one line with the place, the fault and the remedy.
 */

const ROOT = resolve(import.meta.dirname, '../..');

interface Source {
  readonly path: string;
  readonly text: string;
  readonly isTest: boolean;
}

function tracked(...patterns: string[]): string[] {
  const output = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard', ...patterns],
    {
      cwd: ROOT,
      encoding: 'utf8',
    },
  );
  return output.split('\0').filter((path) => path !== '' && existsSync(join(ROOT, path)));
}

const sources: Source[] = tracked('*.ts', '*.tsx').map((path) => ({
  path,
  text: readFileSync(join(ROOT, path), 'utf8'),
  isTest: /\.(test|fixture)\.tsx?$/.test(path) || path.startsWith('test/'),
}));

function packageOf(path: string): string | undefined {
  return /^packages\/(?:research\/)?([^/]+)\/src\//.exec(path)?.[1];
}

/** Returns the imports of a file as written, type-only imports included. */
function importsOf({ text }: Source): { specifier: string; line: number }[] {
  const found: { specifier: string; line: number }[] = [];
  for (const match of text.matchAll(
    /(?:^|\n)\s*(?:import|export)\b[^;'"`]*?from\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|(?:^|\n)import\s+'([^']+)'/g,
  )) {
    found.push({ specifier: (match[1] ?? match[2] ?? match[3])!, line: lineAt(text, match.index) });
  }
  return found;
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index + 1).split('\n').length;
}

/** Packages in which imports between folders form no cycle. */
const ONE_WAY = ['core', 'policies', 'predictor', 'worker', 'scheduler', 'central', 'command', 'transport'];

/** Returns the folder of a file in its package; the file itself if it is in none. */
function folderOf(path: string): string {
  return /^packages\/(?:research\/)?[^/]+\/src\/([^/]+)/.exec(path)![1]!;
}

/** Returns everything reachable from a folder by imports. */
function reachable(arrows: ReadonlyMap<string, ReadonlyMap<string, string>>, start: string): Set<string> {
  const found = new Set<string>();
  const open = [start];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const next of arrows.get(folder)?.keys() ?? []) {
      if (found.has(next)) continue;
      found.add(next);
      open.push(next);
    }
  }
  return found;
}

function target(from: string, specifier: string): string {
  const path = relative(ROOT, resolve(ROOT, dirname(from), specifier)).replace(/\.js$/, '.ts');
  return existsSync(join(ROOT, `${path}x`)) ? `${path}x` : path;
}

describe('imports', () => {
  test('inside the state machines point one way between folders', () => {
    const wrong = ONE_WAY.flatMap((name) => {
      const arrows = new Map<string, Map<string, string>>();
      for (const source of sources) {
        if (source.isTest || packageOf(source.path) !== name) continue;
        const from = folderOf(source.path);
        const targets = arrows.get(from) ?? new Map<string, string>();
        arrows.set(from, targets);
        for (const { specifier, line } of importsOf(source)) {
          const to = specifier.startsWith('.') ? folderOf(target(source.path, specifier)) : from;
          if (to !== from) targets.set(to, `${source.path}:${line}`);
        }
      }
      return [...arrows].flatMap(([from, targets]) =>
        [...targets].flatMap(([to, where]) =>
          reachable(arrows, to).has(from) ? [`${where}: ${from} imports ${to}, which imports ${from}`] : [],
        ),
      );
    });
    expect(wrong).toEqual([]);
  });

  test('of scripts, which are not compiled, name existing exports', async () => {
    const imports = /^import \{([^}]+)\} from '(@goshawk\/[^']+|\.\.\/dist\/[^']+)'/gm;
    const missing: string[] = [];
    for (const path of tracked('*.mjs', '*.js')) {
      for (const [, names, specifier] of readFileSync(join(ROOT, path), 'utf8').matchAll(imports)) {
        const file = target(path, specifier!.replace('/dist/', '/src/'));
        const module = await import(specifier!.startsWith('.') ? join(ROOT, file) : specifier!);
        const absent = names!.split(',').filter((name) => !(name.trim().split(' ')[0]! in module));
        missing.push(...absent.map((name) => `${path}: ${specifier} has no ${name.trim()}`));
      }
    }
    expect(missing).toEqual([]);
  });

  test('form no circle, types included', () => {
    const graph = new Map(
      sources.map((source) => [
        source.path,
        importsOf(source)
          .filter(({ specifier }) => specifier.startsWith('.'))
          .map(({ specifier }) => target(source.path, specifier)),
      ]),
    );
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (path: string, trail: readonly string[]): void => {
      if (done.has(path)) return;
      const start = trail.indexOf(path);
      if (start >= 0) {
        circles.push([...trail.slice(start), path].join(' → '));
        return;
      }
      for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
      done.add(path);
    };
    for (const path of graph.keys()) visit(path, []);
    expect(circles).toEqual([]);
  });
});

test('node:http is taken by process.getBuiltinModule: with Node 24 an import loads undici, 13 MB and 60 ms in each process', () => {
  const wrong = sources.flatMap(({ path, text, isTest }) => {
    const imports = /^import (?!type )[^;]*from 'node:https?'/m;
    return !isTest && path.startsWith('packages/') && imports.test(text) ? [path] : [];
  });
  expect(wrong).toEqual([]);
});

test('private members are also private at run time', () => {
  const wrong = sources.flatMap(({ path, text }) => {
    const found = /\n\s+private (?!constructor)[^\n]*/.exec(text);
    return found === null ? [] : [`${path}: ${found[0].trim()}; use #`];
  });
  expect(wrong).toEqual([]);
});

test('a log line contains the name and role of its process only once', () => {
  const line = /[lL]og(ger)?\.(debug|info|warn|error|fatal)\(\s*\{(|[^}]*,)\s*(name|role)\b\s*[,:}]/;
  const doubled = sources.flatMap(({ path, text, isTest }) =>
    !isTest && path.startsWith('packages/') && line.test(text) ? [`${path}: ${line.exec(text)![0]}`] : [],
  );
  expect(doubled).toEqual([]);
});

test('no test replaces a module, because later test files in the same process would get it too', () => {
  const wrong = sources.flatMap(({ path, text }) =>
    /\bvi\.(do)?mock\(/i.test(text) ? [`${path}: spy on what it exports`] : [],
  );
  expect(wrong).toEqual([]);
});

describe('the repository', () => {
  test('has no leftovers', () => {
    // The pattern is split, so that this file does not match.
    const leftover = new RegExp(
      ['\\b(?:TO', 'DO|FIX', 'ME)\\b|\\b(?:test|it|describe)\\.(?:on', 'ly|sk', 'ip|to', 'do)\\('].join(''),
    );
    const wrong = sources.flatMap(({ path, text }) =>
      text
        .split('\n')
        .flatMap((line, index) => (leftover.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
    );
    expect(wrong).toEqual([]);
  });

  test('names no machine and no registry', () => {
    const private_ = new RegExp(
      [
        'https?://[a-z.-]*(?:np',
        'm|deb',
        'ian)[a-z.-]*/|/(?:wo',
        'rk|fa',
        'rm)/(?:main|\\.library|\\.mirror)',
      ].join(''),
    );
    const wrong = tracked().flatMap((path) => {
      if (path === 'LICENSE') return [];
      const text = readFileSync(join(ROOT, path), 'utf8');
      return private_.test(text) ? [`${path}: ${private_.exec(text)![0]}`] : [];
    });
    expect(wrong).toEqual([]);
  });

  test('describes the purpose of each package', () => {
    const folders = [...packageFolders().values(), 'packages/python', 'packages/research'];
    const missing = folders
      .map((folder) => `${folder}/README.md`)
      .filter((path) => !existsSync(join(ROOT, path)));
    expect(missing).toEqual([]);
  });
});

test('test/skips.json gives a reason for each file that may skip tests, and for no other', () => {
  const reasons = JSON.parse(readFileSync(join(ROOT, 'test/skips.json'), 'utf8')) as Record<string, string>;
  const skipping = sources.filter(
    ({ path, text }) => /\.test\.tsx?$/.test(path) && /\.(skipIf|runIf)\(|\bskip\('/.test(text),
  );
  expect(Object.keys(reasons).sort()).toEqual(skipping.map(({ path }) => path).sort());
});
