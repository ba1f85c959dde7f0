import { readdir, stat } from 'node:fs/promises';
import { WorkloadError } from '../errors.js';

/** @throws WorkloadError when there is nothing, or it may not be looked at */
export async function isFolder(path: string): Promise<boolean> {
  return (await orUnreadable(path, stat(path))).isDirectory();
}

/** Names in a folder, sorted. */
export async function namesIn(folder: string): Promise<string[]> {
  return (await orUnreadable(folder, readdir(folder))).sort();
}

/** Refuses what cannot be read as one file. */
export async function checkFile(path: string): Promise<void> {
  if (await isFolder(path)) {
    throw new WorkloadError('this is a folder', 'name one trace file in it', { file: path });
  }
}

export async function orUnreadable<T>(path: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

export function unreadable(file: string, cause: unknown): WorkloadError {
  const code = (cause as NodeJS.ErrnoException).code;
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return new WorkloadError('no such file', 'check the path', { file, cause });
  }
  if (code === 'EACCES') {
    return new WorkloadError('no permission to read the file', 'check its mode and owner', { file, cause });
  }
  return new WorkloadError(`cannot be read (${(cause as Error).message})`, 'check the file', { file, cause });
}
