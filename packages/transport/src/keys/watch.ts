import { fileVersion, readKeys } from './key-folder.js';
import { type KeyRing, nextExpiry, withoutExpired } from './key-ring.js';

const CHECK_INTERVAL_MS = 2_000;

/**
 * Calls `onChange` after a file was replaced, changed or removed, which it checks every two seconds.
 *
 * @param seen its version at the time of reading; see `fileVersion`
 * @returns a function that stops watching
 */
export function watchFile(path: string, seen: string | undefined, onChange: () => void): () => void {
  let isMissing = false;
  const timer = setInterval(() => {
    const present = fileVersion(path);
    const wasMissing = isMissing;
    isMissing = present === undefined;
    // The file may be absent for a moment during replacement.
    if (present === seen || (isMissing && !wasMissing)) return;
    seen = present;
    onChange();
  }, CHECK_INTERVAL_MS).unref();
  return () => clearInterval(timer);
}

/**
 * Reloads the keys when their file changes, and removes individual keys that expire. Without a file only the latter
 * happens.
 *
 * @param onProblem called if the new content is not a valid key file of this role; the previous keys stay in use
 * @returns a function that stops watching
 */
export function watchKeys(
  ring: KeyRing,
  onChange: (ring: KeyRing) => void,
  onProblem: (problem: string) => void,
): () => void {
  const { path, role, version } = ring;
  let current = ring;
  const change = (next: KeyRing): void => {
    onChange(next);
    current = next;
  };
  const expiry = setInterval(() => {
    if (nextExpiry(current) <= Date.now()) change(withoutExpired(current, Date.now()));
  }, CHECK_INTERVAL_MS).unref();
  const endWatching =
    path === undefined
      ? () => {}
      : watchFile(path, version, () => {
          try {
            change(readKeys({ path }, role)!);
          } catch (error) {
            onProblem((error as Error).message);
          }
        });
  return () => {
    clearInterval(expiry);
    endWatching();
  };
}
