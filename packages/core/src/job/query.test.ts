import { expect, it } from 'vitest';
import { parseJobQuery } from './query.js';

const NOW = 1_764_000_000_000;

it.each([
  ['', {}],
  [
    'name:etl* user:ann state:failed since:1h',
    { name: 'etl*', userLike: 'ann', states: ['failed'], since: NOW - 3_600_000 },
  ],
  ['state:active', { states: ['waiting', 'running'] }],
  ['  state:failed,cancelled  etl ', { states: ['failed', 'cancelled'], name: '*etl*' }],
  ['deadline:risk state:active', { deadline: 'risk', states: ['waiting', 'running'] }],
  ['since:2h until:1h', { since: NOW - 7_200_000, until: NOW - 3_600_000 }],
  ['worker:gpu-* exit:137', { worker: 'gpu-*', exit: 137 }],
  ['a1-3', { id: 'a1-3' }],
  ['etl-daily', { name: '*etl-daily*' }],
])('%j asks for %j', (text, query) => {
  expect(parseJobQuery(text, NOW)).toEqual(query);
});

it.each([
  'state:bad',
  'color:red',
  'name:',
  'etl name:x',
  'since:soon',
  'user:a user:b',
  'deadline:soon',
  'until:x',
  'exit:0',
  'exit:256',
  'exit:1e1',
])('%j is an error that shows an example', (text) => {
  expect(() => parseJobQuery(text, NOW)).toThrow(expect.objectContaining({ name: 'InputError' }));
});
