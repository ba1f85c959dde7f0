import { InputError, type Millis, parseDuration, parseExactJson } from '@goshawk/core';
import type { NetworkModel, NormalNetwork } from './contract.js';
import { checkProfile } from './profile.js';

/**
 * Parses a network. Its forms:
 *
 *     0.5ms                      every message takes the same
 *     normal:0.5ms,0.1ms         normally distributed: mean, deviation, never below 0
 *     normal:0.5ms,0.1ms,0.3ms   the same, never below 0.3 ms
 *     measured:FILE.json         as it was measured, see `MeasuredProfile`
 *
 * @param what names the setting in errors, e.g. `--network-delay`
 * @param readFile returns the text of a file; its errors are passed on
 * @throws InputError that says in one line what is wrong
 */
export function parseNetwork(text: string, what: string, readFile: (path: string) => string): NetworkModel {
  const [, kind, rest] = /^([a-z]+):(.*)$/s.exec(text.trim()) ?? [];
  switch (kind) {
    case undefined:
      return { kind: 'constant', delayMs: checkedMs(parseDuration(text, what), what) };
    case 'normal':
      return parseNormal(rest!, what);
    case 'measured':
      return { kind: 'measured', profile: checkProfile(parsed(readFile(rest!), rest!), rest!) };
    default:
      throw new InputError('bad-network', `${what}: there is no network "${kind}"`, FORMS);
  }
}

function parseNormal(text: string, what: string): NormalNetwork {
  const parts = text.split(',').map((part) => parseDuration(part, what));
  const [meanMs, deviationMs, leastMs = 0] = parts;
  if (meanMs === undefined || deviationMs === undefined || parts.length > 3) {
    throw new InputError('bad-network', `${what}: normal takes a mean and a deviation, not "${text}"`, FORMS);
  }
  if (leastMs > meanMs) {
    throw new InputError(
      'bad-network',
      `${what}: the least delay, ${leastMs} ms, is above the mean, ${meanMs} ms`,
      FORMS,
    );
  }
  return { kind: 'normal', meanMs: checkedMs(meanMs, what), deviationMs, leastMs };
}

/** Checks a delay; the parties of a simulation have one second to find each other. */
function checkedMs(delayMs: Millis, what: string): Millis {
  if (delayMs <= DELAY_MS_MAX) return delayMs;
  throw new InputError(
    'bad-network',
    `${what}: a message takes ${DELAY_MS_MAX} ms at most, not ${delayMs} ms`,
  );
}

function parsed(text: string, file: string): unknown {
  return parseExactJson(text, { code: 'bad-delays', name: file, hint: '' });
}

const DELAY_MS_MAX = 100;

const FORMS = 'write 0.5ms, normal:0.5ms,0.1ms (mean, deviation, optionally minimum) or measured:FILE.json';
