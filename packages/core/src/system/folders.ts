/** The subset of `node:fs` used here; this package may not import it. */
interface FileSystem {
  mkdirSync(path: string, options: { readonly mode: number }): unknown;
  statSync(path: string): { isDirectory(): boolean };
}

const ALL_BUT_MASKED = 0o777;

/**
 * Creates a folder and its missing parents. Node's `recursive` option never returns in /proc, and reports
 * EROFS as ENOENT.
 *
 * @throws the system's error
 */
export function makeFolder(system: FileSystem, path: string, mode = ALL_BUT_MASKED): void {
  for (let end = 0; end >= 0; ) {
    end = path.indexOf('/', end + 1);
    const folder = end < 0 ? path : path.slice(0, end);
    try {
      system.mkdirSync(folder, { mode });
    } catch (error) {
      // Most folders exist already, and another process may create one concurrently. If a file is in the way,
      // creating the next folder fails.
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
