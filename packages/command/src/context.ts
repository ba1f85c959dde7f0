import type { Output, Outputs } from '@goshawk/core';
import type { OptionSpecs, Resolved } from './options.js';

/** Options of every command. */
export const GLOBAL_OPTIONS = {
  json: {
    type: 'flag',
    setting: true,
    describe: 'print JSON on stdout, as one value or one value per line; errors are JSON on stderr',
  },
  quiet: { type: 'flag', setting: true, alias: 'q', describe: 'print no progress and no hints' },
  verbose: { type: 'flag', setting: true, alias: 'v', describe: 'print more; show the causes of errors' },
  config: { type: 'text', setting: true, value: 'FILE', describe: 'JSON file of settings' },
  color: {
    type: 'flag',
    setting: true,
    default: true,
    describe: 'use colors on a terminal (off: --no-color, NO_COLOR)',
  },
  cluster: {
    type: 'text',
    setting: true,
    value: 'URL',
    describe:
      'address of central or of a scheduler, tcp://HOST:PORT (default: the cluster of `goshawk up` in this folder, else the only local cluster)',
  },
  keys: {
    type: 'text',
    setting: true,
    value: 'PATH',
    describe: 'key file of this process, or folder with the keys of the cluster (see `goshawk keygen`)',
  },
  progress: {
    type: 'text',
    setting: true,
    default: 'auto',
    choices: ['auto', 'bar', 'plain', 'none'],
    value: 'KIND',
    describe: 'progress on stderr',
  },
} as const satisfies OptionSpecs;

export type GlobalOptions = Resolved<typeof GLOBAL_OPTIONS>;

/** stdout or stderr. */
export interface OutputStream {
  write(text: string | Uint8Array): unknown;
  once?(event: 'drain', then: () => void): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

/** Writes all parts with backpressure, so that output for a slow reader does not fill the memory. */
export async function writeAll(stream: OutputStream, parts: Iterable<string>): Promise<void> {
  for (const part of parts) {
    if (stream.write(part) !== false || stream.once === undefined) continue;
    await new Promise<void>((resolve) => stream.once!('drain', resolve));
  }
}

/**
 * Returns whether a program may parse stderr. With --json, messages for people go only to a terminal, unless
 * --progress requests them.
 */
export function isReadByProgram(
  { json, progress }: Pick<GlobalOptions, 'json' | 'progress'>,
  stderr: OutputStream,
): boolean {
  return json && progress === 'auto' && stderr.isTTY !== true;
}

/** An output of a published schema. One that differs from its schema does not compile. */
type Shown<S extends keyof Outputs> = { readonly schema: S } & Output<S>;

/** The environment of a command. Tests replace it. */
export interface Context {
  readonly global: GlobalOptions;
  /** Content of the --config file; empty without one. */
  readonly configFile: Readonly<Record<string, unknown>>;
  /** Whether to use colors on stdout. */
  readonly color: boolean;
  /** Width of the terminal on stdout; infinite without a terminal, so that nothing is cut. */
  readonly columns: number;
  /** Prints a result: a JSON value with --json, else text for people. */
  show<S extends keyof Outputs>(value: Shown<S>, words: () => string): void;
  /** Prints text of a result on stdout. */
  out(text: string): void;
  /** Prints a JSON value of a result as one line of stdout. */
  json<S extends keyof Outputs>(value: Shown<S>): void;
  /** Prints a message for people on stderr; nothing with --quiet or if `isReadByProgram`. */
  note(text: string): void;
  /** Stream for bytes of tasks, unchanged; text goes through `out`. */
  readonly stdout: OutputStream;
  /** Stream for drawing; text goes through `note`. */
  readonly stderr: OutputStream;
  /** Whether to use colors on stderr. */
  readonly errorColor: boolean;
  /** Asks the user a question; undefined without a terminal. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /**
   * Reads all of stdin.
   *
   * @param bytesMax maximum size; default: 64 MiB
   * @throws InputError; the reason of `interrupted`
   */
  readInput(bytesMax?: number): Promise<Uint8Array>;
  /** Aborted by the first Ctrl-C, SIGTERM or SIGHUP. */
  readonly interrupted: AbortSignal;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Path of the script that runs commands, which also runs every daemon. */
  readonly executable: string;
}
