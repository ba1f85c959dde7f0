import { describe, expect, it } from 'vitest';
import { decodeText } from './text.js';

const bytes = (...parts: (string | number)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))));

describe('text of a file', () => {
  it('is UTF-8 without a byte order mark', () => {
    expect(decodeText(bytes('\ufeffé\r\n名'), 'a')).toBe('é\r\n名');
  });

  it.each([
    [bytes('ab', 0xff), 1],
    [bytes('a\n\nb', 0xc3, '\n'), 3],
    [bytes(0xed, 0xa0, 0x80), 1],
  ])('that is not UTF-8 is rejected with its line', (given, line) => {
    expect(() => decodeText(given, 'x.json')).toThrow(`x.json: line ${line} is not valid UTF-8`);
  });
});
