import { whyUnread } from '../errors.js';
import { formatBytes } from '../resources/resources.js';

/** The subset of `node:fs` used here; this package may not import it. */
interface FileSystem {
  statSync(path: string): { readonly size: number; isFile(): boolean; isDirectory(): boolean };
  readFileSync(path: string): Uint8Array;
}

/**
 * Reads a regular file. A pipe or a device is rejected, because reading it would block the process.
 *
 * @param failed returns the error for a file that cannot be read; default: the system's error
 * @throws that error
 */
export function readRegularFile(
  system: FileSystem,
  path: string,
  failed?: (why: string, cause: unknown) => Error,
  bytesMax = Number.POSITIVE_INFINITY,
): Uint8Array {
  try {
    const stats = system.statSync(path);
    // The system's error about a folder is clear.
    if (!stats.isFile() && !stats.isDirectory())
      throw new Error('it is a pipe, a socket or a device, not a regular file');
    if (stats.size > bytesMax) throw new Error(`it has more than ${formatBytes(bytesMax)}`);
    return system.readFileSync(path);
  } catch (error) {
    throw failed?.(whyUnread(error), error) ?? error;
  }
}
