import { accessSync, constants, realpathSync } from 'node:fs';
import { delimiter, join, sep } from 'node:path';

/** Resolves links; undefined if the path does not exist or is not accessible. */
export function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/** Returns whether a path is the folder, or lies below it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Returns whether this process may run the file, or enter the folder. */
export function mayExecute(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns the absolute path of a program in PATH or a system folder. */
export function programOf(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
  return folders
    .filter((folder) => folder.startsWith('/'))
    .map((folder) => join(folder, name))
    .find(mayExecute);
}
