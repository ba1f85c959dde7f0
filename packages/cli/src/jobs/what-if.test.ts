import { painter } from '@goshawk/command';
import { expect, it } from 'vitest';
import { parseChange, whatIfPage } from './what-if.js';

it('parses single and combined changes', () => {
  expect(parseChange('workers=+10')).toEqual({ workers: 10 });
  expect(parseChange('workers=-2, priority=high')).toEqual({ workers: -2, priority: 'high' });
  expect(parseChange('policy=hawk')).toEqual({ policy: 'hawk' });
});

it.each(['', 'workers', 'workers=many', 'priority=urgent', 'policy=', 'color=red'])(
  'refuses "%s" as a change',
  (text) => expect(() => parseChange(text)).toThrow('is not a change'),
);

it('shows times beyond the simulation as not predicted, and lists assumptions', () => {
  const none = { workers: null, priority: null, policy: null };
  const text = whatIfPage(
    ['workers=+10'],
    {
      schema: 'goshawk.job-whatif/1',
      job: 'a-1',
      now: { startSeconds: null, endSeconds: null },
      changes: [{ change: { ...none, workers: 10 }, startSeconds: 40, endSeconds: 61.5 }],
      assumptions: ['no other job arrives'],
    },
    painter({ color: false }),
  );
  expect(text).toBe(
    [
      'change           starts in        ends in',
      'none         not predicted  not predicted',
      'workers=+10           40 s      1 min 2 s',
      '',
      'assumed: no other job arrives',
    ].join('\n'),
  );
});
