/** The part of `node:fs` that is needed; this package may not import it. */
interface FileSystem {
  mkdirSync(path: string, options: { readonly mode: number }): unknown;
  statSync(path: string): { isDirectory(): boolean };
}

const ALL_BUT_MASKED = 0o777;

/**
 * Makes a folder, and those above it that are missing. Node's own `recursive` never ends in /proc, and hides why one of them
 * cannot be made: EROFS is ENOENT there.
 *
 * @throws what the system says
 */
export function makeFolder(system: FileSystem, path: string, mode = ALL_BUT_MASKED): void {
  for (let end = 0; end >= 0; ) {
    end = path.indexOf('/', end + 1);
    const folder = end < 0 ? path : path.slice(0, end);
    try {
      system.mkdirSync(folder, { mode });
    } catch (error) {
      // Nearly all are there before, and another process may have made one meanwhile. Of a file in the way the next one tells.
      const isInTheWay = (error as { code?: unknown }).code === 'EEXIST' && end >= 0;
      if (!isInTheWay && !isFolder(system, folder)) throw error;
    }
  }
}

function isFolder(system: FileSystem, path: string): boolean {
  try {
    return system.statSync(path).isDirectory();
  } catch {
    return false;
  }
}
