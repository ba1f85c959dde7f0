import { dirname } from 'node:path';

/** Errors of a module that nobody has received yet, by the path of its file. */
const held = new Map<string, unknown[]>();
/** Maximum number of errors held for a module. A process that does not run it receives none of them. */
const HELD_MAX = 100;
let receiver: ((module: string, error: unknown) => void) | undefined;

/**
 * From now on, errors that a custom module throws in timers and promises do not end the process. They are held until somebody
 * receives them. Call it before the module is loaded, because a timer may be due at once.
 *
 * @param module path of its file; errors in files that it imports from its folder are its own
 */
export function holdLaterFailures(module: string): void {
  if (held.size === 0) process.on('uncaughtException', caught);
  if (!held.has(module)) held.set(module, []);
}

/** Receives the errors that are held, and later ones. @returns stops */
export function receiveLaterFailures(failed: (module: string, error: unknown) => void): () => void {
  receiver = failed;
  for (const [module, errors] of held) for (const error of errors.splice(0)) failed(module, error);
  return () => {
    receiver = undefined;
  };
}

function caught(error: unknown): void {
  const module = [...held.keys()].find((path) => isThrownIn(dirname(path), error));
  if (module === undefined) {
    process.off('uncaughtException', caught);
    // This ends the process as without a listener, with the stack and exit code 1.
    setImmediate(() => {
      throw error;
    });
  } else if (receiver !== undefined) receiver(module, error);
  else if (held.get(module)!.length < HELD_MAX) held.get(module)!.push(error);
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
