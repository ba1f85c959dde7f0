import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

/**
 * Ordinary tests that keep the code base in order: import directions, and names that pure packages must not use. Each
 * finding is one line with the place, the fault and the remedy.
 */

const ROOT = resolve(import.meta.dirname, '../..');

/** The only imports allowed between packages. Machines know no driver, and drivers do not know each other. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  policies: ['core'],
  worker: ['core'],
  predictor: ['core'],
  scheduler: ['core', 'predictor'],
  central: ['core', 'policies'],
  simulator: ['core', 'policies', 'predictor', 'worker', 'scheduler', 'central'],
  journal: ['core'],
  transport: ['core'],
  executors: ['core'],
  runtime: [
    'core',
    'policies',
    'predictor',
    'worker',
    'scheduler',
    'central',
    'journal',
    'transport',
    'executors',
  ],
  tracing: ['core', 'transport', 'runtime'],
  traces: ['core', 'predictor'],
  report: ['core', 'predictor'],
  papers: ['core', 'policies', 'predictor', 'executors', 'report', 'traces'],
  client: ['core', 'transport'],
  gateway: ['core', 'predictor', 'transport', 'client'],
  command: ['core', 'policies', 'predictor', 'journal', 'transport', 'runtime', 'client'],
  cli: [
    'core',
    'policies',
    'journal',
    'predictor',
    'transport',
    'runtime',
    'simulator',
    'client',
    'gateway',
    'command',
  ],
  lab: [
    'core',
    'policies',
    'journal',
    'predictor',
    'runtime',
    'client',
    'simulator',
    'traces',
    'report',
    'papers',
    'command',
  ],
};

/** Deterministic: a function of their inputs. */
const PURE = ['core', 'policies', 'predictor', 'worker', 'scheduler', 'central', 'simulator'];

