import { decodeText, InputError, parseDuration, parseExactJson } from '@goshawk/core';
import { readGivenFile } from './given-file.js';
import { JobWord, jobWords } from './job-word.js';

/**
 * An option, declared once as data. Help, parsing, `GOSHAWK_*` variables, configuration files and completion
 * read the same declaration. A flag takes precedence over a variable, a variable over the file, and the file
 * over the default.
 */
interface SpecBase {
  readonly describe: string;
  /** Short form of the flag, one letter. */
  readonly alias?: string;
  /** Description of the default, if it is not a single value. */
  readonly whenUnset?: string;
  /** Placeholder of the value in help: `FILE`. */
  readonly value?: string;
  /**
   * Whether variables and files can set it, too; if false, it is only a flag for one run. A text is its name
   * there, if another command has a different setting of the same name.
   */
  readonly setting: boolean | string;
  /** Option without which this one has no effect; it is refused as a flag then. */
  readonly with?: string;
  /** Option with which this one has no effect. */
  readonly without?: string;
  /** Rarely used: `--help --all` and docs/COMMANDS.md show it, `--help` does not. */
  readonly rare?: boolean;
  /** Setting of a policy: `goshawk policies NAME` and `--help --all` show it, `--help` does not. */
  readonly ofPolicy?: boolean;
}

export type OptionSpec =
  | (SpecBase & {
      readonly type: 'text';
      readonly default?: string;
      readonly choices?: readonly string[];
      /** Values for completion. Other values are valid, too. */
      readonly suggests?: readonly string[];
      /** Whether the value may be omitted, and is then empty. */
      readonly valueOptional?: boolean;
    })
  | (SpecBase & { readonly type: 'texts' })
  /** A job or several, as the words of commands name them. */
  | (SpecBase & { readonly type: 'job' | 'jobs' })
  | (SpecBase & { readonly type: 'flag'; readonly default?: boolean })
  /** A whole number. */
  | (SpecBase & {
      readonly type: 'count';
      readonly default?: number;
      /** Value of the word `none`, if it is accepted. */
      readonly none?: number;
      readonly min?: number;
      readonly max?: number;
    })
  | (SpecBase & {
      readonly type: 'number';
      readonly default?: number;
      readonly min?: number;
      readonly max?: number;
    })
  /** A time: text with a unit, resolved to ms. */
  | (SpecBase & { readonly type: 'duration'; readonly default?: string });

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

type ValueOf<S> = S extends { choices: readonly (infer Choice)[] }
  ? Choice
  : S extends { type: 'text' }
    ? string
    : S extends { type: 'texts' }
      ? readonly string[]
      : S extends { type: 'job' }
        ? JobWord
        : S extends { type: 'jobs' }
          ? readonly JobWord[]
          : S extends { type: 'flag' }
            ? boolean
            : number;

/**
 * Options with a default always have a value. Omitted flags without `whenUnset` are false, and omitted lists
 * are empty.
 */
export type Resolved<S extends OptionSpecs> = {
  readonly [N in keyof S]: S[N] extends { type: 'flag'; whenUnset: string }
    ? boolean | undefined
    : S[N] extends { default: unknown } | { type: 'flag' } | { type: 'texts' } | { type: 'jobs' }
      ? ValueOf<S[N]>
      : ValueOf<S[N]> | undefined;
};

export type Origin = 'flag' | 'environment' | 'file' | 'default' | 'not set';

interface Resolution<S extends OptionSpecs> {
  readonly values: Resolved<S>;
  readonly origins: Readonly<Record<string, Origin>>;
}

export interface Sources {
  /** Values of the command line by option name (camel case). Omitted options are undefined. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Values of the file by option name, in camel or kebab case. */
  readonly file: Readonly<Record<string, unknown>>;
  /** Name of the file, for errors. */
  readonly fileName: string;
}

/** @throws InputError with the option, its origin and the valid values */
export function resolveOptions<S extends OptionSpecs>(specs: S, sources: Sources): Resolution<S> {
  const values: Record<string, unknown> = {};
  const origins: Record<string, Origin> = {};
  for (const [name, spec] of Object.entries(specs)) {
    const candidates: [Origin, unknown, string][] = [];
    candidates.push(['flag', sources.flags[name], flagOf(name)]);
    const setting = settingName(name, spec);
    if (setting !== undefined) {
      const variable = variableOf(setting);
      candidates.push(['environment', sources.environment[variable] || undefined, variable]);
      const value = sources.file[setting] ?? sources.file[kebab(setting)];
      candidates.push(['file', value, `${sources.fileName}: ${kebab(setting)}`]);
    }
    const found = candidates.find(([, value]) => value !== undefined);
    if (found !== undefined) {
      values[name] = convert(spec, found[1], found[2]);
      origins[name] = found[0];
    } else {
      values[name] = defaultOf(spec);
      origins[name] = values[name] === undefined ? 'not set' : 'default';
    }
  }
  refuseIdle(specs, values, origins);
  return { values: values as Resolved<S>, origins };
}

