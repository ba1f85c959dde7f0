import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { type Container, type Manifest, ROOT } from './manifests.js';

/** A placeholder for values that Kubernetes fills in. */
const PLACEHOLDER_VALUE = '1';

interface Shown {
  readonly settings: readonly {
    readonly commands: readonly string[];
    readonly origin: string;
    readonly source: string;
  }[];
}

/**
 * Returns the errors in the settings that a container passes to its process. The command itself decides which
 * settings it knows, and refuses invalid values.
 */
export function settingsFrom(
  { args = [], env = [], envFrom = [] }: Container,
  manifests: readonly Manifest[],
): string[] {
  const maps = envFrom.map(({ configMapRef }) => configMapRef!.name);
  const config = manifests.filter(
    ({ kind, metadata }) => kind === 'ConfigMap' && maps.includes(metadata.name),
  );
  if (config.length !== maps.length) return [`there is no ConfigMap ${maps.join(', ')}`];
  const given: Record<string, string> = Object.assign({}, ...config.map(({ data }) => data));
  for (const { name, value } of env) given[name] = value ?? PLACEHOLDER_VALUE;
  const role = args.join(' ');
  const shown = show(given);
  if (typeof shown === 'string') return [shown];
  const known = shown.settings
    .filter(
      ({ commands, origin }) =>
        origin === 'environment' &&
        (commands.length === 0 || commands.some((command) => `${role} `.startsWith(`${command} `))),
    )
    .map(({ source }) => source);
  return Object.keys(given)
    .filter((name) => name.startsWith('GOSHAWK_') && !known.includes(name))
    .map((name) => `${name} is no setting of \`goshawk ${role}\``);
}

/** @returns the reason for which the command rejects them, if it does */
function show(environment: Readonly<Record<string, string>>): Shown | string {
  const command = join(ROOT, 'packages/cli/bin/goshawk.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, 'config', 'show', '--json'], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, ...environment },
  });
  if (status !== 0) return (JSON.parse(stderr) as { message: string }).message;
  return JSON.parse(stdout) as Shown;
}
