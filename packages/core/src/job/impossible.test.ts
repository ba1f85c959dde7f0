import { expect, test } from 'vitest';
import type { Member } from '../fields/records.js';
import { type PolicyName, PRESETS } from '../policy/presets.js';
import { DEFAULT_POLICY } from '../policy/settings.js';
import { whyImpossible } from './impossible.js';
import { parseJobSpec } from './parse.js';

/** Workers with two CPUs each, in these racks. */
function inRacks(...racks: readonly string[]): Parameters<typeof whyImpossible>[2] {
  const members = racks.map(
    (rack) =>
      ({
        slots: 2,
        capacity: { cpu: 2 },
        partition: 'general',
        attributes: [{ name: 'rack', value: rack }],
      }) as unknown as Member,
  );
  return {
    size: members.length,
    all: () => members,
    memoized: (_, compute) => compute(),
    reachableScope: (scope) => scope,
  };
}

function whyNot(policy: PolicyName, tasks: number, gang: boolean, racks: readonly string[]) {
  const spec = parseJobSpec({
    gang,
    require: { rack: 'spread:1' },
    tasks: { count: tasks, run: { sleep: 1 } },
  });
  return whyImpossible(spec, { ...DEFAULT_POLICY, policy, preset: PRESETS[policy] }, inRacks(...racks))
    ?.message;
}

test('a gang must fit with its tasks as far apart as it requires', () => {
  expect(whyNot('goshawk', 2, true, ['r1', 'r1', 'r2'])).toBeUndefined();
  expect(whyNot('goshawk', 3, true, ['r1', 'r1', 'r2'])).toBe(
    'the 3 tasks of the gang start together, and the cluster has room for 2 of them',
  );
  expect(whyNot('goshawk', 3, false, ['r1', 'r1', 'r2'])).toBeUndefined();
});

test.each(['hawk', 'sparrow', 'split', 'central'] as const)('%s does not spread tasks', (policy) => {
  expect(whyNot(policy, 3, false, ['r1'])).toBe(`policy ${policy} does not spread the tasks of a job`);
});

test.each(['spread:', 'spread:0', 'spread:-1', 'spread:x', 'spread:1,2'])('%s is no requirement', (rack) => {
  const job = { tasks: [{ sleep: 1 }], require: { rack } };
  expect(() => parseJobSpec(job)).toThrow('has no number of tasks from 1; for example spread:2');
});

test('a job does not spread over an attribute that it only prefers', () => {
  const job = { tasks: [{ sleep: 1 }], prefer: { rack: 'spread:1' } };
  expect(() => parseJobSpec(job)).toThrow('a job spreads over attributes that it requires');
});
