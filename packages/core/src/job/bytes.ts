import { InputError, quoted } from '../errors.js';
import { LIMITS } from '../limits.js';

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1e3,
  kb: 1e3,
  m: 1e6,
  mb: 1e6,
  g: 1e9,
  gb: 1e9,
  t: 1e12,
  tb: 1e12,
  ki: 1024,
  kib: 1024,
  mi: 1024 ** 2,
  mib: 1024 ** 2,
  gi: 1024 ** 3,
  gib: 1024 ** 3,
  ti: 1024 ** 4,
  tib: 1024 ** 4,
};

/**
 * Parses `1GiB`, `512M`, `2e9` or `1024` to a number of bytes (or of plain units: `4` cores).
 *
 * @throws InputError if the text is not an amount or is more than `LIMITS.amountMax`
 */
export function parseBytes(text: string, what: string): number {
  // The regular expression is quadratic in the number of spaces, so long texts are rejected first.
  const match =
    text.length > LIMITS.quantityLengthMax ? null : /^\s*(\d+(?:\.\d+)?(?:e\d+)?)\s*([a-z]*)\s*$/i.exec(text);
  const unit = match === null ? undefined : match[2]!.toLowerCase();
  if (match === null || unit === undefined || !Object.hasOwn(UNITS, unit)) {
    throw new InputError(
      'bad-amount',
      `${what}: ${quoted(text)} is not an amount`,
      'write a number, with a unit for memory, such as 512MiB or 1GiB',
    );
  }
  const amount = Number(match[1]) * UNITS[unit]!;
  if (amount <= LIMITS.amountMax) return amount;
  throw new InputError('bad-amount', `${what}: ${quoted(text)} is more than ${LIMITS.amountMax}`);
}
