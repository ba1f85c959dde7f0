import fc from 'fast-check';
import { expect, it } from 'vitest';
import { addressOf, PARTS, parseAddress, taskLink, viewOf } from './router.js';

it('an address opens the view that it was made from, for any id and query', () => {
  const texts = fc.string({ unit: 'grapheme', minLength: 1 });
  const queries = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), texts, { noNullPrototype: true });
  fc.assert(
    fc.property(fc.constantFrom(...PARTS.slice(1)), texts, queries, (part, id, query) => {
      const address = parseAddress(addressOf(part, id, query));
      expect([address.part, address.id, Object.fromEntries(address.query)]).toEqual([part, id, query]);
    }),
  );
});

it('an unknown part is the overview, and invalid encoding is shown as it is', () => {
  expect(parseAddress('#/constructor')).toMatchObject({ part: '', id: '' });
  expect(parseAddress('')).toMatchObject({ part: '', id: '' });
  expect(parseAddress('#/policy/100%')).toMatchObject({ part: 'policy', id: '100%' });
  expect(parseAddress(taskLink('a-1', 7)).query.get('task')).toBe('7');
});

it('leaves empty values out', () => {
  expect(addressOf('jobs', '', { q: '', after: undefined, sort: '-name' })).toBe('#/jobs?sort=-name');
  expect(addressOf('', '', { seconds: '300' })).toBe('#/?seconds=300');
});

it('a job is another view than the list, but a worker is in the view of the grid', () => {
  const views = ['#/jobs', '#/jobs?q=x', '#/jobs/a-1', '#/jobs/a-1?task=2', '#/workers', '#/workers/w1'];
  expect(views.map((hash) => viewOf(parseAddress(hash)))).toEqual([
    ...['jobs/', 'jobs/', 'jobs/a-1', 'jobs/a-1', 'workers', 'workers'],
  ]);
});
