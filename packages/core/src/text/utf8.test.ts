import { describe, expect, it } from 'vitest';
import { asName, decodeText, nameProblem, textProblem } from './utf8.js';

it('text with a NUL byte or a lone surrogate cannot be passed on', () => {
  expect(['a\0', '\ud800', 'x\udc00', '🦅', 'é', ''].map(textProblem)).toEqual([
    'a NUL byte cannot be passed to a process',
    'half of a character (a lone surrogate) cannot be passed on',
    'half of a character (a lone surrogate) cannot be passed on',
    undefined,
    undefined,
    undefined,
  ]);
});

describe('a name', () => {
  it.each([
    ['etl', undefined],
    ['nightly run (2)', undefined],
    ['名 🦅', undefined],
    ['__proto__', undefined],
    ['', 'a name needs a visible character'],
    [' ', 'a name needs a visible character'],
    ['\u00a0\u200b\ufeff', 'a name needs a visible character'],
    ['a\nb', 'a name has no line breaks, tabs or other control characters'],
    ['a\0', 'a name has no line breaks, tabs or other control characters'],
    ['\u001b[2J', 'a name has no line breaks, tabs or other control characters'],
    ['a\u2028b', 'a name has no line breaks, tabs or other control characters'],
    [' a', 'a name does not begin or end with a space'],
    ['a\u3000', 'a name does not begin or end with a space'],
    ['a\ud800', 'half of a character (a lone surrogate) cannot be passed on'],
    ['a'.repeat(257), 'a name has at most 256 characters'],
  ])('%j: %s', (name, problem) => {
    expect(nameProblem(name)).toBe(problem);
  });

  it.each([
    [' a\r\n\tb ', 'a b'],
    ['\u001b[1mx', '[1mx'],
    [`${'a'.repeat(255)}🦅`, 'a'.repeat(255)],
    [`${'a'.repeat(255)} b`, 'a'.repeat(255)],
    ['\n\u200b', undefined],
  ])('of a foreign file, %j, is %j', (text, name) => {
    expect(asName(text)).toBe(name);
  });
});

/** Bytes of ASCII texts and single bytes. */
const bytes = (...parts: (string | number)[]) =>
  Uint8Array.from(
    parts.flatMap((part) =>
      typeof part === 'string' ? [...part].map((letter) => letter.charCodeAt(0)) : [part],
    ),
  );

describe('text of a file', () => {
  it('is UTF-8 without a byte order mark', () => {
    const text = bytes(0xef, 0xbb, 0xbf, 0xc3, 0xa9, '\r\n', 0xe5, 0x90, 0x8d);
    expect(decodeText(text, 'a')).toBe('é\r\n名');
  });

  it.each([
    [bytes('ab', 0xff), 1],
    [bytes('a\n\nb', 0xc3, '\n'), 3],
    [bytes(0xed, 0xa0, 0x80), 1],
  ])('that is not UTF-8 is rejected with its line', (given, line) => {
    expect(() => decodeText(given, 'x.json')).toThrow(`x.json: line ${line} is not valid UTF-8`);
  });
});
