import { LIMITS, PRIORITIES, type Priority, type Resources } from '@goshawk/core';
import { quote } from '../quote.js';

/** What is wrong in a line, without its place; `advice` says what would do. */
export class FieldProblem extends Error {
  readonly advice: string;

  constructor(problem: string, advice: string) {
    super(problem);
    this.advice = advice;
  }
}

type JsonObject = Readonly<Record<string, unknown>>;

/** What a value may be, in words and as a check. */
interface Kind<T> {
  readonly accepts: string;
  readonly is: (value: unknown) => value is T;
}

function number(accepts: string, is: (value: number) => boolean): Kind<number> {
  return {
    accepts,
    // A number that is too large for JSON.parse is Infinity.
    is: (value): value is number => typeof value === 'number' && Number.isFinite(value) && is(value),
  };
}

export const SECONDS = number(
  'a number of seconds, zero or more',
  (value) => value >= 0 && value <= LIMITS.durationMaxMs / 1_000,
);
/** A stage that took no time would have no place in a plan. */
export const STAGE_SECONDS = number(
  'a number of seconds above zero',
  (value) => value > 0 && SECONDS.is(value),
);
export const AMOUNT = number('a number, zero or more', (value) => value >= 0 && value <= LIMITS.amountMax);
export const WEIGHT = number(
  `a number above zero, at most ${LIMITS.weightMax}`,
  (value) => value >= 1 / LIMITS.weightMax && value <= LIMITS.weightMax,
);

export const PRIORITY: Kind<Priority> = {
  accepts: `one of ${PRIORITIES.join(', ')}`,
  is: (value): value is Priority => PRIORITIES.includes(value as Priority),
};

export const SLOWDOWN = number(
  `a number from 1 to ${LIMITS.slowdownMax}`,
  (value) => value >= 1 && value <= LIMITS.slowdownMax,
);

export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER): Kind<number> {
  const range = max === Number.MAX_SAFE_INTEGER ? `${min} or more` : `from ${min} to ${max}`;
  return number(
    `a whole number, ${range}`,
    (value) => Number.isSafeInteger(value) && value >= min && value <= max,
  );
}

export const NAME: Kind<string> = {
  accepts: `a text of 1 to ${LIMITS.nameLengthMax} characters`,
  is: (value): value is string =>
    typeof value === 'string' && value.length >= 1 && value.length <= LIMITS.nameLengthMax,
};

export const LIST: Kind<readonly unknown[]> = {
  accepts: 'a list of one at least',
  is: (value): value is readonly unknown[] => Array.isArray(value) && value.length > 0,
};

const OBJECT: Kind<JsonObject> = {
  accepts: 'an object',
  is: (value): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value),
};

/** @param where the field as it is shown in an error: `stages[1].name` */
export function check<T>(value: unknown, kind: Kind<T>, where: string): T {
  if (kind.is(value)) return value;
  if (value === undefined) throw new FieldProblem(`${where} is missing`, `it is ${kind.accepts}`);
  throw new FieldProblem(`${where} is ${quote(JSON.stringify(value))}`, `it is ${kind.accepts}`);
}

/** An object that has no fields but the known ones: a misspelt one would otherwise be lost in silence. */
export function checkObject(value: unknown, known: readonly string[], where: string): JsonObject {
  const object = check(value, OBJECT, where);
  const unknown = Object.keys(object).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw new FieldProblem(`${where} has no field ${quote(unknown)}`, `its fields are ${known.join(', ')}`);
  }
  return object;
}

export function checkDurations(value: unknown, where: string): Float64Array {
  const list = check(value, LIST, where);
  const durations = new Float64Array(list.length);
  for (let i = 0; i < list.length; i++) {
    const duration = list[i];
    durations[i] = SECONDS.is(duration) ? duration : check(duration, SECONDS, `${where}[${i}]`);
  }
  return durations;
}

/** Attributes and their values. */
export function checkAttributes(value: unknown, where: string): Readonly<Record<string, string>> {
  for (const [name, each] of Object.entries(check(value, OBJECT, where))) {
    check(name, NAME, `a name in ${where}`);
    check(each, NAME, `${where}.${name}`);
  }
  return value as Readonly<Record<string, string>>;
}

/** Amounts by resource name. */
export function checkDemand(value: unknown, where: string): Resources {
  const entries = Object.entries(check(value, OBJECT, where));
  if (entries.length > LIMITS.resourcesMax) {
    throw new FieldProblem(
      `${where} has ${entries.length} resources`,
      `at most ${LIMITS.resourcesMax} will do`,
    );
  }
  for (const [name, amount] of entries) {
    check(name, NAME, `a name in ${where}`);
    check(amount, AMOUNT, `${where}.${name}`);
  }
  return Object.fromEntries(entries) as Resources;
}
