import {
  type Column,
  defineCommand,
  painter,
  refuseSurplusWords,
  renderTable,
  wholeList,
} from '@goshawk/command';
import { formatResources, InputError, RIGHTS, ROLES } from '@goshawk/core';
import type { ClusterKeys, WorkerBounds } from '@goshawk/transport';
import { admitted, afterChange, keysFolder, readFolder, revokeKey } from './keys-folder.js';

const COLUMNS: readonly Column<ListedKey>[] = [
  { title: 'key', of: ({ name }) => name },
  { title: 'role', of: ({ role, shared }) => (shared && role !== 'central' ? `${role} (shared)` : role) },
  { title: 'may', shrinkTo: 12, wraps: true, of: mayWords },
  { title: 'expires', expendable: 1, of: expiryWords },
];

export const keysCommand = defineCommand({
  name: 'keys',
  words: '[revoke NAME] [FOLDER]',
  describe: 'list the keys that a cluster admits, or revoke one',
  examples: [
    ['goshawk keys keys', 'list name, role, rights and expiry of each key in the folder keys/'],
    ['goshawk keys revoke w7 keys', 'revoke the key of w7 and disconnect it; other processes continue'],
    ['goshawk keys revoke worker keys', 'replace worker.key, once each worker has an individual key'],
  ],
  needsNoCluster: true,
  options: {},
  async run(context, _options, { words }) {
    if (words[0] !== 'revoke') {
      refuseSurplusWords('keys', words, 1);
      const { keys } = await readFolder(keysFolder(context, words[0]));
      const shown = listed(keys);
      if (context.global.json)
        context.json({ schema: 'goshawk.keys-list/1', keys: shown, ...wholeList(shown) });
      else context.out(renderTable(COLUMNS, shown, painter(context)));
      return;
    }
    const [, name, folder] = words;
    if (name === undefined)
      throw new InputError('usage', 'keys revoke needs the NAME of a key', 'see `goshawk keys`');
    const place = keysFolder(context, folder);
    await revokeKey(place, name);
    if (context.global.json) context.json({ schema: 'goshawk.keys-revoked/1', folder: place, name });
    context.note(`the key of ${name} is revoked; ${afterChange(place)}`);
  },
});

interface ListedKey {
  readonly name: string;
  readonly role: (typeof ROLES)[number];
  /** Shared by all processes of the role without an individual key. */
  readonly shared: boolean;
  readonly rights: readonly string[] | null;
  /** Patterns of names in the cluster; null: any that is not the name of another key. */
  readonly names: readonly string[] | null;
  /** What its workers may say about themselves, as text; null: anything. */
  readonly bounds: string | null;
  readonly expiresAt: string | null;
}

function listed(keys: ClusterKeys): ListedKey[] {
  const shared = ROLES.map((role) => ({
    name: role,
    role,
    shared: true,
    rights: role === 'client' ? RIGHTS : null,
    names: null,
    bounds: null,
    expiresAt: null,
  }));
  const individual = admitted(keys).map((key) => ({
    name: key.name,
    role: key.role,
    shared: false,
    rights: key.role === 'client' ? key.rights : null,
    names: key.role === 'client' ? null : (key.names ?? [key.name]),
    bounds: key.role === 'worker' ? boundsText(key) : null,
    expiresAt: key.expires ?? null,
  }));
  return [...shared, ...individual];
}

function boundsText({ attributes, capacity }: WorkerBounds): string | null {
  const values = Object.entries(attributes ?? {}).map(([name, each]) => `${name}=${each.join(',')}`);
  const parts = [...values, ...(capacity === undefined ? [] : [`at most ${formatResources(capacity)}`])];
  return parts.length === 0 ? null : parts.join(', ');
}

function mayWords({ role, rights, names, bounds }: ListedKey): string {
  const named = rights ?? names ?? (role === 'central' ? [] : ['any name']);
  return (bounds === null ? named : [...named, bounds]).join(', ');
}

function expiryWords({ expiresAt }: ListedKey): string {
  if (expiresAt === null) return 'never';
  return `${Date.parse(expiresAt) <= Date.now() ? 'expired ' : ''}${expiresAt}`;
}
