import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  GLOBAL_OPTIONS,
  kebab,
  type OptionSpec,
  resolveOptions,
  settingName,
  variableOf,
} from '@goshawk/command';
import { parse } from '@goshawk/command/program';
import { describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { allCommands, GOSHAWK } from './commands/index.js';

/** Every command in a document is parsed as the shell and the command line parse it; nothing runs. */

const ROOT = join(import.meta.dirname, '../../..');

/** Comments of manifests and examples contain commands too. */
const documents = [
  ...tracked('*.md').filter((path) => path !== 'CHANGELOG.md'),
  ...tracked('k8s/*.yaml'),
  ...tracked('examples/*'),
  'docker-compose.yml',
  'Dockerfile',
];

interface Shown {
  /** Location: file and line. */
  readonly at: string;
  /** Words of one simple command. */
  readonly words: readonly string[];
}

function tracked(pattern: string): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', pattern], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return listed
    .trim()
    .split('\n')
    .filter((path) => existsSync(join(ROOT, path)));
}

/** Returns the commands in fenced `sh` blocks and inline code. */
function shownIn(path: string): Shown[] {
  const found: Shown[] = [];
  const add = (line: number, text: string): void => {
    for (const words of simpleCommands(text)) found.push({ at: `${path}:${line}`, words });
  };
  let fence: string | undefined;
  let pending = '';
  for (const [index, line] of readFileSync(join(ROOT, path), 'utf8').split('\n').entries()) {
    const mark = /^\s*```(\w*)/.exec(line);
    if (mark !== null) fence = fence === undefined ? mark[1]! : undefined;
    else if (fence === 'sh') {
      pending += line.replace(/\\$/, '');
      if (line.endsWith('\\')) continue;
      add(index + 1, pending);
      pending = '';
    } else if (fence === undefined) {
      for (const [, code] of line.matchAll(/`((?:npx )?goshawk [^`]+|npm run [^`]+|GOSHAWK_\w+=[^`]+)`/g))
        add(index + 1, code!);
    }
  }
  return found;
}