/** @throws InputError for a flag that has no effect beside the others; variables and files serve other commands, too */
function refuseIdle(
  specs: OptionSpecs,
  values: Readonly<Record<string, unknown>>,
  origins: Readonly<Record<string, Origin>>,
): void {
  const isSet = (name: string): boolean => values[name] !== undefined && values[name] !== false;
  for (const [name, spec] of Object.entries(specs)) {
    if (origins[name] !== 'flag') continue;
    if (spec.with !== undefined && !isSet(spec.with))
      throw new InputError('usage', `${flagOf(name)} needs ${flagOf(spec.with)}`);
    if (spec.without !== undefined && isSet(spec.without))
      throw new InputError('usage', `${flagOf(name)} has no effect with ${flagOf(spec.without)}`, 'omit it');
  }
}

/**
 * Resolves options from flags alone, without environment and file.
 * @throws as `resolveOptions`
 */
export function optionsGiven<S extends OptionSpecs>(specs: S, flags: Sources['flags'] = {}): Resolved<S> {
  return resolveOptions(specs, { flags, environment: {}, file: {}, fileName: '' }).values;
}

/**
 * @param signal stops the read
 * @throws the signal's reason; InputError if the file cannot be read or is not an object of settings
 */
export async function readConfigFile(path: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  const bytes = await readGivenFile(
    path,
    signal,
    (why, cause) => new InputError('bad-config', `--config: cannot read ${path}: ${why}`, '', { cause }),
  );
  const value = parseExactJson(decodeText(bytes, path), { code: 'bad-config', name: path, hint: '' });
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InputError(
      'bad-config',
      `${path}: expected an object of settings`,
      'for example {"workers": 20, "policy": "hawk"}',
    );
  }
  return value as Record<string, unknown>;
}

/** Name of an option in files and, in capitals, of its variable; undefined if it is only a flag. */
export function settingName(name: string, { setting }: OptionSpec): string | undefined {
  return setting === true ? name : setting || undefined;
}

/** `stealCap` → `--steal-cap`. */
export function flagOf(name: string): string {
  return `--${kebab(name)}`;
}

/** `stealCap` → `GOSHAWK_STEAL_CAP`. */
export function variableOf(name: string): string {
  return `GOSHAWK_${kebab(name).replaceAll('-', '_').toUpperCase()}`;
}

export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Returns the default value; durations are in ms. */
export function defaultOf(spec: OptionSpec): unknown {
  if (spec.type === 'flag') return spec.default ?? (spec.whenUnset === undefined ? false : undefined);
  if (spec.type === 'texts' || spec.type === 'jobs') return [];
  if (spec.type === 'duration')
    return spec.default === undefined ? undefined : parseDuration(spec.default, 'default');
  return 'default' in spec ? spec.default : undefined;
}

function convert(spec: OptionSpec, value: unknown, what: string): unknown {
  if (Array.isArray(value) && spec.type !== 'texts' && spec.type !== 'jobs') {
    // A repeated flag contradicts nothing.
    if (spec.type === 'flag' && value.length > 0 && value.every((each) => each === value[0]))
      return toFlag(value[0], what);
    throw new InputError('bad-option', `${what} is set twice`, 'set it once');
  }
  switch (spec.type) {
    case 'text':
      return toText(spec, value, what);
    case 'texts':
      return (Array.isArray(value) ? value : [value]).map(String);
    case 'job':
      return new JobWord(String(value));
    case 'jobs':
      return jobWords((Array.isArray(value) ? value : [value]).map(String));
    case 'flag':
      return toFlag(value, what);
    case 'duration':
      return parseDuration(String(value), what);
    default:
      return toNumber(spec, value, what);
  }
}

function toText(spec: OptionSpec & { type: 'text' }, value: unknown, what: string): string {
  const text = String(value);
  if (text === '' && !spec.valueOptional) throw new InputError('bad-option', `${what} needs a value`);
  if (spec.choices !== undefined && !spec.choices.includes(text)) {
    throw new InputError('bad-option', `${what}: "${text}" is not one of ${spec.choices.join(', ')}`);
  }
  return text;
}

function toFlag(value: unknown, what: string): boolean {
  if (typeof value === 'boolean') return value;
  if (value === 'true' || value === '1') return true;
  if (value === 'false' || value === '0') return false;
  throw new InputError('bad-option', `${what}: "${String(value)}" is neither true nor false`);
}

function toNumber(spec: OptionSpec & { type: 'count' | 'number' }, value: unknown, what: string): number {
  const text = String(value).trim();
  const none = spec.type === 'count' ? spec.none : undefined;
  if (text === 'none' && none !== undefined) return none;
  // Number() also accepts other notations, such as 0x10.
  const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  const min = spec.min ?? 0;
  const max = spec.max ?? Number.MAX_SAFE_INTEGER;
  const kind = spec.type === 'count' ? 'a whole number' : 'a number';
  // A number such as 1e999 is out of range.
  if (
    Number.isNaN(number) ||
    (spec.type === 'count' && Number.isFinite(number) && !Number.isInteger(number))
  ) {
    throw new InputError(
      'bad-option',
      `${what}: "${text}" is not ${kind}${none === undefined ? '' : ', or none'}`,
    );
  }
  if (number < min || number > max) {
    const range = spec.max === undefined && number < min ? `at least ${min}` : `from ${min} to ${max}`;
    throw new InputError('bad-option', `${what}: ${text} is out of range; it must be ${range}`);
  }
  return number;
}
