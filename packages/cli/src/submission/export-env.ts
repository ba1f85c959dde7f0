import { unreadableVariables } from '@goshawk/command/program';
import { InputError } from '@goshawk/core';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Variables that an export of the whole environment omits, because they describe this shell, terminal or
 * session, or the worker sets them. A `*` at the end of a name matches any suffix.
 */
const NOT_EXPORTED: readonly string[] = [
  '_',
  'PWD',
  'OLDPWD',
  'SHLVL',
  'HOSTNAME',
  'CUDA_VISIBLE_DEVICES',
  'DBUS_SESSION_BUS_ADDRESS',
  'GOSHAWK_*',
  'SSH_*',
  'STY',
  'TMUX*',
  'WINDOWID',
  'XDG_RUNTIME_DIR',
  'XDG_SESSION_*',
];

/**
 * Returns the variables that `--export-env` passes to a command.
 *
 * @param names separated by commas, each may end with `*`; empty for all except `NOT_EXPORTED`
 * @throws InputError for a name that is not set, or a value that is not UTF-8
 */
export function exportedEnvironment(environment: Environment, names: string): Record<string, string> {
  const set = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const unreadable = new Set(unreadableVariables(environment));
  if (names === '') {
    return Object.fromEntries(
      set.filter(([name]) => !NOT_EXPORTED.some((pattern) => fits(name, pattern)) && !unreadable.has(name)),
    );
  }
  const wanted = names.split(',').map((name) => name.trim());
  const missing = wanted.find((pattern) => !set.some(([name]) => fits(name, pattern)));
  if (missing !== undefined) {
    throw new InputError(
      'bad-option',
      `--export-env: the variable ${JSON.stringify(missing)} is not set`,
      'names are separated by commas: --export-env PATH,CC,LC_*',
    );
  }
  const exported = set.filter(([name]) => wanted.some((pattern) => fits(name, pattern)));
  const bad = exported.find(([name]) => unreadable.has(name));
  if (bad !== undefined)
    throw new InputError('bad-text', `--export-env: the value of ${bad[0]} is not valid UTF-8`);
  return Object.fromEntries(exported);
}

function fits(name: string, pattern: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}
