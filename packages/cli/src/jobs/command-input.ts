import { fstatSync, readFileSync } from 'node:fs';
import { GoshawkError } from '@goshawk/core';

/** Time (ms) without data after which a socket counts as unused. */
const IDLE_MS = 1_000;

interface CommandInput {
  /** Bytes of stdin; undefined if there is nothing to read. */
  readonly bytes: Uint8Array | undefined;
  /** Rejects when bytes arrive too late for the command; never resolves. */
  readonly late: Promise<never>;
  /** Stops reading, so that the process can exit while the other end is open. */
  close(): void;
}

/**
 * Reads stdin for a remote command. It reads files and pipes to their end, like a filter, and ignores a
 * terminal. Programs pass sockets to their children without always writing to them, so a silent socket counts
 * as empty.
 *
 * @param signal stops reading
 */
export async function readCommandInput(signal: AbortSignal): Promise<CommandInput> {
  const never = new Promise<never>(() => {});
  const kind = kindOfStdin();
  if (kind === 'nothing') return { bytes: undefined, late: never, close: () => {} };
  if (kind === 'file') return { bytes: readFileSync(0), late: never, close: () => {} };
  const { stdin } = process;
  const chunks: Uint8Array[] = [];
  let isLate = false;
  let tooLate = (_: Error): void => {};
  const late = new Promise<never>((_, reject) => {
    tooLate = reject;
  });
  // This avoids an unhandled rejection; callers that await `late` still see the error.
  late.catch(() => {});
  await new Promise<void>((resolve, reject) => {
    const timer = kind === 'socket' ? setTimeout(giveUp, IDLE_MS) : undefined;
    function giveUp(): void {
      isLate = true;
      resolve();
    }
    stdin.on('data', (chunk: Uint8Array) => {
      clearTimeout(timer);
      if (isLate) {
        tooLate(
          new GoshawkError(
            'late-input',
            `run: stdin sent nothing for ${IDLE_MS / 1_000} s, so the command was submitted without it; then it sent data`,
            '`--stdin -` reads stdin to its end first',
          ),
        );
      } else chunks.push(chunk);
    });
    stdin.on('end', resolve).on('error', reject);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  const bytes = Buffer.concat(chunks);
  return { bytes: bytes.length === 0 ? undefined : bytes, late, close: () => stdin.destroy() };
}

function kindOfStdin(): 'nothing' | 'file' | 'pipe' | 'socket' {
  try {
    const stats = fstatSync(0);
    if (stats.isFile()) return 'file';
    if (stats.isFIFO()) return 'pipe';
    return stats.isSocket() ? 'socket' : 'nothing';
  } catch {
    return 'nothing';
  }
}
