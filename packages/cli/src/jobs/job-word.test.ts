import { JobWord } from '@goshawk/command';
import { expect, it } from 'vitest';

it.each([
  ['a-3', undefined, undefined],
  ['a-3/7', [{ first: 7, last: 7 }], undefined],
  [
    'a-3/7-20,31',
    [
      { first: 7, last: 20 },
      { first: 31, last: 31 },
    ],
    undefined,
  ],
  ['a-3/train', undefined, 'train'],
  ['a-3/train/3-5', [{ first: 3, last: 5 }], 'train'],
  ['a-3/x/y/3-5', [{ first: 3, last: 5 }], 'x/y'],
  ['a-3/x/y', undefined, 'x/y'],
  ['a-3/2/0-9', [{ first: 0, last: 9 }], '2'],
])('%s', (word, tasks, stage) => {
  expect(new JobWord(word).named).toEqual({ tasks, stage });
});

it.each(['/3', 'a-3/', 'a-3/9-7', 'a-3/1,,2'])('%s names no tasks', (word) => {
  expect(() => new JobWord(word).named).toThrow(/is not a job or task|does not name any tasks/);
});
