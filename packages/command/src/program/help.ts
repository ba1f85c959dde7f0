import yargs, { type Argv } from 'yargs';
import type { Command } from '../command.js';
import { GLOBAL_OPTIONS } from '../context.js';
import { flagOf, kebab, type OptionSpec, type OptionSpecs } from '../options.js';
import { wrapWords } from '../terminal/width.js';
import type { Program } from './program.js';
import { unknownCommand } from './suggestions.js';

const SETTINGS_OF_POLICY = '`goshawk policies NAME` lists all settings of a policy; each is an option here.';
const WIDTH_MIN = 40;
const WIDTH_MAX = 120;

/**
 * Returns the help page of a command, of a group of commands, or of all of them.
 *
 * @param words of the command or the group; empty for the overview
 * @param columns width of the terminal
 * @param isWhole whether to include rare options and those of every command
 * @throws InputError for an unknown command
 */
export async function helpOn(
  program: Program,
  words: readonly string[],
  columns: number,
  isWhole = false,
): Promise<string> {
  const width = Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, columns));
  const [first, second] = words;
  if (first === undefined) return overview(program, width);
  const command = (await program.named(`${first} ${second}`)) ?? (await program.named(first));
  if (command !== undefined) return pageOf(command, isWhole, width);
  if (Object.hasOwn(program.groups, first)) return groupPage(program, first, width);
  throw unknownCommand(program, first);
}

/** A help page, whose layout is that of yargs. */
interface Page {
  readonly usage: string;
  readonly describe: string;
  readonly commands?: readonly Row[];
  readonly options?: readonly (readonly [title: string, specs: OptionSpecs])[];
  /** Sentences after the options. */
  readonly closing?: readonly string[];
}

/** Lays out a page. The parser knows nothing of these names, such as `--workers N`, which show the value of an option. */
function laidOut({ usage, describe, commands = [], options = [], closing = [] }: Page, width: number) {
  const page = plainly(yargs()).wrap(width).usage(`${usage}\n\n${describe}`);
  for (const [name, does] of commands) page.command(name, does);
  for (const [title, specs] of options) {
    for (const [name, spec] of Object.entries(specs)) {
      const { alias } = spec;
      const described = { describe: describeOption(spec), group: `${title}:` };
      page.option(
        kebab(name) + placeholderOf(spec),
        alias === undefined ? described : { ...described, alias },
      );
    }
  }
  for (const [place, sentence] of closing.entries()) page.epilogue(place === 0 ? sentence : `\n${sentence}`);
  return page.getHelp();
}

async function overview(program: Program, width: number): Promise<string> {
  return laidOut(
    {
      usage: 'goshawk COMMAND [OPTIONS]',
      describe: program.about,
      commands: await overviewRows(program),
      options: [['Options of every command', GLOBAL_OPTIONS]],
      closing: [
        `Commands from ${Object.keys(program.optional.commands)[0]} on are in the package ${program.optional.package}.`,
        '`goshawk COMMAND --help` shows the options of a command, `goshawk --version` the version, docs/COMMANDS.md all options.',
      ],
    },
    width,
  );
}

/** Lists commands of one word, then groups with one line each; commands of the optional package are last. */
export async function overviewRows(program: Program): Promise<Row[]> {
  const rowsIn = async (names: readonly string[]): Promise<Row[]> => {
    const single = names.filter((name) => !name.includes(' '));
    const groups = Object.entries(program.groups).flatMap(([group, describe]): Row[] => {
      const members = names.filter((name) => name.startsWith(`${group} `));
      const seconds = members.map((name) => name.slice(group.length + 1));
      return members.length === 0 ? [] : [[`${group} …`, `${describe}: ${seconds.join(', ')}`]];
    });
    return [...(await rowsOf(program, single)), ...groups];
  };
  const { commands } = program.optional;
  const others = program.names.filter((name) => !Object.hasOwn(commands, name));
  return [...(await rowsIn(others)), ...(await rowsIn(Object.keys(commands)))];
}

async function groupPage(program: Program, group: string, width: number): Promise<string> {
  const members = program.names.filter((name) => name.startsWith(`${group} `));
  return laidOut(
    {
      usage: `goshawk ${group} COMMAND`,
      describe: program.groups[group]!,
      commands: await rowsOf(program, members),
    },
    width,
  );
}

/** Returns commands and their descriptions. */
function rowsOf({ optional, named }: Program, names: readonly string[]): Promise<Row[]> {
  return Promise.all(
    names.map(async (name) => [name, optional.commands[name] ?? (await named(name))!.describe] as const),
  );
}

