import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/** `undefined` marks an optional text. Lists are comma-separated. */
type Default = number | string | boolean | readonly number[] | readonly string[] | undefined;

type Value<D extends Default> = D extends number
  ? number
  : D extends boolean
    ? boolean
    : D extends readonly number[]
      ? readonly number[]
      : D extends readonly string[]
        ? readonly string[]
        : D extends string
          ? string
          : string | undefined;

type Options<D extends Record<string, Default>> = { readonly [Name in keyof D]: Value<D[Name]> } & {
  readonly json: boolean;
  readonly positionals: readonly string[];
};

/**
 * Reads the options of a benchmark, with the types of their defaults, and `--json`. `--no-NAME` clears a flag. An
 * invalid option ends the process with exit code 2, `--help` lists the options and ends it with 0.
 *
 * @param takesPositionals otherwise positional arguments are refused
 */
export function readOptions<const D extends Record<string, Default>>(
  defaults: D,
  takesPositionals = false,
): Options<D> {
  const known: Record<string, Default> = { ...defaults, json: false };
  const kinds = Object.entries(known).map(
    ([name, value]) => [name, { type: typeof value === 'boolean' ? 'boolean' : 'string' }] as const,
  );
  try {
    const { values, positionals } = parseArgs({
      options: Object.fromEntries([...kinds, ['help', { type: 'boolean' }] as const]),
      allowPositionals: takesPositionals,
      allowNegative: true,
    });
    if (values.help) {
      process.stdout.write(`options:\n${Object.entries(known).map(optionLine).join('\n')}\n`);
      process.exit(0);
    }
    const read = Object.entries(known).map(([name, value]) => [name, readValue(name, values[name], value)]);
    return { ...Object.fromEntries(read), positionals };
  } catch (error) {
    fail((error as Error).message);
  }
}

function optionLine([name, preset]: [string, Default]): string {
  if (typeof preset !== 'boolean') return `  --${name} ${preset ?? 'TEXT'}`;
  return `  --${preset ? 'no-' : ''}${name}`;
}

function readValue(name: string, given: unknown, preset: Default): Default {
  if (given === undefined || typeof given === 'boolean') return given ?? preset;
  const text = String(given);
  if (typeof preset === 'number') return readNumber(name, text);
  if (typeof preset !== 'object') return text;
  const words = text.split(',').filter((word) => word !== '');
  return typeof preset[0] === 'number' ? words.map((word) => readNumber(name, word)) : words;
}

function readNumber(name: string, text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !(number >= 0)) throw new RangeError(`--${name} takes numbers, not "${text}"`);
  return number;
}

/** Reports an invalid command line and ends the process. */
export function fail(message: string): never {
  note(message);
  process.exit(2);
}

/** Prints progress to stderr. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** The folder of a measurement. `using` removes it at the end of the block; otherwise call `remove`. */
export class Folder implements Disposable {
  readonly path: string;
  readonly #isOwn: boolean;

  /** @param given is never removed; without it, creates a folder `goshawk-NAME-…` */
  constructor(name: string, given?: string, place = tmpdir()) {
    this.path = given ?? mkdtempSync(join(place, `goshawk-${name}-`));
    this.#isOwn = given === undefined;
  }

  remove(): void {
    if (this.#isOwn) rmSync(this.path, { recursive: true, force: true });
  }

  [Symbol.dispose](): void {
    this.remove();
  }
}
