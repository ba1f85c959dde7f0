import type { OptionSpecs, Resolved } from './options.js';

/** Options that every command takes. */
export const GLOBAL_OPTIONS = {
  json: {
    type: 'flag',
    describe:
      'machine output on stdout, one JSON value or JSON lines, and nothing else there; on stderr nothing but an error in JSON',
  },
  quiet: { type: 'flag', alias: 'q', describe: 'no progress and no hints' },
  verbose: { type: 'flag', alias: 'v', describe: 'say more; show the causes of errors' },
  config: { type: 'text', describe: 'a JSON file of settings' },
  color: { type: 'flag', default: true, describe: 'colours on a terminal (--no-color, NO_COLOR)' },
  cluster: {
    type: 'text',
    describe:
      'where the cluster is: tcp://HOST:PORT of central or of a scheduler (default: the one that `goshawk up` runs from this folder, else the only one that runs)',
  },
  keys: {
    type: 'text',
    describe: 'the key file of this role, or the folder of a cluster’s keys (see `goshawk keygen`)',
  },
  progress: {
    type: 'text',
    default: 'auto',
    choices: ['auto', 'bar', 'plain', 'none'],
    describe: 'how progress is shown on stderr',
  },
} as const satisfies OptionSpecs;

export type GlobalOptions = Resolved<typeof GLOBAL_OPTIONS>;

/** stdout or stderr. */
export interface OutputStream {
  write(text: string | Uint8Array): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/**
 * With --json a program may read errors as JSON from stderr: words for people go only to a terminal then, or where
 * --progress asks for them.
 */
export function isReadByProgram(
  { json, progress }: Pick<GlobalOptions, 'json' | 'progress'>,
  stderr: OutputStream,
): boolean {
  return json && progress === 'auto' && stderr.isTTY !== true;
}

/** Everything a command has to do with the world outside; tests hand in another one. */
export interface Context {
  readonly global: GlobalOptions;
  /** Colours on stdout. */
  readonly color: boolean;
  /** Width of the terminal that stdout is; infinite where it is none, so that nothing is cut. */
  readonly columns: number;
  /** Results. */
  out(text: string): void;
  /** The machine output: a JSON value, on a line. */
  json(value: unknown): void;
  /** For people, beside the result: goes to stderr; nowhere with --quiet, nor where `isReadByProgram`. */
  note(text: string): void;
  /** For bytes of others, as they are; words go through `out`. */
  readonly stdout: OutputStream;
  /** For what is drawn there; words go through `note`. */
  readonly stderr: OutputStream;
  /** Colours on stderr. */
  readonly errorColor: boolean;
  /** All of stdin. */
  readInput(): Promise<Uint8Array>;
  /** Aborted by the first Ctrl-C, or SIGTERM. */
  readonly interrupted: AbortSignal;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}