const BANNED_IN_PURE: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bDate\.now\b|\bnew Date\(\)/, 'the `now` that every entry gets'],
  [/\bperformance\.now\b/, 'the `now` that every entry gets'],
  [/\bMath\.random\b/, '`env.random()`'],
  [/\bset(?:Timeout|Interval|Immediate)\b|\bqueueMicrotask\b/, '`env.setTimer`'],
  [/\bprocess\.|\bconsole\./, 'an effect of the environment'],
  [/from 'node:/, 'an effect of the environment'],
  [/\bPromise\b|\basync (?!\*)|\bawait (?!\()/, 'a message, a timer, or a callback of the driver'],
];

/** Files without clocks, sockets and randomness that wait for their input. */
const MAY_AWAIT = new Set(['packages/simulator/src/simulation.ts']);

/** Started by path or exported by name, not imported. */
const ENTRIES = new Set([
  'packages/transport/src/testing.fixture.ts',
  'packages/cli/src/testing.fixture.ts',
  'packages/journal/src/testing.fixture.ts',
  'packages/executors/src/spawner.ts',
  'packages/executors/src/module-thread.ts',
  'packages/executors/src/module-process.ts',
  'packages/papers/src/solver/thread.ts',
  'packages/runtime/src/daemons/stall-thread.ts',
  'packages/transport/src/connection/peer.fixture.ts',
  'packages/transport/src/connection/busy.fixture.ts',
  'packages/journal/src/dead-reader.fixture.ts',
  'packages/journal/src/folder-claim.fixture.ts',
  'packages/journal/src/open-journal.fixture.ts',
  'packages/gateway/page/src/main.tsx',
  'packages/cli/src/main.ts',
  'packages/cli/src/forecast/forecast-thread.ts',
  'packages/lab/src/simulate/thread.ts',
  'packages/lab/src/whatif/job-thread.ts',
  'bench/src/durability/square.fixture.ts',
  'bench/src/fidelity/recorder.ts',
  'bench/src/mailbox-peer.ts',
  'bench/src/scaling/schedulers.ts',
  'bench/src/soak/echo.fixture.ts',
  'test/src/bundle.setup.ts',
  'test/src/faults/end-threads.fixture.ts',
  'test/src/faults/odd-results.fixture.ts',
  'test/src/containers/image.setup.ts',
  'test/src/kubernetes/lab/main.ts',
  'test/src/chaos/main.ts',
  'test/src/chaos/thread.ts',
  'test/src/chaos/mutants/main.ts',
  'test/src/chaos/mutants/plant.ts',
  'test/src/chaos/mutants/hooks.ts',
]);

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
  return /^packages\/([^/]+)\/src\//.exec(path)?.[1];
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
  return /^packages\/[^/]+\/src\/([^/]+)/.exec(path)![1]!;
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

/** Paths that a package exports. */
function doorsOf(name: string): string[] {
  const manifest = readFileSync(join(ROOT, 'packages', name, 'package.json'), 'utf8');
  return Object.keys((JSON.parse(manifest) as { exports: Record<string, unknown> }).exports);
}

/** Removes comments and strings, which may contain any names. */
function codeOf(text: string): string {
  const blank = (part: string) => part.replace(/[^\n]/g, ' ');
  return text
    .replace(/\/\*[\s\S]*?\*\//g, blank)
    .replace(/(^|[^:'"`])\/\/[^\n]*/g, (part, before: string) => before + blank(part.slice(before.length)))
    .replace(/`(?:\\.|[^`\\])*`/g, blank);
}

function target(from: string, specifier: string): string {
  const path = relative(ROOT, resolve(ROOT, dirname(from), specifier)).replace(/\.js$/, '.ts');
  return existsSync(join(ROOT, `${path}x`)) ? `${path}x` : path;
}

/** Names that `npm run bench -- NAME` takes. */
const BENCHES = [
  .../^export const BENCHES = \[([^\]]+)\]/m
    .exec(readFileSync(join(ROOT, 'bench/peers/benches.mjs'), 'utf8'))![1]!
    .matchAll(/[a-z]+/g),
].map(([name]) => name);

/** Files that `npm run cases` and `npm run bench -- NAME` start. */
const STARTED = new RegExp(`^bench/src/(cases|${BENCHES.join('|')})\\.ts$`);

describe('imports', () => {
  test('point one way between packages', () => {
    const wrong = sources.flatMap((source) => {
      const from = packageOf(source.path);
      if (from === undefined || source.isTest) return [];
      return importsOf(source).flatMap(({ specifier, line }) => {
        const to = /^@goshawk\/([a-z]+)/.exec(specifier)?.[1];
        if (to === undefined || to === from || MAY_IMPORT[from]!.includes(to)) return [];
        return [
          `${source.path}:${line}: ${from} imports ${to}; it may import ${MAY_IMPORT[from]!.join(', ') || 'no other package'}`,
        ];
      });
    });
    expect(wrong).toEqual([]);
  });

  test('of the command package are only core, except in its cluster and policy folders', () => {
    const wrong = sources.flatMap((source) => {
      const { path } = source;
      if (source.isTest || packageOf(path) !== 'command') return [];
      if (['cluster', 'policy'].includes(folderOf(path))) return [];
      return importsOf(source)
        .map(({ specifier, line }) => ({ to: /^@goshawk\/([a-z]+)/.exec(specifier)?.[1], line }))
        .flatMap(({ to = 'core', line }) => (to === 'core' ? [] : [`${path}:${line}: imports ${to}`]));
    });
    expect(wrong).toEqual([]);
  });

  test('between packages use only their exports', () => {
    const wrong = sources.flatMap((source) =>
      importsOf(source).flatMap(({ specifier, line }) => {
        if (!specifier.startsWith('.')) {
          const [, name, door] = /^@goshawk\/([a-z]+)\/(.+)$/.exec(specifier) ?? [];
          const isOpen = door === undefined || (door !== 'testing' && doorsOf(name!).includes(`./${door}`));
          const isForTests = (source.isTest || source.path.startsWith('bench/')) && door === 'testing';
          return isOpen || isForTests ? [] : [`${source.path}:${line}: ${specifier}; import the package`];
        }
        const to = target(source.path, specifier);
        const crosses = packageOf(source.path) !== packageOf(to) && packageOf(to) !== undefined;
        return crosses
          ? [`${source.path}:${line}: reaches into ${to}; import @goshawk/${packageOf(to)}`]
          : [];
      }),
    );
    expect(wrong).toEqual([]);
  });

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

  test('leave no unused file', () => {
    const used = new Set(
      sources.flatMap((source) =>
        importsOf(source)
          .filter(({ specifier }) => specifier.startsWith('.'))
          .map(({ specifier }) => target(source.path, specifier)),
      ),
    );
    const dead = sources
      .map(({ path }) => path)
      .filter((path) => /\/src\//.test(path) && !path.endsWith('.d.ts') && !/\.test\.tsx?$/.test(path))
      .filter((path) => !path.endsWith('/index.ts') && !ENTRIES.has(path) && !used.has(path))
      .filter((path) => !STARTED.test(path));
    expect(dead.map((path) => `${path}: nobody imports it; delete it, or name it in ENTRIES`)).toEqual([]);
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

describe('pure packages', () => {
  test('use no clock, randomness, socket or promise', () => {
    const wrong = sources.flatMap(({ path, text, isTest }) => {
      if (isTest || !PURE.includes(packageOf(path) ?? '')) return [];
      return codeOf(text)
        .split('\n')
        .flatMap((line, index) =>
          BANNED_IN_PURE.flatMap(([pattern, instead]) => {
            const match = pattern.exec(line);
            const isWaiting = /async|await|Promise/.test(match?.[0] ?? '');
            if (match === null || (isWaiting && MAY_AWAIT.has(path))) return [];
            return [`${path}:${index + 1}: ${match[0].trim()} in a pure package; use ${instead}`];
          }),
        );
    });
    expect(wrong).toEqual([]);
  });
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
    const missing = Object.keys(MAY_IMPORT)
      .flatMap((name) => [`packages/${name}/README.md`, `packages/${name}/src/index.ts`])
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

test('CONTRIBUTING.md names every bench', () => {
  const text = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  expect(BENCHES.filter((name) => !text.includes(`\`npm run bench -- ${name}\``))).toEqual([]);
});
