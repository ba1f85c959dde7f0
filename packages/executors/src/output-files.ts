import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, stat, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type FailedOutcome, failed, type OutputStream } from './contract.js';
import { TOO_MANY_FILES } from './spawn-failure.js';

/** Files that receive a command's output instead of pipes. Relative paths start at its working folder. */
export type OutputPaths = Partial<Readonly<Record<OutputStream, string>>>;

/** Open files. If stdout and stderr lead to the same file, also by links, they share one descriptor. */
export interface OutputFiles {
  readonly descriptors: Partial<Readonly<Record<OutputStream, number>>>;
  /** Absolute paths of the files. */
  readonly paths: readonly string[];
  /** Called once the command has inherited them, or will not start. */
  close(): void;
}

/** Without O_NONBLOCK, opening a pipe would wait for its reader. */
const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NONBLOCK;
const NULL_DEVICE = '/dev/null';

/**
 * Opens the files, creates missing folders, and truncates what an earlier attempt wrote.
 *
 * @param folder the command's, if any; it is not created
 * @returns the files, or the failure of the run
 */
export async function openOutputFiles(
  paths: OutputPaths,
  folder: string | undefined,
): Promise<OutputFiles | FailedOutcome> {
  const opened: [path: string, file: FileHandle][] = [];
  const byFile = new Map<string, number>();
  const close = (): void => {
    for (const [, file] of opened) file.close().catch(() => {});
  };
  const descriptors: Partial<Record<OutputStream, number>> = {};
  for (const [stream, given] of Object.entries(paths) as [OutputStream, string][]) {
    const path = resolve(folder ?? '', given);
    try {
      const file = await openFile(path, folder);
      opened.push([path, file]);
      const { dev, ino } = await file.stat({ bigint: true });
      const same = `${dev}:${ino}`;
      descriptors[stream] = byFile.get(same) ?? file.fd;
      byFile.set(same, descriptors[stream]);
    } catch (error) {
      close();
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EMFILE' || code === 'ENFILE') return failed(...TOO_MANY_FILES);
      return failed('output-file', `${stream} cannot go to "${path}" on this worker: ${reasonOf(error)}`);
    }
  }
  return { descriptors, paths: [...new Set(opened.map(([path]) => path))], close };
}

/** Adds the file that may have caused the failure to the outcome. */
export async function withFullDisk(outcome: FailedOutcome, { paths }: OutputFiles): Promise<FailedOutcome> {
  for (const path of paths) {
    if (path === NULL_DEVICE) continue;
    const disk = await statfs(path).catch(() => undefined);
    if (disk?.bavail !== 0) continue;
    const { code, message } = outcome.error;
    return { ...outcome, error: { code, message: `${message}; the disk of "${path}" is full` } };
  }
  return outcome;
}

async function openFile(path: string, folder: string | undefined): Promise<FileHandle> {
  if (folder !== undefined) await stat(folder);
  await makeFolder(dirname(path));
  const file = await open(path, FLAGS, 0o666);
  if (path === NULL_DEVICE || (await file.stat()).isFile()) return file;
  await file.close();
  throw new Error('it is neither a file nor /dev/null');
}

/**
 * Creates a folder and its parents. Node's recursive mkdir hangs where folders cannot be created, for example in
 * /proc.
 */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || code === 'EISDIR') return;
    const parent = dirname(path);
    if (code !== 'ENOENT' || parent === path) throw error;
    await makeFolder(parent);
    await mkdir(path).catch((again: NodeJS.ErrnoException) => {
      if (again.code !== 'EEXIST') throw again;
    });
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return (code !== undefined && REASONS[code]) || (code ?? message);
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'its user has no write permission',
  EPERM: 'its user has no write permission',
  EDQUOT: 'its user’s disk quota is exhausted',
  EISDIR: 'it is a folder',
  EEXIST: 'a part of the path is a file',
  ENOTDIR: 'a part of the path is a file',
  ENOENT: 'the folder does not exist and cannot be created',
  ENAMETOOLONG: 'the name is too long',
  ENOSPC: 'the disk is full',
  ENXIO: 'it is neither a file nor /dev/null',
  EROFS: 'the disk is read-only',
};
