import { WorkloadError } from '../errors.js';

/** One option of a generator: its default, its meaning, and how its text is parsed. */
export interface GeneratorOption<T extends number | string> {
  readonly default: T;
  readonly description: string;
  /** Description of valid values, for help and errors. */
  readonly accepts: string;
  /** Whether the value may contain commas. */
  readonly isList?: boolean;
  /** The value; undefined if the text is invalid. */
  readonly parse: (text: string) => T | undefined;
}

// biome-ignore lint/suspicious/noExplicitAny: an option of any type; `unknown` would not take the parsers
export type OptionSpecs = Readonly<Record<string, GeneratorOption<any>>>;

export type OptionValues<O extends OptionSpecs> = {
  readonly [K in keyof O]: O[K] extends GeneratorOption<infer T> ? T : never;
};

/** An option with a positive integer. */
export function count(fallback: number, description: string): GeneratorOption<number> {
  return wholeNumber(fallback, description, 1);
}

/** An option with a nonnegative integer. */
export function seed(): GeneratorOption<number> {
  return wholeNumber(1, 'seed of the random numbers; the same seed gives the same jobs', 0);
}

/** An option with an integer of at least `least`. */
export function wholeNumber(fallback: number, description: string, least: number): GeneratorOption<number> {
  return {
    default: fallback,
    description,
    accepts: `a whole number of at least ${least}`,
    parse: (text) => {
      const value = decimal(text);
      return Number.isSafeInteger(value) && value >= least ? value : undefined;
    },
  };
}

/** An option with a number above zero. */
export function positive(fallback: number, description: string): GeneratorOption<number> {
  return {
    default: fallback,
    description,
    accepts: 'a number above zero',
    parse: (text) => {
      const value = decimal(text);
      return value > 0 && value < Infinity ? value : undefined;
    },
  };
}

/** An option with one word of a list; the first is the default. */
export function choice<const T extends string>(
  words: readonly [T, ...T[]],
  description: string,
): GeneratorOption<T> {
  return {
    default: words[0],
    description,
    accepts: words.join(' or '),
    parse: (text) => words.find((word) => word === text),
  };
}

function decimal(text: string): number {
  return /^\d+(\.\d+)?(e\d+)?$/i.test(text) ? Number(text) : Number.NaN;
}

/**
 * Parses `key=value,key=value` by the options of a generator; omitted options have defaults.
 *
 * @throws WorkloadError for an unknown, repeated or malformed option
 */
export function parseOptions<O extends OptionSpecs>(
  generator: string,
  text: string,
  specs: O,
): OptionValues<O> {
  const values: Record<string, number | string> = {};
  for (const part of partsOf(text, specs)) {
    if (part.trim() === '') continue;
    const equals = part.indexOf('=');
    const name = (equals < 0 ? part : part.slice(0, equals)).trim();
    const value = equals < 0 ? undefined : part.slice(equals + 1).trim();
    const spec = Object.hasOwn(specs, name) ? specs[name] : undefined;
    if (spec === undefined) {
      throw new WorkloadError(
        `${generator} has no option '${name}'`,
        `its options are ${Object.keys(specs).join(', ')}`,
      );
    }
    if (Object.hasOwn(values, name)) {
      throw new WorkloadError(`${generator}: option ${name} is set twice`, 'set it once');
    }
    const parsed = value === undefined ? undefined : spec.parse(value);
    if (parsed === undefined) {
      throw new WorkloadError(
        value === undefined
          ? `${generator}: option ${name} has no value`
          : `${generator}: ${name} is '${value}'`,
        `write ${name}=VALUE with ${spec.accepts} (default ${spec.default})`,
      );
    }
    values[name] = parsed;
  }
  for (const [name, spec] of Object.entries(specs)) values[name] ??= spec.default;
  return values as OptionValues<O>;
}

/** Splits at commas, except within lists. */
function partsOf(text: string, specs: OptionSpecs): string[] {
  const parts: string[] = [];
  for (const part of text.split(',')) {
    const before = parts.at(-1);
    const name = before?.slice(0, before.indexOf('=')).trim() ?? '';
    const goesOn = !part.includes('=') && Object.hasOwn(specs, name) && specs[name]!.isList === true;
    if (goesOn) parts[parts.length - 1] = `${before},${part}`;
    else parts.push(part);
  }
  return parts;
}