/** Splits a line of shell into simple commands of unquoted words, including command substitutions. */
function simpleCommands(line: string): string[][] {
  const inner = [...line.matchAll(/\$\((goshawk [^)]*)\)/g)].flatMap(([, text]) => simpleCommands(text!));
  const commands: string[][] = [[]];
  let word: string | undefined;
  const end = (): void => {
    if (word !== undefined) commands.at(-1)!.push(word);
    word = undefined;
  };
  for (const [part] of line.matchAll(
    /'[^']*'|"(?:\\.|[^"])*"|\$\([^)]*\)|\\.|[|&;<>]+|\s+|#|[^\s|&;<>'"\\#]+/g,
  )) {
    if (/^\s/.test(part)) end();
    else if (part === '#' && word === undefined) break;
    else if (/^[|&;]/.test(part)) {
      end();
      commands.push([]);
    } else if (/^[<>]/.test(part)) {
      // The file of a redirection is not an argument.
      end();
      commands.push(['>']);
    } else if (/^['"]/.test(part)) word = (word ?? '') + part.slice(1, -1);
    else word = (word ?? '') + part;
  }
  end();
  return [...inner, ...commands.filter((words) => words.length > 0)];
}

/**
 * Checks a command.
 *
 * @returns the problem, or undefined
 */
type Check = (words: readonly string[]) => string | undefined | Promise<string | undefined>;

const scripts = (
  JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
).scripts;

const compose = parseYaml(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
  services: Record<
    string,
    { profiles?: string[]; entrypoint?: string | string[]; command?: string | string[] }
  >;
};

async function checkGoshawk(words: readonly string[]): Promise<string | undefined> {
  // A group, or an option without its value, is only mentioned, not run.
  if (words.length === 1 && Object.hasOwn(GOSHAWK.groups, words[0]!)) return undefined;
  const problem = await problemOfLine(words);
  return problem?.endsWith(' needs a value') ? problemOfLine([...words, 'VALUE']) : problem;
}

async function problemOfLine(words: readonly string[]): Promise<string | undefined> {
  const dashes = words.indexOf('--');
  const own = (dashes < 0 ? words : words.slice(0, dashes)).filter((word) => !/^\[?…/.test(word));
  // Capitals stand for any command, as in `goshawk COMMAND --help`.
  if (own.length === 0 || /^[A-Z]+$/.test(own[0]!)) return undefined;
  try {
    const { given } = await parse(GOSHAWK, own, 100);
    if (given === undefined) return undefined;
    // Names in capitals stand for values.
    const flags = Object.fromEntries(
      Object.entries(given.flags).filter(([, value]) => !/^[A-Z_]+$|…/.test(String(value))),
    );
    resolveOptions(
      { ...given.command.options, ...GLOBAL_OPTIONS },
      { flags, environment: {}, file: {}, fileName: '' },
    );
    if (given.words.length > given.command.wordsMax) return 'there are too many words';
    if (dashes >= 0 && !given.command.words.includes('--')) return 'the command takes no arguments after --';
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function checkNpm([what, name, ...more]: readonly string[]): string | undefined {
  const asRepository = [name, ...more].find((word) => /^[^./@-][^/]*\/[^/]+\.tgz$/.test(word ?? ''));
  if (what === 'install' && asRepository !== undefined)
    return `npm takes ${asRepository} for a repository of GitHub; write ./${asRepository}`;
  if (what !== 'run' || name === undefined) return undefined;
  return name === '--silent' || Object.hasOwn(scripts, name) ? undefined : `there is no script ${name}`;
}

async function checkCompose(words: readonly string[]): Promise<string | undefined> {
  const profile = words.indexOf('--profile');
  if (profile >= 0) {
    const profiles = Object.values(compose.services).flatMap(({ profiles = [] }) => profiles);
    if (!profiles.includes(words[profile + 1]!)) return `there is no profile ${words[profile + 1]}`;
  }
  const run = words.indexOf('run');
  if (run < 0) return undefined;
  const [service, ...rest] = words.slice(run + 1).filter((word) => word !== '--rm');
  if (!Object.hasOwn(compose.services, service!)) return `there is no service ${service}`;
  return service === 'client' ? checkGoshawk(rest) : undefined;
}

function checkKubectl(words: readonly string[]): string | undefined {
  const path = words[words.findIndex((word) => word === '-k' || word === '-f') + 1];
  return path?.startsWith('k8s/') && !existsSync(join(ROOT, path)) ? `there is no ${path}` : undefined;
}

function checkVitest(words: readonly string[]): string | undefined {
  const project = words[words.indexOf('--project') + 1];
  if (!['unit', 'processes', 'long', 'faults', 'containers'].includes(project!))
    return `no project ${project}`;
  const paths = words.filter((word) => /^(?:packages|test|bench)\//.test(word));
  const listed = tracked('*.test.ts');
  return paths.find((path) => !listed.some((each) => each.startsWith(path)));
}

function checkNode([path]: readonly string[]): string | undefined {
  const source = path?.replace('/dist/', '/src/').replace(/\.js$/, '.ts');
  const isOurs = /^(?:packages|bench|test|examples|scripts)\//.test(path ?? '');
  return isOurs && !existsSync(join(ROOT, source!)) && !existsSync(join(ROOT, path!))
    ? `there is no ${path}`
    : undefined;
}

async function problemOf(words: readonly string[]): Promise<string | undefined> {
  const start = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word));
  for (const assignment of words.slice(0, start < 0 ? words.length : start)) {
    const wrong = problemOfVariable(assignment.split('=')[0]!);
    if (wrong !== undefined) return wrong;
  }
  if (start < 0) return undefined;
  const [first, ...rest] = words.slice(start);
  if (first === 'export' || first === 'npx') return problemOf(rest);
  const checks: Readonly<Record<string, Check>> = {
    goshawk: checkGoshawk,
    npm: checkNpm,
    kubectl: checkKubectl,
    vitest: checkVitest,
    node: checkNode,
    docker: ([what, ...args]) => (what === 'compose' ? checkCompose(args) : undefined),
  };
  return Object.hasOwn(checks, first!) ? checks[first!]!(rest) : undefined;
}

/** Code, manifests and scripts as one text, which contains the name of every variable that is read. */
const OWN = 'packages/cli/src/documents.test.ts';
const everything = [
  ...tracked('*.ts').filter((path) => path !== OWN),
  ...tracked('*.yml'),
  ...tracked('*.yaml'),
  ...tracked('*.mjs'),
  'Dockerfile',
]
  .map((path) => readFileSync(join(ROOT, path), 'utf8'))
  .join('\n');

const settings = new Set<string>();
const flags = new Set<string>();
for (const { options } of [...(await allCommands()), { options: GLOBAL_OPTIONS }]) {
  for (const [name, spec] of Object.entries<OptionSpec>(options)) {
    const setting = settingName(name, spec);
    if (setting !== undefined) settings.add(variableOf(setting));
    flags.add(`--${kebab(name)}`).add(`--no-${kebab(name)}`);
  }
}

function problemOfVariable(name: string): string | undefined {
  if (!name.startsWith('GOSHAWK_') || settings.has(name)) return undefined;
  return new RegExp(`\\b${name}\\b`).test(everything) ? undefined : `nothing reads ${name}`;
}

describe.each(documents)('%s', (path) => {
  test('shows no command that the command line would refuse', async () => {
    const wrong: string[] = [];
    for (const { at, words } of shownIn(path)) {
      const problem = await problemOf(words);
      if (problem !== undefined) wrong.push(`${at}: ${words.join(' ')}: ${problem}`);
    }
    expect(wrong).toEqual([]);
  });

  test('mentions only flags and variables that exist', () => {
    const text = readFileSync(join(ROOT, path), 'utf8').replace(/```[\s\S]*?```/g, '');
    const wrong: string[] = [];
    for (const [, code] of text.matchAll(/`([^`\n]+)`/g)) {
      for (const [name] of code!.matchAll(/\bGOSHAWK_\w*[A-Z]\b/g)) {
        const problem = problemOfVariable(name);
        if (problem !== undefined) wrong.push(problem);
      }
      const flag = /^(--[a-z][a-z-]*)\b/.exec(code!)?.[1];
      if (flag === undefined || flags.has(flag)) continue;
      // A bench, test or script reads the flag, or it belongs to a tool whose files name it.
      const read = new RegExp(`['"\`]?(?:${flag}|${flag.slice(2)})['"\`]?\\b`);
      if (!read.test(everything)) wrong.push(`nothing knows ${flag}`);
    }
    expect(wrong).toEqual([]);
  });
});

test.each(['SECURITY.md', 'docs/DURABILITY.md', 'docs/OPERATE.md'])(
  '%s names only tests that exist',
  (path) => {
    const named = readFileSync(join(ROOT, path), 'utf8').match(/(?<=`)[\w/.-]+\.test\.tsx?(?=`)/g) ?? [];
    if (path === 'SECURITY.md') expect(named.length).toBeGreaterThan(10);
    const tests = tracked('*.test.ts*').map((file) => `/${file}`);
    expect(named.filter((file) => !tests.some((each) => each.endsWith(`/${file}`)))).toEqual([]);
  },
);

test('messages of the code mention only flags that exist', () => {
  // Options of Node.js, Docker and sbatch, and those of every command.
  const others = new Set(['--check', '--init', '--max-old-space-size', '--mem', '--help', '--version']);
  const wrong: string[] = [];
  for (const path of tracked('packages/*/src/*.ts').filter((each) => !/\.(test|fixture)\./.test(each))) {
    const text = readFileSync(join(ROOT, path), 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
    // The pattern matches flags within sentences; arguments of programs are separate strings.
    for (const [, flag] of text.matchAll(/['`][^'`\n]*[ (](--[a-z][a-z-]*[a-z])\b(?![-=$])/g)) {
      if (!flags.has(flag!) && !others.has(flag!)) wrong.push(`${path}: ${flag}`);
    }
  }
  expect(wrong).toEqual([]);
});

test('a wrong subcommand, option, value, script and file are found', async () => {
  const wrong = [
    'goshawk submti',
    'goshawk submit --resources gpu=1 -- true',
    'goshawk submit --retries many -- true',
    'npx goshawk jobs && goshawk jobs --frobnicate',
    'id=$(goshawk submit --no-such) ; true',
    'npm run no-such-script',
    'kubectl apply -k k8s/overlays/none',
    'docker compose run --rm client jbos',
    'GOSHAWK_WORKRS=4 docker compose up',
    'npx vitest run --project unit packages/nobody',
  ];
  for (const line of wrong) {
    const problems = await Promise.all(simpleCommands(line).map(problemOf));
    expect(problems.filter(Boolean), line).toHaveLength(1);
  }
});
