/**
 * Variables of the worker that tasks see; `LC_*` matches all names with that prefix. This is an allow-list, because a list of
 * secrets to hide is never complete.
 */
export const INHERITED_NAMES: readonly string[] = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LANGUAGE',
  'LC_*',
  'TZ',
  'TMPDIR',
  'TERM',
];

/** Returns the part of `environment` that `names` allow. */
export function inheritedEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  names: readonly string[] = INHERITED_NAMES,
): Record<string, string> {
  const exact = new Set(names);
  const prefixes = names.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  const inherited: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined) continue;
    if (exact.has(name) || prefixes.some((prefix) => name.startsWith(prefix))) inherited[name] = value;
  }
  return inherited;
}
