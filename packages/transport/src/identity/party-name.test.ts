import { describe, expect, test } from 'vitest';
import { InvalidPartyNameError } from '../errors.js';
import { isClientEndpoint, parsePartyName, parseProcessName, partyName, processName } from './party-name.js';

describe('party names', () => {
  test.each([
    ['tcp://127.0.0.1:7000', 'V1StGXR8_Z5jdHi6B-myT', 0],
    ['tcp://[::1]:7000', 'a', 65_535],
    ['client:9dKqv3', 'y', 1],
    ['tcp://central:7000', '*', 0],
  ])('%s, %s, %i: a name survives formatting and parsing', (endpoint, incarnation, index) => {
    const process = processName(endpoint, incarnation);
    expect(parsePartyName(partyName(process, index))).toStrictEqual({ process, index });
    expect(parseProcessName(process)).toStrictEqual({ endpoint, incarnation });
  });

  test.each([
    '',
    '/',
    '!',
    'tcp://a:1',
    'tcp://a:1!x',
    'tcp://a:1!x/',
    'tcp://a:1!x/-1',
    'tcp://a:1!x/1.5',
    'tcp://a:1!x/01',
    'tcp://a:1!x/65536',
    'tcp://a:1!x/1e2',
    'tcp://a:1!/1',
    '!x/1',
    'tcp://a:1!x y/1',
    `tcp://${'a'.repeat(300)}:1!x/1`,
  ])('%j names no party', (name) => {
    expect(() => parsePartyName(name)).toThrow(InvalidPartyNameError);
  });

  test('a client is distinguished from a listening process', () => {
    expect(isClientEndpoint('client:abc')).toBe(true);
    expect(isClientEndpoint('tcp://client:7000')).toBe(false);
  });
});
