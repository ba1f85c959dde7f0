import { expect, test } from 'vitest';
import { jsonLoss, parseExactJson } from './json-loss.js';

test.each([
  ['{"id": 9007199254740993}', 'id: 9007199254740993 would become 9007199254740992, because'],
  ['[-123456789012345678901]', '[0]: -123456789012345678901 would become -123456789012345680000'],
  ['{"a": "1e999 \\\\", "b": {"c": [0, 1e999]}}', 'b.c[1]: 1e999 is too large for a number'],
  [`[${'9'.repeat(400)}.5]`, `[0]: ${'9'.repeat(40)}… is too large for a number`],
  ['1e999', '1e999 is too large for a number'],
  ['{"name": "a", "name": "b"}', 'name: the field appears twice'],
  [
    '{"stages": [{"name": "a"}, {"name": "b", "tasks": [{"sleep": 1, "sleep": 1}]}]}',
    'stages[1].tasks[0].sleep: ',
  ],
  ['{"a": 1, "\\u0061": 2}', 'a: the field appears twice'],
  ['{"a": {"__proto__": 1, "__proto__": 2}}', 'a.__proto__: the field appears twice'],
])('of %s, parsing loses a part: %s', (text, message) => {
  expect(jsonLoss(text, JSON.parse(text))?.message).toContain(message);
  expect(() => parseExactJson(text, { code: 'bad-job', name: 'a.json', hint: '' })).toThrow(
    `a.json: ${message}`,
  );
});

test.each([
  ['', 'a.json: it is empty'],
  [' \r\n', 'a.json: it is empty'],
  [`${'['.repeat(200_000)}${']'.repeat(200_000)}`, 'a.json: it is nested deeper than 1,000 levels'],
])('other text is refused', (text, message) => {
  expect(() => parseExactJson(text, { code: 'bad-job', name: 'a.json', hint: '' })).toThrow(message);
});

test.each([
  '[9007199254740992, 1e22, 10000000000000000000000, 0.1, 3.14159265358979323846, 1e-400, -0]',
  '{"9007199254740993": "9007199254740993 \\" 9007199254740993"}',
  '{"a:b": "c:\\"d\\":", "__proto__": {"a:b": [{"x": 1}, {"x": 1}, ":"]}, "": {"": ":"}}',
  '"a:b"',
  '[]',
])('of %s, parsing loses nothing', (text) => {
  expect(jsonLoss(text, JSON.parse(text))).toBeUndefined();
});
