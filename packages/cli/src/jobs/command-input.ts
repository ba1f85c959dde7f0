import { once } from 'node:events';
import { fstatSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '@goshawk/command';
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
 * @throws InputError if stdin cannot be read or is too long; the reason of the context's signal
 */
export async function readCommandInput(context: Context): Promise<CommandInput> {
  const kind = kindOfStdin();
  if (kind === 'socket' && !(await hasInputSoon())) return unusedSocket();
  const bytes = kind === 'nothing' ? new Uint8Array() : await context.readInput();
  return {
    bytes: bytes.length === 0 ? undefined : bytes,
    late: new Promise<never>(() => {}),
    close: () => {},
  };
}

/** Returns whether the socket on stdin sends data, or ends, before it counts as unused. */
async function hasInputSoon(): Promise<boolean> {
  const stop = new AbortController();
  const { signal } = stop;
  try {
    return await Promise.race([
      once(process.stdin, 'readable', { signal }).then(() => true),
      sleep(IDLE_MS, false, { signal }),
    ]);
  } finally {
    stop.abort();
  }
}

function unusedSocket(): CommandInput {
  const { stdin } = process;
  const late = new Promise<never>((_, reject) => {
    const error = new GoshawkError(
      'late-input',
      `run: stdin sent nothing for ${IDLE_MS / 1_000} s, so the command was submitted without it; then it sent data`,
      '`--stdin -` reads stdin to its end first',
    );
    stdin.once('data', () => reject(error)).resume();
  });
  // This avoids an unhandled rejection; callers that await `late` still see the error.
  late.catch(() => {});
  return { bytes: undefined, late, close: () => stdin.destroy() };
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
