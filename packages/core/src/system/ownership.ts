/** The subset of `node:fs` used here; this package may not import it. */
interface FileSystem {
  lstatSync(path: string): Owned & { isSymbolicLink(): boolean };
  readlinkSync(path: string): string;
}

interface Owned {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

/** Linux follows no more links. */
const LINKS_MAX = 40;
const WRITABLE_BY_GROUP = 0o020;
const WRITABLE_BY_ALL = 0o002;
const STICKY = 0o1000;

/**
 * Says why an account other than the caller and root may have written, or may replace, what a path leads to. Checks the path
 * from the root folder on, through its links, as far as it exists.
 *
 * @param path absolute
 * @param uid effective user id of the caller; undefined, as on Windows: nothing is checked
 * @param leaf `caller`: root may not own the end of the path either, because it decides for whom the caller works
 * @returns one phrase, such as `/srv/x belongs to another user (uid 1001)`; undefined if only the caller and root can
 */
export function untrustedAt(
  system: FileSystem,
  path: string,
  uid: number | undefined,
  leaf: 'caller' | 'caller-or-root' = 'caller-or-root',
): string | undefined {
  if (uid === undefined) return undefined;
  const names = namesOf(path);
  // In a user namespace, root's files appear under another id. Who owns the root folder can change everything.
  const trusted = [uid, system.lstatSync('/').uid];
  let at = '';
  for (let links = 0; names.length > 0; ) {
    const name = names.shift()!;
    if (name === '..') {
      at = at.slice(0, at.lastIndexOf('/'));
      continue;
    }
    const here = `${at}/${name}`;
    const stats = statsOf(system, here);
    if (stats === undefined) return undefined;
    const isLink = stats.isSymbolicLink();
    const isLeaf = names.length === 0 && !isLink;
    if (!(isLeaf && leaf === 'caller' ? [uid] : trusted).includes(stats.uid)) {
      return `${here} belongs to another user (uid ${stats.uid})`;
    }
    if (isLink) {
      if (++links > LINKS_MAX) return `${path} has too many links`;
      const target = system.readlinkSync(here);
      if (target.startsWith('/')) at = '';
      names.unshift(...namesOf(target));
      continue;
    }
    // In a sticky folder, only the owner of an entry, whom the next step checks, can replace it.
    const isShared = (stats.mode & STICKY) !== 0 && !isLeaf;
    if (isWritableByOthers(stats) && !isShared) {
      return `other users can write to ${here} (mode ${(stats.mode & 0o7777).toString(8).padStart(4, '0')})`;
    }
    at = here;
  }
  return undefined;
}

/** By convention, a group with the id of the owner has no other members, and neither has the group of root. */
function isWritableByOthers({ uid, gid, mode }: Owned): boolean {
  return (mode & WRITABLE_BY_ALL) !== 0 || ((mode & WRITABLE_BY_GROUP) !== 0 && gid !== uid && gid !== 0);
}

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

/** @returns undefined if there is nothing, or the caller may not look */
function statsOf(system: FileSystem, path: string) {
  try {
    return system.lstatSync(path);
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') return undefined;
    throw error;
  }
}
