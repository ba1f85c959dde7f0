/** `undefined` marks an optional text. Lists are comma-separated. */
export type Default = number | string | boolean | readonly number[] | readonly string[] | undefined;

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

export type Options<D extends Record<string, Default>> = { readonly [Name in keyof D]: Value<D[Name]> } & {
  readonly positionals: readonly string[];
};

/**
 * Reads the options of a script, a test or a benchmark, with the types of their defaults. `--help` ends the process with
 * 0, an invalid option with 2.
 */
export function readOptions<const D extends Record<string, Default>>(
  usage: string,
  defaults?: D,
  takesPositionals?: boolean,
): Options<D>;
