import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitLines, textOf } from './shares.js';

const bytes = (text: string) => Buffer.from(text);

describe('lines of a file', () => {
  it('concatenate to the file, and each except the last ends with its only newline', () => {
    const file = fc.array(fc.oneof(fc.constant(0x0a), fc.nat(255)), { maxLength: 200 });
    fc.assert(
      fc.property(file, (content) => {
        const lines = splitLines(Uint8Array.from(content));
        expect([...Buffer.concat(lines)]).toEqual(content);
        lines.forEach((line, index) => {
          expect(line.length).toBeGreaterThan(0);
          const newline = line.indexOf(0x0a);
          expect(newline === line.length - 1 || (newline === -1 && index === lines.length - 1)).toBe(true);
        });
      }),
    );
  });

  it('of an empty file are none', () => {
    expect(splitLines(new Uint8Array())).toEqual([]);
  });
});

describe('text of a line', () => {
  it.each([
    ['plain\n', 'plain'],
    ['no newline', 'no newline'],
    ['\n', ''],
    ['dos\r\n', 'dos'],
    ['r\r\r\n', 'r\r'],
    ['no newline\r', 'no newline\r'],
    ['\u{feff}mark\n', '\u{feff}mark'],
    ['ä "q" \'s\' $HOME \\n `x`\n', 'ä "q" \'s\' $HOME \\n `x`'],
  ])('%j is %j', (line, text) => {
    expect(textOf(bytes(line))).toEqual({ text });
  });

  it('is missing if the bytes are not UTF-8, or cannot be passed to a process', () => {
    expect(textOf(Uint8Array.of(0x66, 0xff, 0x0a))).toEqual({ problem: 'is not valid UTF-8' });
    expect(textOf(bytes('a\0b\n'))).toEqual({ problem: 'contains a NUL byte' });
  });
});
