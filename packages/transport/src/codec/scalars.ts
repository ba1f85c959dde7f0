/** Checks for values that need no conversion. Each returns the value, or throws a Mismatch. */
import { LIMITS } from '@goshawk/core';
import { Mismatch, mismatch } from './errors.js';

export function countCheck(min: number, max: number): (value: unknown) => unknown {
  return (value) => {
    checkCount(value);
    if ((value as number) > max) mismatch(`at most ${max}`, value);
    if ((value as number) < min) mismatch(`at least ${min}`, value);
    return value;
  };
}

export function checkCount(value: unknown): unknown {
  if (!Number.isSafeInteger(value) || (value as number) < 0) mismatch('a whole number of at least 0', value);
  return value;
}

export function checkInteger(value: unknown): unknown {
  if (!Number.isSafeInteger(value)) mismatch('a whole number', value);
  return value;
}

export function checkNumber(value: unknown): unknown {
  if (typeof value !== 'number' || !(value >= 0 && value <= LIMITS.wireMsMax)) mismatch('a number', value);
  return value;
}

export function checkSigned(value: unknown): unknown {
  checkNumber(typeof value === 'number' ? Math.abs(value) : value);
  return value;
}

/**
 * Replaces negative numbers by 0, because a clock that was set back yields negative durations, and larger ones by the largest:
 * they are sums of numbers that other processes reported.
 */
export function numberInRange(value: unknown): unknown {
  return checkNumber(
    Number.isFinite(value) ? Math.min(Math.max(value as number, 0), LIMITS.wireMsMax) : value,
  );
}

export function checkFlag(value: unknown): unknown {
  if (typeof value !== 'boolean') mismatch('a flag', value);
  return value;
}

export function textCheck(lengthMax: number): (value: unknown) => unknown {
  return (value) => {
    if (typeof value !== 'string') mismatch('text', value);
    if (value.length > lengthMax) throw new Mismatch(`${value.length} characters are more than ${lengthMax}`);
    return value;
  };
}
