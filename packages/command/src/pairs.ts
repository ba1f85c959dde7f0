import { InputError } from '@goshawk/core';

/** An option of `NAME=VALUE`. */
interface PairOption {
  readonly option: `--${string}`;
  /** Expected form in errors. Default: `NAME=VALUE`. */
  readonly form?: string;
  /** Remedy for errors. */
  readonly hint: string;
  readonly isGood?: (value: string) => boolean;
}

/** Splits `NAME=VALUE` at the first `=`. @throws InputError if the text is not a name with a valid value */
function pairIn(text: string, of: PairOption): [name: string, value: string] {
  const { option, form = 'NAME=VALUE', hint, isGood = () => true } = of;
  const equals = text.indexOf('=');
  const [name, value] = [text.slice(0, equals).trim(), text.slice(equals + 1)];
  if (equals > 0 && name !== '' && isGood(value)) return [name, value];
  throw new InputError('bad-option', `${option}: "${text}" is not ${form}`, hint);
}

/**
 * Parses pairs by name. Returns a Map, because users may choose names such as `constructor`.
 *
 * @throws InputError for an invalid pair, and for a repeated name, whose value would be ambiguous
 */
export function pairsIn(texts: readonly string[], of: PairOption): Map<string, string> {
  const found = new Map<string, string>();
  for (const text of texts) {
    const [name, value] = pairIn(text, of);
    if (found.has(name)) throw new InputError('bad-option', `${of.option} names ${name} twice`, of.hint);
    found.set(name, value);
  }
  return found;
}

/** Parses pairs with one or several values per name: `rack=r1,r2`. */
export function valueListsIn(
  texts: readonly string[],
  of: Omit<PairOption, 'isGood'>,
): Map<string, string[]> {
  const isGood = (values: string): boolean => values.split(',').every((value) => value !== '');
  const pairs = pairsIn(texts, { ...of, isGood });
  return new Map([...pairs].map(([name, values]) => [name, values.split(',')]));
}
