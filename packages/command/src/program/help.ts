import { didYouMean, InputError, nearest } from '@goshawk/core';
import type { Command } from '../command.js';
import { GLOBAL_OPTIONS } from '../context.js';
import { flagOf, type OptionSpec, type OptionSpecs } from '../options.js';
import { wrapWords } from '../terminal/width.js';
import type { Program } from './program.js';

const SETTINGS_OF_POLICY = '`goshawk policies NAME` lists all settings of a policy; each is an option here.';
const WIDTH_MIN = 40;
const WIDTH_MAX = 120;
/** Maximum width of flags with their description on the same line. */
const FLAGS_MAX = 26;

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

/** @param word the word in place of the command */
export function unknownCommand({ names }: Program, word: string): InputError {
  const suggestion = nearest(word, new Set(names.map((name) => name.split(' ')[0]!)));
  return new InputError('usage', `unknown command: ${word}${didYouMean(suggestion)}`, 'see `goshawk --help`');
}

async function overview(program: Program, width: number): Promise<string> {
  const { title, commands } = program.optional;
  const others = program.names.filter((name) => !Object.hasOwn(commands, name));
  return [
    'goshawk COMMAND [OPTIONS]',
    wrapped(program.about, width, ''),
    `Commands:\n${table(await overviewRows(program, others), width)}`,
    `${title}:\n${table(await overviewRows(program, Object.keys(commands)), width)}`,
    `Options of every command:\n${table(optionRows(GLOBAL_OPTIONS), width)}`,
    wrapped(
      '`goshawk COMMAND --help` shows the options of a command, `goshawk --version` the version, docs/COMMANDS.md all options.',
      width,
      '',
    ),
  ].join('\n\n');
}

/** Lists commands of one word, then groups with one line each. */
async function overviewRows(program: Program, names: readonly string[]): Promise<Row[]> {
  const single = names.filter((name) => !name.includes(' '));
  const groups = Object.entries(program.groups).flatMap(([group, describe]): Row[] => {
    const members = names.filter((name) => name.startsWith(`${group} `));
    const seconds = members.map((name) => name.slice(group.length + 1));
    return members.length === 0 ? [] : [[`${group} ${seconds.join('|')}`, describe]];
  });
  return [...(await rowsOf(program, single)), ...groups];
}

async function groupPage(program: Program, group: string, width: number): Promise<string> {
  const members = program.names.filter((name) => name.startsWith(`${group} `));
  return [
    `goshawk ${group} COMMAND`,
    wrapped(program.groups[group]!, width, ''),
    `Commands:\n${table(await rowsOf(program, members), width)}`,
  ].join('\n\n');
}

/** Returns commands and their descriptions. */
function rowsOf({ optional, named }: Program, names: readonly string[]): Promise<Row[]> {
  return Promise.all(
    names.map(async (name) => [name, optional.commands[name] ?? (await named(name))!.describe] as const),
  );
}

function pageOf(
  { name, words, describe, options, examples, needsNoCluster = false }: Command,
  isWhole: boolean,
  width: number,
): string {
  const { shown, rare, ofPolicy } = optionsByUse(options);
  const { cluster, ...others } = GLOBAL_OPTIONS;
  const everywhere = needsNoCluster ? others : { ...others, cluster };
  const groups: [title: string, specs: OptionSpecs][] = isWhole
    ? [
        ['Options', shown],
        ['Rare options', rare],
        ['Settings of the policy', ofPolicy],
        ['Options of every command', everywhere],
      ]
    : [['Options', shown]];
  // A command on a separate line can be copied, even if it is long.
  const copied = examples.map(([command, does]) => `  ${command}\n${wrapped(does, width, '      ')}`);
  return [
    `goshawk ${name}${words === '' ? '' : ` ${words}`}`,
    wrapped(describe, width, ''),
    ...(copied.length === 0 ? [] : [`Examples:\n${copied.join('\n')}`]),
    ...groups.flatMap(([title, specs]) =>
      Object.keys(specs).length === 0 ? [] : [`${title}:\n${table(optionRows(specs), width)}`],
    ),
    ...(isWhole ? [] : [pointers(name, Object.keys(rare).length, needsNoCluster, width)]),
    ...(isWhole || Object.keys(ofPolicy).length === 0 ? [] : [wrapped(SETTINGS_OF_POLICY, width, '')]),
  ].join('\n\n');
}

/** Returns a sentence about the options that a page omits. */
function pointers(name: string, rare: number, needsNoCluster: boolean, width: number): string {
  const common = needsNoCluster ? '--json and --quiet' : '--json and --cluster';
  const count = rare === 1 ? '1 rare option' : `${rare} rare options`;
  const more = rare === 0 ? '' : `\`goshawk ${name} --help --all\` adds ${count}. `;
  return wrapped(
    `${more}\`goshawk --help\` lists the options of every command, such as ${common}.`,
    width,
    '',
  );
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
    return [
      `${alias}${flagOf(name)}${placeholderOf(spec)}`,
      `${spec.describe}${choicesOf(spec)}${defaultOf(spec)}`,
    ];
  });
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

/** Renders two columns; the right one is wrapped. */
function table(rows: readonly Row[], width: number): string {
  const left = Math.min(FLAGS_MAX, Math.max(...rows.map(([text]) => text.length)));
  const indent = ' '.repeat(left + 4);
  return rows
    .map(([head, text]) => {
      const body = wrapped(text, width, indent);
      if (head.length > left) return `  ${head}\n${body}`;
      return `  ${head.padEnd(left)}  ${body.slice(indent.length)}`;
    })
    .join('\n');
}

/** Wraps a text at spaces; each line begins with the indent. */
function wrapped(text: string, width: number, indent: string): string {
  return wrapWords(text, width - indent.length)
    .map((line) => indent + line)
    .join('\n');
}
