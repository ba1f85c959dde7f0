import { InputError } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { parseNetwork } from './index.js';

const PHASE = {
  fromMs: 0,
  messages: [{ type: 'steal', sameProcess: false, ms: [0.1, 0.2] }],
  sleepLateMs: [0.5],
  timerLateMs: [],
  submissionMs: [],
  newsMs: [],
};
const PROFILE = { schema: 'goshawk.delays/1', workersPerProcess: 25, phases: [PHASE] };

const parse = (text: string, file: unknown = PROFILE) =>
  parseNetwork(text, '--network-delay', () => (typeof file === 'string' ? file : JSON.stringify(file)));

/** Returns the error message for a text, or a file. */
function problem(text: string, file?: unknown): string {
  try {
    parse(text, file);
  } catch (error) {
    expect(error).toBeInstanceOf(InputError);
    return (error as InputError).message;
  }
  throw new Error(`${text} was taken`);
}

describe('the text forms of a network', () => {
  test('a duration is constant', () => {
    expect(parse('0.5ms')).toEqual({ kind: 'constant', delayMs: 0.5 });
    expect(parse(' 0.1s ')).toEqual({ kind: 'constant', delayMs: 100 });
  });

  test('a delay too long for parties to find each other before the first job is refused', () => {
    expect(problem('557ms')).toBe('--network-delay: a message takes 100 ms at most, not 557 ms');
    expect(problem('normal:2s,1ms')).toContain('100 ms at most');
  });

  test('normal takes mean, deviation, and optionally the minimum', () => {
    expect(parse('normal:0.5ms,0.1ms')).toEqual({
      kind: 'normal',
      meanMs: 0.5,
      deviationMs: 0.1,
      leastMs: 0,
    });
    expect(parse('normal:2ms, 500us, 1ms')).toEqual({
      kind: 'normal',
      meanMs: 2,
      deviationMs: 0.5,
      leastMs: 1,
    });
  });

  test('measured reads the file that it names, even with colons', () => {
    const read: string[] = [];
    const model = parseNetwork('measured:C:/a b.json', '--network-delay', (path) => {
      read.push(path);
      return JSON.stringify(PROFILE);
    });
    expect(read).toEqual(['C:/a b.json']);
    expect(model).toEqual({ kind: 'measured', profile: PROFILE });
  });
});

describe('errors are one line', () => {
  test.each([
    ['fast', '--network-delay: "fast" is not a duration'],
    ['5', '--network-delay: "5" is not a duration'],
    ['poisson:1ms', '--network-delay: there is no network "poisson"'],
    ['normal:1ms', '--network-delay: normal takes a mean and a deviation, not "1ms"'],
    ['normal:1ms,1ms,1ms,1ms', '--network-delay: normal takes a mean and a deviation, not "1ms,1ms,1ms,1ms"'],
    ['normal:1ms,x', '--network-delay: "x" is not a duration'],
    ['normal:1ms,1ms,2ms', '--network-delay: the least delay, 2 ms, is above the mean, 1 ms'],
  ])('%s', (text, message) => {
    expect(problem(text)).toBe(message);
  });

  const [steal] = PHASE.messages;
  const withPhase = (changes: object) => ({ ...PROFILE, phases: [{ ...PHASE, ...changes }] });
  const withMessage = (changes: object) => withPhase({ messages: [steal, { ...steal, ...changes }] });
  test.each<[name: string, file: unknown, message: string]>([
    ['no JSON', '{', 'not JSON: '],
    ['a list', [], 'not an object'],
    ['no schema', {}, 'schema is missing, not "goshawk.delays/1"'],
    ['another schema', { ...PROFILE, schema: 'x/2' }, 'schema is "x/2", not "goshawk.delays/1"'],
    ['no workers', { ...PROFILE, workersPerProcess: 0 }, 'workersPerProcess is not a whole number above 0'],
    ['no phases', { ...PROFILE, phases: [] }, 'phases is not a list of phases'],
    ['a phase that is none', { ...PROFILE, phases: [7] }, 'phases[0] is not an object'],
    ['a phase of no time', withPhase({ fromMs: null }), 'phases[0].fromMs is not a time'],
    ['no phase at the beginning', withPhase({ fromMs: 5 }), 'phases[0].fromMs is 5, not 0'],
    [
      'phases that overlap',
      { ...PROFILE, phases: [PHASE, PHASE] },
      'phases[1].fromMs, 0, is not after that of the phase before',
    ],
    ['no messages', withPhase({ messages: [] }), 'no phase has messages'],
    ['messages that are no list', withPhase({ messages: {} }), 'phases[0].messages is not a list'],
    ['a message that is none', withPhase({ messages: [7] }), 'phases[0].messages[0] is not an object'],
    ['an unknown message', withMessage({ type: 'rob' }), '.messages[1].type: no message is called "rob"'],
    [
      'no word of processes',
      withMessage({ sameProcess: 1 }),
      '.messages[1].sameProcess is neither true nor false',
    ],
    ['nothing measured', withMessage({ ms: [] }), '.messages[1].ms is empty'],
    ['text for a number', withMessage({ ms: ['1'] }), '.messages[1].ms holds "1", which is not a time'],
    ['a negative time', withPhase({ newsMs: [-1] }), 'phases[0].newsMs holds -1, which is not a time'],
    ['disorder', withPhase({ timerLateMs: [2, 1] }), '.timerLateMs is not in ascending order: 1 after 2'],
    ['a list left out', withPhase({ sleepLateMs: undefined }), '.sleepLateMs is not a list of numbers'],
  ])('a file with %s', (_, file, message) => {
    expect(problem('measured:d.json', file)).toMatch(/^d\.json: /);
    expect(problem('measured:d.json', file)).toContain(message);
  });
});
