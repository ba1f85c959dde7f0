import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { InputError } from '@goshawk/core';
import { JournalError } from './errors.js';

/**
 * Ensures that one process owns a folder. The owner listens on a socket in the folder, which the kernel closes when the
 * process ends. Others try to connect to it. That works from another container, where process ids are meaningless, and
 * while the owner is suspended, because the kernel accepts the connection. Each candidate first listens under a unique
 * name and then checks all other sockets. Two simultaneous candidates see each other, so both yield and retry after a
 * random time.
 */
const CLAIM = /^owner-[0-9a-f]{16}\.sock$/;
const EARLY = '.early';
const TRIES = 8;
const PAUSE_MS = 60;
/** Portable maximum of a socket path. */
const PATH_BYTES_MAX = 100;
/** Timeout in ms for the owner's description of itself: the owner may be suspended. */
const DESCRIPTION_MS = 300;

export interface FolderClaim {
  /** Releases the folder. */
  release(): Promise<void>;
}

/** Purpose of a claim on a folder. */
interface Purpose {
  /** Description of the owner for later claimants, besides its process; evaluated for each request. */
  readonly about?: () => string;
  /** Returns the error if the folder is taken. @param owner the owner's description; empty if it does not answer */
  inUse(folder: string, owner: string): InputError;
}

const FOR_JOURNAL: Purpose = {
  inUse: (folder, owner) =>
    new JournalError(
      'journal-in-use',
      `another scheduler uses the journal in ${folder}${owner === '' ? '' : `: ${owner}`}`,
      'stop that scheduler, or use a separate --data-folder for this one',
    ),
};

/**
 * Claims a folder for this process.
 *
 * @throws the error of the purpose if a live process has it, such as JournalError `journal-in-use`; JournalError `journal-folder`
 * if the file system does not support sockets
 */
export async function claimFolder(folder: string, purpose: Purpose = FOR_JOURNAL): Promise<FolderClaim> {
  let owner = '';
  for (let tries = 0; tries < TRIES; tries++) {
    if (tries > 0) await pause(PAUSE_MS * (0.5 + Math.random()) * tries);
    const claim = await listen(folder, purpose.about);
    if (claim === undefined) continue;
    const found = await liveOwner(folder, claim.name, (dead) => rmSync(dead, { force: true }));
    if (found === undefined) {
      removeEarly(folder);
      return { release: () => claim.end() };
    }
    owner = found;
    await claim.end();
  }
  throw purpose.inUse(folder, owner);
}

/** Returns whether a live process owns a folder at this moment, without claiming it. */
export async function isClaimed(folder: string): Promise<boolean> {
  return existsSync(folder) && (await liveOwner(folder, '', () => {})) !== undefined;
}

interface Claim {
  readonly name: string;
  end(): Promise<void>;
}

/**
 * Removes early sockets of processes that died before they were listening. A live process whose early socket disappears
 * tries again, because the folder has an owner.
 */
function removeEarly(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (name.endsWith(EARLY) && CLAIM.test(name.slice(0, -EARLY.length)))
      rmSync(join(folder, name), { force: true });
  }
}

/** Listens on a new socket in the folder. @returns undefined if the owner of the folder has removed the early socket */
async function listen(folder: string, about: Purpose['about']): Promise<Claim | undefined> {
  const name = `owner-${randomBytes(8).toString('hex')}.sock`;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.end(`process ${process.pid} on ${hostname()}${about === undefined ? '' : `, ${about()}`}`);
  });
  // The socket gets the name that others check only once it listens, so it never looks like that of a dead process.
  const early = `${name}${EARLY}`;
  try {
    await withShortPath(folder, early, (path) => listening(server, path));
    renameSync(join(folder, early), join(folder, name));
  } catch (cause) {
    server.close();
    const { code, syscall } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' && syscall === 'rename' && existsSync(folder)) return undefined;
    throw new JournalError(
      'journal-folder',
      `cannot claim ${folder}: ${(cause as Error).message}`,
      'it must be on a writable local file system that supports Unix sockets',
      { cause },
    );
  }
  server.unref();
  return {
    name,
    end: () => {
      try {
        rmSync(join(folder, name), { force: true });
      } catch {
        // On a disk that has become read-only, the next claimant sees that nobody listens.
      }
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      server.on('error', () => {});
      resolve();
    });
  });
}

/**
 * @param onDead called with each socket that a dead process left behind
 * @returns the self-description of another live process; undefined if there is none
 */
async function liveOwner(
  folder: string,
  own: string,
  onDead: (path: string) => void,
): Promise<string | undefined> {
  for (const name of readdirSync(folder)) {
    if (name === own || !CLAIM.test(name)) continue;
    const description = await withShortPath(folder, name, descriptionAt);
    if (description !== undefined) return description;
    onDead(join(folder, name));
  }
  return undefined;
}

/** @returns undefined if no process listens there */
function descriptionAt(path: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    let description = '';
    const socket = connect(path);
    const timer = setTimeout(() => done(description), DESCRIPTION_MS);
    const done = (answer: string | undefined): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    socket.on('data', (bytes) => {
      description += bytes.toString();
    });
    socket.on('end', () => done(description));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') return done(undefined);
      // Its connection queue is full, or it ended during the answer: the process is alive or was until now.
      if (error.code === 'EAGAIN' || error.code === 'ECONNRESET' || error.code === 'EPIPE')
        return done(description);
      clearTimeout(timer);
      reject(error);
    });
  });
}

/** Calls `use` with a short path, because socket paths are limited. Linux has a short alias for each open folder. */
async function withShortPath<T>(folder: string, name: string, use: (path: string) => Promise<T>): Promise<T> {
  const path = join(folder, name);
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX || process.platform !== 'linux') return use(path);
  const open = openSync(folder, 'r');
  try {
    return await use(`/proc/self/fd/${open}/${name}`);
  } finally {
    closeSync(open);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** An empty file whose inode identifies the folder: a copy of the folder has another one. */
const PLACE = 'place';

/**
 * Identifies a folder, to tell a restart from the start of a copy. A folder that is moved within its file system, or whose
 * volume is mounted elsewhere, keeps its place. On file systems without creation times, the place is the host and the path.
 */
export function placeOf(folder: string): string {
  const path = join(folder, PLACE);
  closeSync(openSync(path, 'a', 0o600));
  const { ino, birthtimeNs } = statSync(path, { bigint: true });
  return birthtimeNs > 0n ? `${ino}:${birthtimeNs}` : `${hostname()}:${realpathSync(folder)}`;
}
