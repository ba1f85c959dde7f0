import type { Command } from '../command.js';
import { GLOBAL_OPTIONS } from '../context.js';
import { flagOf, kebab, type OptionSpec } from '../options.js';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** Returns a script for the shell, with every command, option and value that is known without a cluster. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  if (shell === 'fish') return fishScript(commands);
  const bash = bashScript(commands);
  return shell === 'bash' ? bash : `autoload -U +X bashcompinit && bashcompinit\n${bash}`;
}

function bashScript(commands: readonly Command[]): string {
  const cases = [...groupsOf(commands)].flatMap(([first, ofGroup]) => {
    const seconds = ofGroup.flatMap(({ name }) => name.split(' ')[1] ?? []);
    const group = seconds.length > 0 ? [`    ${first}) flags='${seconds.join(' ')}' ;;`] : [];
    return [...group, ...ofGroup.map(bashCase)];
  });
  const valued = Object.entries(GLOBAL_OPTIONS).filter(([, { type }]) => type !== 'flag');
  const globals = valued.map(([name]) => `--${kebab(name)}`).join('|');
  return [
    '_goshawk() {',
    `  local current=${word('COMP_CWORD')} previous=${word('COMP_CWORD-1')} flags= words= first= second= i`,
    // Options may stand before the command, and some of them take a value.
    '  for ((i = 1; i < COMP_CWORD; i++)); do',
    `    case "${word('i')}" in`,
    `      ${globals}) [ "${word('i+1')}" = = ] && i=$((i+1)); i=$((i+1)) ;;`,
    '      -*|=) ;;',
    `      *) if [ -z "$first" ]; then first=${word('i')}; elif [ -z "$second" ]; then second=${word('i')}; fi ;;`,
    '    esac',
    '  done',
    `  if [ -z "$first" ]; then case "$previous" in ${valued.map(valuesOf).join(' ')} *)`,
    `    case "$current" in -*) flags='${Object.keys(GLOBAL_OPTIONS).map(flagOf).join(' ')}' ;; *) flags='${[...groupsOf(commands).keys()].join(' ')}' ;; esac ;; esac`,
    '  else case "$first" in',
    `    ${twoWorded(commands).join('|') || '-'}) [ -n "$second" ] && first="$first $second" ;;`,
    '  esac',
    '  case "$first" in',
    ...cases,
    '  esac; fi',
    '  case "$current" in -*) words=$flags ;; *) [ -z "$words" ] && words=$flags ;; esac',
    // A value of an option without listed values may be a file.
    '  [ "$words" = FILES ] && words=',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '}',
    'complete -o default -F _goshawk goshawk',
  ].join('\n');
}

/** Returns the bash expansion of a word of the command line. */
function word(place: string): string {
  return `\${COMP_WORDS[${place}]}`;
}

/**
 * Returns the bash case of a command: its options, their values, and words that a cluster completes on
 * demand.
 */
function bashCase(command: Command): string {
  const values = optionsOf(command).flatMap((option) =>
    option[1].type === 'flag' ? [] : [valuesOf(option)],
  );
  const { completes } = command;
  const asked =
    completes === undefined
      ? ''
      : ` *) case "$current" in -*) ;; *) words="$(goshawk completion ${completes} 2>/dev/null)" ;; esac ;;`;
  const flags = flagsOf(command).join(' ');
  return `    '${command.name}') flags='${flags}'; case "$previous" in ${values.join(' ')}${asked} esac ;;`;
}

/** Returns the bash case for the values of an option. */
function valuesOf([name, spec]: readonly [string, OptionSpec]): string {
  return `--${kebab(name)}) words='${listed(spec)?.join(' ') ?? 'FILES'}' ;;`;
}

/** Returns the values of an option, if they are known. */
function listed(spec: OptionSpec): readonly string[] | undefined {
  return spec.type === 'text' ? (spec.choices ?? spec.suggests) : undefined;
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
      const both = second === undefined ? '' : `; and __fish_seen_subcommand_from ${second}`;
      const seen = `'__fish_seen_subcommand_from ${first}${both}'`;
      if (command.completes !== undefined)
        lines.push(
          `complete -c goshawk -n ${seen} -a '(goshawk completion ${command.completes} 2>/dev/null)'`,
        );
      for (const [name, spec] of optionsOf(command)) {
        const takes =
          spec.type === 'flag'
            ? ''
            : listed(spec) === undefined
              ? ' -r'
              : ` -x -a ${quoted(listed(spec)!.join(' '))}`;
        lines.push(`complete -c goshawk -n ${seen} -l ${kebab(name)}${takes} -d ${quoted(spec.describe)}`);
      }
    }
  }
  return lines.join('\n');
}

/** Groups commands by their first word, in the order of help. */
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

/** Quotes a text for POSIX shells and fish; a typographic apostrophe replaces single quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’')}'`;
}
