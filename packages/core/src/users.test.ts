import { expect, it } from 'vitest';
import { grantOf, parseUsers, projectGrantOf } from './users.js';

it('gives users their weights, and unlisted users the weight of *', () => {
  const grants = parseUsers(
    '{\n  "ann": {"weight": 3},\n  "b\\u0065n": {},\n  "*": {"weight": 0.5}\n}\n',
    'users.json',
  );
  expect(grantOf(grants, 'ann').weight).toBe(3);
  expect(grantOf(grants, 'ben').weight).toBe(1);
  expect(grantOf(grants, 'cleo').weight).toBe(0.5);
  expect(grantOf(parseUsers('{}', 'users.json'), 'cleo').weight).toBe(1);
});

it('gives limits to users and projects, with units', () => {
  const grants = parseUsers(
    `{"ann": {"project": "physics", "running": 10, "waiting": 1000, "runTime": "2h"},
      "@physics": {"weight": 2, "cpus": 64, "memory": "1GiB", "gpus": 0, "journal": 4096, "lapse": true}}`,
    'users.json',
  );
  expect(grantOf(grants, 'ann')).toEqual({
    weight: 1,
    project: 'physics',
    limits: { running: 10, waiting: 1_000, runTime: 7_200_000 },
  });
  expect(projectGrantOf(grants, 'physics')).toEqual({
    weight: 2,
    limits: { cpus: 64, memory: 2 ** 30, gpus: 0, journal: 4_096, lapse: true },
  });
  expect(projectGrantOf(grants, 'chemistry')).toBeUndefined();
  // A user who is named like a project does not get the project's limits.
  expect(grantOf(grants, '@physics')).toEqual({ weight: 1 });
});

it.each([
  ['{"ann": {"running": 1.5}}', 'line 1, column 21: the running of "ann" is not a whole number of tasks'],
  ['{"ann": {"cpus": -1}}', 'line 1, column 18: the cpus of "ann" is not a number of CPUs'],
  ['{"ann": {"memory": "much"}}', 'line 1, column 20: the memory of "ann" is not an amount of memory'],
  ['{"ann": {"runTime": 7}}', 'line 1, column 21: the runTime of "ann" is not a duration with its unit'],
  ['{"ann": {"lapse": "yes"}}', 'line 1, column 19: the lapse of "ann" is not true or false'],
  ['{"@p": {"project": "q"}}', 'line 1, column 9: user "@p" has an unknown setting "project"'],
  ['', 'line 1, column 1: expected an object of users, not the end of the file'],
  ['[]', 'line 1, column 1: expected an object of users, not ['],
  ['{"ann": 3}', 'line 1, column 9: expected an object of settings for "ann", not 3'],
  [
    '{\n  "ann": {"weight": 0}\n}',
    'line 2, column 21: the weight of "ann" is not a number from 0.000001 to 1000000',
  ],
  [
    '{"ann": {"weight": "3"}}',
    'line 1, column 20: the weight of "ann" is not a number from 0.000001 to 1000000',
  ],
  [
    '{"ann": {"weight": -1}}',
    'line 1, column 20: the weight of "ann" is not a number from 0.000001 to 1000000',
  ],
  [
    '{"ann": {"weight": 1e-300}}',
    'line 1, column 20: the weight of "ann" is not a number from 0.000001 to 1000000',
  ],
  ['{"ann": {"wieght": 3}}', 'line 1, column 10: user "ann" has an unknown setting "wieght"'],
  ['{"ann": {"weight": 1, "weight": 2}}', 'line 1, column 23: the weight of "ann" is given twice'],
  ['{"ann": {},\n "ann": {}}', 'line 2, column 2: user "ann" is listed twice'],
  ['{"ann": {},}', 'line 1, column 12: expected a name in double quotes or a number, not }'],
  ['{"ann": {}', 'line 1, column 11: expected a comma or a closing brace, not the end of the file'],
  ['{"": {}}', 'line 1, column 2: "" is not the name of a user: a name needs a visible character'],
  ['{" ann": {}}', 'line 1, column 2: " ann" is not the name of a user: a name does not begin or end with'],
  [
    '{"a\\nb": {}}',
    'line 1, column 2: "a\\nb" is not the name of a user: a name has no line breaks, tabs or',
  ],
  [
    '{"@ ": {}}',
    'line 1, column 2: "@ " is not the name of a user: a name does not begin or end with a space',
  ],
  ['{"ann": {"project": "\\t"}}', 'line 1, column 21: the project of "ann" is not the name of a project'],
  ['{"ann: {}}', 'line 1, column 2: expected a name in double quotes or a number, not "'],
  ['{"ann": {}} x', 'line 1, column 13: nothing may follow the last brace, but x does'],
  ['{ann: {}}', 'line 1, column 2: expected a name in double quotes or a number, not ann'],
])('refuses %j with one line that names the place', (text, problem) => {
  expect(() => parseUsers(text, 'users.json')).toThrow(`users.json: ${problem}`);
});
