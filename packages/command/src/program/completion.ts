import yargs, { type Argv } from 'yargs';
import type { Command, Completed } from '../command.js';
import { GLOBAL_OPTIONS } from '../context.js';
import { flagOf, kebab, type OptionSpec, type OptionSpecs } from '../options.js';
import { overviewRows, plainly } from './help.js';
import { declared } from './parser.js';
import type { Program } from './program.js';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** First argument of a call in which a script of yargs asks for completions. */
export const ASKS_COMPLETIONS = '--get-yargs-completions';

/** Returns yargs' script for the shell; it asks `goshawk` for completions whenever the user presses Tab. */
export function completionScript(shell: Shell): string {
  const { SHELL } = process.env;
  // Yargs takes the shell from this variable, now and in calls of the script.
  process.env.SHELL = shell;
  try {
    const script = printed(plainly(yargs(), 'goshawk').completion('completion', false), ['completion']);
    const call = `goshawk ${ASKS_COMPLETIONS}`;
    return script.replaceAll(call, `env SHELL=${shell} ${call}`);
  } finally {
    if (SHELL === undefined) delete process.env.SHELL;
    else process.env.SHELL = SHELL;
  }
}

interface Completions {
  readonly offered: readonly string[];
  /** Kind of further words that `goshawk completion KIND` lists. */
  readonly kind?: Completed | undefined;
  /** Global options of the line, such as the cluster whose words are listed. */
  readonly globals: readonly string[];
}

/**
 * Returns the completions of the last word, each with a description for shells that show one. None means the
 * name of a file.
 *
 * @param typed words of the command line as the shell splits it
 */
export async function completionsOf(program: Program, typed: readonly string[]): Promise<Completions> {
  // Bash splits words at `=`, and fish omits the name of the program.
  const words = typed.slice(typed[0] === 'goshawk' ? 1 : 0).filter((word) => word !== '=');
  const before = joinedAtColons(words.slice(0, -1));
  const current = words.at(-1) ?? '';
  const { command, group, globals } = await commandIn(program, before);
  const specs: OptionSpecs = { ...command?.options, ...GLOBAL_OPTIONS };
  const instance = offering(plainly(yargs(), 'goshawk'), specs);
  const previous = before.at(-1) ?? '';
  const [, valued] =
    Object.entries(specs).find(([name, { type }]) => type !== 'flag' && flagOf(name) === previous) ?? [];
  if (!current.startsWith('-')) {
    if (valued?.type === 'job' || valued?.type === 'jobs') return { offered: [], kind: 'ids', globals };
    if (valued !== undefined && valuesOf(valued) === undefined) return { offered: [], globals };
    if (command?.completes !== undefined && valued === undefined)
      return { offered: [], kind: command.completes, globals };
  }
  if (command === undefined && valued === undefined) {
    const members = (await program.all()).filter(({ name }) => name.startsWith(`${group} `));
    const rows =
      group === undefined
        ? (await overviewRows(program)).map(([name, does]) => [name.split(' ')[0]!, does] as const)
        : members.map(({ name, describe }) => [name.split(' ')[1]!, describe] as const);
    for (const [name, describe] of rows) instance.command(name, describe);
  }
  // Values of options may be names of commands, and yargs would mistake them.
  const flags = before.filter((word) => word.startsWith('-'));
  const offered = printed(instance, [ASKS_COMPLETIONS, 'goshawk', ...flags, current]);
  return { offered: offered === '' ? [] : offered.split('\n'), globals };
}

/** Bash splits words at colons, such as those of addresses. */
function joinedAtColons(words: readonly string[]): readonly string[] {
  const joined: string[] = [];
  for (const [index, word] of words.entries())
    if (index > 0 && (word === ':' || words[index - 1] === ':')) joined.push(`${joined.pop()}${word}`);
    else joined.push(word);
  return joined;
}

/** Returns the command or the group that the words name, and the global options with values. */
async function commandIn(
  program: Program,
  words: readonly string[],
): Promise<{
  readonly command?: Command | undefined;
  readonly group?: string;
  readonly globals: readonly string[];
}> {
  const candidates = await program.namedIn(words);
  const specs: OptionSpecs = Object.assign({}, ...candidates.map(({ options }) => options), GLOBAL_OPTIONS);
  const line = plainly(yargs()).options(declared(specs, words)).fail(false);
  // The word that is being completed may be the value of an option.
  const { _: found, ...flags } = await line.parseAsync([...words, '']);
  const globals = Object.keys(GLOBAL_OPTIONS).flatMap((name) =>
    typeof flags[name] === 'string' && flags[name] !== '' ? [`--${kebab(name)}=${flags[name]}`] : [],
  );
  const [first, second] = found.map(String).filter((word) => word !== '');
  if (first === undefined) return { globals };
  const command = (await program.named(`${first} ${second}`)) ?? (await program.named(first));
  return Object.hasOwn(program.groups, first) && command === undefined
    ? { group: first, globals }
    : { command, globals };
}

function offering(instance: Argv, specs: OptionSpecs): Argv {
  for (const [name, spec] of Object.entries(specs)) {
    const isOn = spec.type === 'flag' && spec.default === true;
    instance.option(kebab(name), {
      type: spec.type === 'flag' ? 'boolean' : 'string',
      describe: spec.describe,
      ...(isOn ? { default: true } : {}),
      ...(valuesOf(spec) === undefined ? {} : { choices: valuesOf(spec)! }),
    });
  }
  return instance;
}

/** Returns the values of an option, if they are known. */
function valuesOf(spec: OptionSpec): readonly string[] | undefined {
  return spec.type === 'text' ? (spec.choices ?? spec.suggests) : undefined;
}

/** Returns what yargs prints for a command line. */
function printed(instance: Argv, argv: readonly string[]): string {
  let text = '';
  void instance.parse(argv, {}, (_error: unknown, _argv: unknown, output: string) => {
    text = output;
  });
  return text;
}
