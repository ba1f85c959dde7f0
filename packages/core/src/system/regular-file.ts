/** The subset of `node:fs` used here; this package may not import it. */
interface FileSystem {
  statSync(path: string): { isFile(): boolean; isDirectory(): boolean };
  readFileSync(path: string): Uint8Array;
}

/**
 * Reads a regular file. A pipe or a device is rejected, because reading it would block the process.
 *
 * @throws the system's error, or Error, which `whyUnread` describes
 */
export function readRegularFile(system: FileSystem, path: string): Uint8Array {
  const stats = system.statSync(path);
  // The system's error about a folder is clear.
  if (!stats.isFile() && !stats.isDirectory())
    throw new Error('it is a pipe, a socket or a device, not a regular file');
  return system.readFileSync(path);
}
