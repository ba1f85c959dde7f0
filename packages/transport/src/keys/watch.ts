import { fileVersion, readKeys } from './key-folder.js';
import type { KeyRing } from './key-ring.js';

const LOOK_MS = 2_000;

/**
 * Looks every few seconds whether the file was replaced or changed.
 *
 * @param seen its version when it was read; see `fileVersion`
 * @returns ends it
 */
export function watchFile(path: string, seen: string | undefined, onChange: () => void): () => void {
  const timer = setInterval(() => {
    const present = fileVersion(path);
    // While it is being replaced there may be none for a moment.
    if (present === undefined || present === seen) return;
    seen = present;
    onChange();
  }, LOOK_MS).unref();
  return () => clearInterval(timer);
}

/**
 * Reads the keys anew when their file has changed. Keys that did not come from a file stay as they are.
 *
 * @param onProblem what is there is not a key file of this role: the keys stay as they are
 * @returns ends it
 */
export function watchKeys(
  { path, role, version }: KeyRing,
  onChange: (ring: KeyRing) => void,
  onProblem: (problem: string) => void,
): () => void {
  if (path === undefined) return () => {};
  return watchFile(path, version, () => {
    try {
      onChange(readKeys({ path }, role)!);
    } catch (error) {
      onProblem((error as Error).message);
    }
  });
}
