import { describe, expect, it } from 'vitest';
import { parseArray } from './array.js';

describe('--array', () => {
  it.each([
    ['5', [5]],
    ['1-4', [1, 2, 3, 4]],
    ['0-10:5', [0, 5, 10]],
    ['1-10:4', [1, 5, 9]],
    ['1,3,7-9', [1, 3, 7, 8, 9]],
    [' 3 , 1-2 ', [3, 1, 2]],
    ['2,2', [2, 2]],
  ])('%s is %j', (text, values) => {
    expect(parseArray(text).map(Number)).toEqual(values);
  });

  it.each([
    ['007-009', '007 008 009'],
    ['08-12:2', '08 10 12'],
    ['8-010', '008 009 010'],
    ['0-10:5,07,7', '0 5 10 07 7'],
  ])('%s keeps leading zeros: %s', (text, values) => {
    expect(parseArray(text).join(' ')).toBe(values);
  });

  it.each([
    ['', '--array: "" is not a range of whole numbers'],
    ['1-', '--array: "1-" is not a range'],
    ['1,,2', '"" in "1,,2" is not a range'],
    ['-1', 'is not a range'],
    ['1.5', 'is not a range'],
    ['1-3:-1', 'is not a range'],
    ['9-1', '9-1 ends before it begins'],
    ['1-9:0', 'the step of 1-9:0 is 0'],
    ['0-999999999999', 'has 1000000000000 values; a job has at most'],
  ])('%j is rejected: %s', (text, message) => {
    expect(() => parseArray(text)).toThrow(message);
  });

  it('names the option for the limit of running tasks that Slurm writes as %3', () => {
    expect(() => parseArray('1-10%3')).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('--max-running') }),
    );
  });
});