async function pageOf(
  { name, words, describe, options, examples, needsNoCluster = false }: Command,
  isWhole: boolean,
  width: number,
): Promise<string> {
  const { shown, rare, ofPolicy } = optionsByUse(options);
  const { cluster, ...others } = GLOBAL_OPTIONS;
  const everywhere = needsNoCluster ? others : { ...others, cluster };
  const page = await laidOut(
    {
      usage: `goshawk ${name}${words === '' ? '' : ` ${words}`}`,
      describe,
      options: isWhole
        ? [
            ['Options', shown],
            ['Rare options', rare],
            ['Settings of the policy', ofPolicy],
            ['Options of every command', everywhere],
          ]
        : [['Options', shown]],
      closing: isWhole
        ? []
        : [
            pointers(name, Object.keys(rare).length, needsNoCluster),
            ...(Object.keys(ofPolicy).length === 0 ? [] : [SETTINGS_OF_POLICY]),
          ],
    },
    width,
  );
  // A command on a separate line can be copied, even if it is long; yargs would break it.
  const copied = examples.map(([command, does]) => `  ${command}\n${wrapped(does, width, '      ')}`);
  return copied.length === 0 ? page : `${page}\n\nExamples:\n${copied.join('\n')}`;
}

/** Returns a sentence about the options that a page omits. */
function pointers(name: string, rare: number, needsNoCluster: boolean): string {
  const common = needsNoCluster ? '--json and --quiet' : '--json and --cluster';
  const count = rare === 1 ? '1 rare option' : `${rare} rare options`;
  const more = rare === 0 ? '' : `\`goshawk ${name} --help --all\` adds ${count}. `;
  return `${more}\`goshawk --help\` lists the options of every command, such as ${common}.`;
}

/** Groups the options of a command: those that `--help` shows, and the two kinds that `--help --all` adds. */
export function optionsByUse(
  options: OptionSpecs,
): Readonly<Record<'shown' | 'rare' | 'ofPolicy', OptionSpecs>> {
  const useOf = ({ ofPolicy, rare }: OptionSpec): 'shown' | 'rare' | 'ofPolicy' =>
    ofPolicy ? 'ofPolicy' : rare ? 'rare' : 'shown';
  const of = (use: string): OptionSpecs =>
    Object.fromEntries(Object.entries(options).filter(([, spec]) => useOf(spec) === use));
  return { shown: of('shown'), rare: of('rare'), ofPolicy: of('ofPolicy') };
}

type Row = readonly [left: string, right: string];

export function optionRows(specs: OptionSpecs): Row[] {
  return Object.entries(specs).map(([name, spec]) => {
    const alias = spec.alias === undefined ? '' : `-${spec.alias}, `;
    return [`${alias}${flagOf(name)}${placeholderOf(spec)}`, describeOption(spec)];
  });
}

function describeOption(spec: OptionSpec): string {
  return `${spec.describe}${choicesOf(spec)}${defaultOf(spec)}`;
}

/** Returns the placeholder of the option's value. */
function placeholderOf(spec: OptionSpec): string {
  if (spec.value !== undefined) return ` ${spec.value}`;
  switch (spec.type) {
    case 'flag':
      return '';
    case 'count':
    case 'number':
      return ' N';
    case 'duration':
      return ' TIME';
    default:
      return ' TEXT';
  }
}

function choicesOf(spec: OptionSpec): string {
  return spec.type === 'text' && spec.choices !== undefined ? ` (${spec.choices.join(', ')})` : '';
}

function defaultOf(spec: OptionSpec): string {
  if ('default' in spec && spec.default !== undefined && spec.type !== 'flag') return ` [${spec.default}]`;
  return spec.whenUnset === undefined ? '' : ` [${spec.whenUnset}]`;
}

/** Wraps a text at spaces; each line begins with the indent. */
function wrapped(text: string, width: number, indent: string): string {
  return wrapWords(text, width - indent.length)
    .map((line) => indent + line)
    .join('\n');
}

/** Its type declarations lack a method. */
interface Instance extends Argv {
  usageConfiguration(configuration: { 'hide-types': boolean }): Instance;
}

/**
 * Configures yargs to change no values, to print nothing, and to leave errors to its caller. Its own `help`
 * would take the last word of every command line for a request.
 *
 * @param name of the program
 */
export function plainly(instance: Argv, name = ''): Argv {
  return (instance as Instance)
    .usageConfiguration({ 'hide-types': true })
    .scriptName(name)
    .help(false)
    .version(false)
    .detectLocale(false)
    .exitProcess(false)
    .parserConfiguration({
      'strip-dashed': true,
      'strip-aliased': true,
      'parse-numbers': false,
      'parse-positional-numbers': false,
      'dot-notation': false,
    });
}
