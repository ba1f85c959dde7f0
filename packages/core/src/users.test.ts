import { expect, it } from 'vitest';
import { grantOf, parseUsers } from './users.js';

it('gives users their weights, and those who are not listed the weight of *', () => {
  const grants = parseUsers(
    '{\n  "ann": {"weight": 3},\n  "b\\u0065n": {},\n  "*": {"weight": 0.5}\n}\n',
    'users.json',
  );
  expect(grantOf(grants, 'ann').weight).toBe(3);
  expect(grantOf(grants, 'ben').weight).toBe(1);
  expect(grantOf(grants, 'cleo').weight).toBe(0.5);
  expect(grantOf(parseUsers('{}', 'users.json'), 'cleo').weight).toBe(1);
});

it.each([
  ['', 'line 1, column 1: expected an object of users, not the end of the file'],
  ['[]', 'line 1, column 1: expected an object of users, not ['],
  ['{"ann": 3}', 'line 1, column 9: expected an object of settings for "ann", not 3'],
  [
    '{\n  "ann": {"weight": 0}\n}',
    'line 2, column 21: the weight of "ann" is not a number above 0 and up to 1000000',
  ],
  [
    '{"ann": {"weight": "3"}}',
    'line 1, column 20: the weight of "ann" is not a number above 0 and up to 1000000',
  ],
  [
    '{"ann": {"weight": -1}}',
    'line 1, column 20: the weight of "ann" is not a number above 0 and up to 1000000',
  ],
  ['{"ann": {"wieght": 3}}', 'line 1, column 10: user "ann" has an unknown setting "wieght"'],
  ['{"ann": {"weight": 1, "weight": 2}}', 'line 1, column 23: the weight of "ann" is given twice'],
  ['{"ann": {},\n "ann": {}}', 'line 2, column 2: user "ann" is listed twice'],
  ['{"ann": {},}', 'line 1, column 12: expected a name in double quotes or a number, not }'],
  ['{"ann": {}', 'line 1, column 11: expected a comma or a closing brace, not the end of the file'],
  ['{"": {}}', 'line 1, column 2: the name of a user has 1 to'],
  ['{"ann: {}}', 'line 1, column 2: expected a name in double quotes or a number, not "'],
  ['{"ann": {}} x', 'line 1, column 13: nothing may follow the last brace, but x does'],
  ['{ann: {}}', 'line 1, column 2: expected a name in double quotes or a number, not ann'],
])('refuses %j with one line that says where', (text, problem) => {
  expect(() => parseUsers(text, 'users.json')).toThrow(`users.json: ${problem}`);
});
