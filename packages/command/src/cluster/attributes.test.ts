import { expect, it } from 'vitest';
import { parseAttributes } from './attributes.js';

it('several values are assigned to workers round-robin', () => {
  const attributesOf = parseAttributes(['rack=r1,r2,r3', 'zone=a']);
  const zone = { name: 'zone', value: 'a' };
  expect([0, 2, 4].map(attributesOf)).toEqual([
    [{ name: 'rack', value: 'r1' }, zone],
    [{ name: 'rack', value: 'r3' }, zone],
    [{ name: 'rack', value: 'r2' }, zone],
  ]);
  expect(parseAttributes([])(7)).toEqual([]);
});

it.each([['rack'], ['=r1'], ['rack='], ['rack=r1,,r2']])('%s is rejected', (text) => {
  expect(() => parseAttributes([text])).toThrow(/is not NAME=VALUE/);
});

it.each([
  ['rack=r1, r2', '" r2" is not valid: it does not begin or end with a space'],
  ['rack=\u00a0', '"\u00a0" is not valid: it needs a visible character'],
  ['ra\tck=r1', '"ra\\tck" is not valid: it has no line breaks, tabs'],
  [`rack=${'r'.repeat(257)}`, 'is not valid: it has at most 256 characters'],
])('%j is rejected', (text, problem) => {
  expect(() => parseAttributes([text])).toThrow(problem);
});

it('a repeated attribute is rejected', () => {
  expect(() => parseAttributes(['rack=r1', 'rack=r2'])).toThrow(/names rack twice/);
});
