import { basename } from 'node:path';
import { InputError } from '@goshawk/core';
import { type Command, defineCommand, ExitCode } from '../command.js';
import { GLOBAL_OPTIONS } from '../context.js';
import { kebab, type OptionSpec } from '../options.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/**
 * Completion scripts, made of the same declarations as help. They name every command and option, so that a
 * shell need not start a process for each press of the key.
 *
 * @param commands asked for late: this command is one of them
 */
export function completionCommand(commands: () => Promise<readonly Command[]>) {
  return defineCommand({
    name: 'completion',
    words: '[bash|zsh|fish]',
    wordsMax: 1,
    describe: 'print a completion script for a shell (default: the one that $SHELL names)',
    examples: [
      ['source <(goshawk completion bash)', 'in ~/.bashrc; the same with zsh in ~/.zshrc'],
      ['goshawk completion fish | source', 'in ~/.config/fish/config.fish'],
    ],
    options: {},
    async run(context, _options, { words }) {
      const shell = words[0] ?? basename(context.environment.SHELL ?? '');
      if (!SHELLS.includes(shell as Shell)) {
        throw new InputError(
          'usage',
          `completion: no script for "${shell}"`,
          `name one of ${SHELLS.join(', ')}`,
        );
      }
      context.out(completionScript(shell as Shell, await commands()));
      return ExitCode.done;
    },
  });
}

export function completionScript(shell: Shell, commands: readonly Command[]): string {
  if (shell === 'fish') return fishScript(commands);
  const bash = bashScript(commands);
  return shell === 'bash' ? bash : `autoload -U +X bashcompinit && bashcompinit\n${bash}`;
}

function bashScript(commands: readonly Command[]): string {
  const cases = [...groupsOf(commands)].flatMap(([first, ofGroup]) => {
    const seconds = ofGroup.flatMap(({ name }) => name.split(' ')[1] ?? []);
    const group = seconds.length > 0 ? [`    ${first}) words='${seconds.join(' ')}' ;;`] : [];
    return [
      ...group,
      ...ofGroup.map((command) => `    '${command.name}') words='${flagsOf(command).join(' ')}' ;;`),
    ];
  });
  return [
    '_goshawk() {',
    '  local current=$' +
      '{COMP_WORDS[COMP_CWORD]} first=$' +
      '{COMP_WORDS[1]} second=$' +
      '{COMP_WORDS[2]} words=',
    `  if [ "$COMP_CWORD" -eq 1 ]; then words='${[...groupsOf(commands).keys()].join(' ')}'`,
    '  else case "$first" in',
    `    ${twoWorded(commands).join('|') || '-'}) [ "$COMP_CWORD" -gt 2 ] && first="$first $second" ;;`,
    '  esac',
    '  case "$first" in',
    ...cases,
    '  esac; fi',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '}',
    'complete -o default -F _goshawk goshawk',
  ].join('\n');
}

function fishScript(commands: readonly Command[]): string {
  const lines = ['complete -c goshawk -n __fish_use_subcommand -f'];
  for (const [first, ofGroup] of groupsOf(commands)) {
    lines.push(`complete -c goshawk -n __fish_use_subcommand -a ${first} -d ${quoted(ofGroup[0]!.describe)}`);
    for (const command of ofGroup) {
      const second = command.name.split(' ')[1];
      if (second !== undefined)
        lines.push(
          `complete -c goshawk -n '__fish_seen_subcommand_from ${first}' -f -a ${second} -d ${quoted(command.describe)}`,
        );
      const seen = `'__fish_seen_subcommand_from ${second ?? first}'`;
      for (const [name, spec] of optionsOf(command)) {
        const takes =
          spec.type === 'flag'
            ? ''
            : spec.type === 'text' && spec.choices !== undefined
              ? ` -x -a ${quoted(spec.choices.join(' '))}`
              : ' -r';
        lines.push(`complete -c goshawk -n ${seen} -l ${kebab(name)}${takes} -d ${quoted(spec.describe)}`);
      }
    }
  }
  return lines.join('\n');
}

/** By their first word, in the order of help. */
function groupsOf(commands: readonly Command[]): Map<string, Command[]> {
  const groups = new Map<string, Command[]>();
  for (const command of commands) {
    const first = command.name.split(' ')[0]!;
    groups.set(first, [...(groups.get(first) ?? []), command]);
  }
  return groups;
}

function twoWorded(commands: readonly Command[]): string[] {
  return [
    ...new Set(commands.filter(({ name }) => name.includes(' ')).map(({ name }) => name.split(' ')[0]!)),
  ];
}

function optionsOf(command: Command): [string, OptionSpec][] {
  return [...Object.entries(command.options), ...Object.entries(GLOBAL_OPTIONS)] as [string, OptionSpec][];
}

function flagsOf(command: Command): string[] {
  return optionsOf(command).map(([name]) => `--${kebab(name)}`);
}

/** For a POSIX shell and for fish: in single quotes, which neither text has. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’')}'`;
}
