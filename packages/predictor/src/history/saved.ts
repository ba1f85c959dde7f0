import { InputError } from '@goshawk/core';
import { notSavedBy } from '../stateless.js';
import { type ExpertSettings, GUESSES, type SavedRuns } from './experts.js';

/** Name and version of the saved format. The version identifies histories saved by other versions. */
export const SCHEMA = 'goshawk.history/1';

export interface SavedHistory {
  readonly schema: typeof SCHEMA;
  /** Least recently used first. */
  readonly values: readonly (readonly [key: number, runs: SavedRuns])[];
}

const NAME = 'goshawk.history/';
const BIN_NUMBERS = 4;
const SPREAD_NUMBERS = 2;
const VERSION = Number(SCHEMA.slice(NAME.length));

/**
 * Validates history read from a disk.
 * @throws InputError, with a one-line message, if it is not a history, is damaged, or has a newer version
 */
export function readSavedHistory(saved: unknown): SavedHistory {
  const { schema, values } = (saved ?? {}) as Partial<Record<keyof SavedHistory, unknown>>;
  if (typeof schema !== 'string' || !schema.startsWith(NAME)) throw notSavedBy('history');
  const version = Number(schema.slice(NAME.length));
  if (version > VERSION) {
    throw new InputError(
      'newer-history',
      `the history was saved by a newer version (${schema}; this one reads ${SCHEMA})`,
      'run the newer version, or move the file away to start without a history',
    );
  }
  const damaged = !Array.isArray(values) || !values.every(isValue);
  if (version !== VERSION || damaged) {
    throw new InputError(
      'bad-history',
      'the saved history is damaged',
      'move the file away to start without one',
    );
  }
  return { schema: SCHEMA, values };
}

function isValue(value: unknown): value is [number, SavedRuns] {
  if (!Array.isArray(value) || value.length !== 2 || !Number.isSafeInteger(value[0])) return false;
  const { bins, recent, total, rolling, scored, actual, errors, logErrors, spread } = (value[1] ??
    {}) as Partial<SavedRuns>;
  return (
    Array.isArray(bins) &&
    bins.length > 0 &&
    bins.every(isBin) &&
    areNumbers(recent) &&
    recent.length > 0 &&
    areNumbers([total, rolling, scored, actual]) &&
    areNumbers(errors, GUESSES.length) &&
    areNumbers(logErrors, GUESSES.length) &&
    areNumbers(spread, SPREAD_NUMBERS)
  );
}

function isBin(bin: unknown): boolean {
  return Number.isFinite(bin) || areNumbers(bin, BIN_NUMBERS);
}

function areNumbers(values: unknown, count?: number): values is number[] {
  return (
    Array.isArray(values) && values.every(Number.isFinite) && (count === undefined || values.length === count)
  );
}

/** Maximum length of a number in JSON, including a comma. */
const NUMBER_CHARACTERS = 25;
/** Characters of the field names, brackets and quotes of a value. */
const VALUE_CHARACTERS = 200;
/** Characters of the brackets and comma of a bin. */
const BIN_BRACKETS = 3;

/** Returns an upper bound of the length of the JSON of a history with these settings. */
export function savedCharactersMax({
  valuesMax,
  binsMax,
  medianOf,
}: Pick<ExpertSettings, 'binsMax' | 'medianOf'> & { readonly valuesMax: number }): number {
  const numbers = binsMax * BIN_NUMBERS + medianOf + 2 * GUESSES.length + SPREAD_NUMBERS + 5;
  const value = binsMax * BIN_BRACKETS + numbers * NUMBER_CHARACTERS + VALUE_CHARACTERS;
  return valuesMax * value + VALUE_CHARACTERS;
}
