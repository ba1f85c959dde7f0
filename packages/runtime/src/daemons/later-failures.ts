import { dirname } from 'node:path';

/**
 * Receives errors that the policy throws in timers and promises, which would end the process. Other errors do.
 *
 * @param policy path of its file; errors in files that it imports from its folder are its own
 * @returns stops
 */
export function laterFailures(policy: string, failed: (error: unknown) => void): () => void {
  const folder = dirname(policy);
  const caught = (error: unknown): void => {
    if (isThrownIn(folder, error)) return failed(error);
    process.off('uncaughtException', caught);
    // This ends the process as without a listener, with the stack and exit code 1.
    setImmediate(() => {
      throw error;
    });
  };
  process.on('uncaughtException', caught);
  return () => process.off('uncaughtException', caught);
}

/** Whether code in the folder threw the value. Our own code throws only errors with a place, or of the system. */
export function isThrownIn(folder: string, thrown: unknown): boolean {
  try {
    return !(thrown instanceof Error) || isPlacedIn(folder, thrown);
  } catch {
    // Its fields throw, which those of our own errors never do.
    return true;
  }
}

function isPlacedIn(folder: string, thrown: Error): boolean {
  const frames = [...(thrown.stack ?? '').matchAll(/^\s+at .*$/gm)].map(([line]) => line);
  const placed = frames.filter((line) => !line.includes('node:') && !line.includes('<anonymous>'));
  if (placed.length === 0) return (thrown as NodeJS.ErrnoException).syscall === undefined;
  const prefix = folder.endsWith('/') ? folder : `${folder}/`;
  return placed.some(
    (line) => line.includes(`(${prefix}`) || line.includes(` ${prefix}`) || line.includes(`file://${prefix}`),
  );
}
