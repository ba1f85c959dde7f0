import { expect, test } from 'vitest';
import { checkFile } from './check.js';

const QUEUES = { J: 2, Q: [3, 0, 1, 0], weights: [3, 2, 0, 0], index: 0, config: [1, 0, 0, 0], weight: 3 };

test('a case that holds, and one that does not', () => {
  const cases = [QUEUES, { ...QUEUES, index: 1 }];
  const lines = checkFile('max-weight.json', JSON.stringify({ cases }));
  expect(lines.map(({ file, policy, ok }) => ({ file, policy, ok }))).toEqual([
    { file: 'max-weight.json', policy: 'packing', ok: true },
    { file: 'max-weight.json', policy: 'packing', ok: false },
  ]);
});

test('names the file that is no case', () => {
  expect(() => checkFile('x.json', '[1')).toThrow(/^x\.json: /);
  expect(() => checkFile('x.json', '[1]')).toThrow('x.json: not a JSON object');
  expect(() => checkFile('x.json', '{"cases": []}')).toThrow('x.json: no kind of cases has these fields');
});
