import {
  type Address,
  DEFAULT_POLICY,
  type JobInput,
  type Member,
  type PolicySettings,
  PRESETS,
  parseJobSpec,
  whyImpossible,
} from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { unmetRequirements } from './admission.js';
import { Members } from './members.js';

const GANGS: PolicySettings = { ...DEFAULT_POLICY, preset: { ...DEFAULT_POLICY.preset, gangs: 'all' } };

function worker(address: number, fields: Partial<Member> = {}): Member {
  const at = { address: address as Address, name: `w${address}`, row: address };
  return { ...at, slots: 2, capacity: {}, partition: 'general', draining: false, attributes: [], ...fields };
}

function membersOf(workers: readonly Member[]): Members {
  const members = new Members();
  if (workers.length > 0) {
    const who = { left: [], owners: [], ownersVersion: 0, silentMs: undefined };
    members.apply({ type: 'members', version: 1, since: 0, changed: [...workers], ...who });
  }
  return members;
}

function why(job: JobInput, workers: readonly Member[], policy = GANGS) {
  return whyImpossible(parseJobSpec(job), policy, membersOf(workers))?.message;
}

const tasks = (count: number) => ({ count, run: { sleep: 1 } });

describe('a gang', () => {
  test('fits if its tasks have room together, draining workers included', () => {
    const two = [worker(1), worker(2, { draining: true })];
    expect(why({ tasks: tasks(4) }, two)).toBeUndefined();
    expect(why({ tasks: tasks(5) }, two)).toBe(
      'the 5 tasks of the gang start together, and the cluster has room for 4 of them',
    );
  });

  test('has no more room at a worker than its demand leaves there', () => {
    const workers = [worker(1, { capacity: { gpu: 1 } }), worker(2)];
    expect(why({ tasks: tasks(1), demand: { gpu: 1 } }, workers)).toBeUndefined();
    expect(why({ tasks: tasks(2), demand: { gpu: 1 } }, workers)).toMatch(/room for 1 of them/);
  });

  test('is checked per stage', () => {
    const stages = ['a', 'b'].map((name) => ({ name, tasks: tasks(2) }));
    expect(why({ stages }, [worker(1)])).toBeUndefined();
  });

  test('is not checked if tasks start one by one, or no worker is known', () => {
    expect(why({ tasks: tasks(5) }, [worker(1)], DEFAULT_POLICY)).toBeUndefined();
    expect(why({ tasks: tasks(5) }, [])).toBeUndefined();
  });
});

describe('a preference', () => {
  const racks = ['r1', 'r2'].map((value, index) =>
    worker(1 + index, { attributes: [{ name: 'rack', value }] }),
  );

  test('is met by one worker that has all of it', () => {
    expect(why({ tasks: tasks(1), prefer: { rack: ['r2', 'r9'] } }, racks)).toBeUndefined();
  });

  test('that no worker has is refused', () => {
    expect(why({ tasks: tasks(1), prefer: { rack: 'r1', gpu: 'a' } }, racks)).toBe(
      'no worker has its preferred attributes: rack=r1 gpu=a',
    );
  });
});

describe('the demand of a task', () => {
  const one = [worker(1, { slots: 4, capacity: { cpu: 4, gpu: 2 } })];

  test('is one CPU if it requests nothing', () => {
    const half = [worker(1, { capacity: { cpu: 0.5 } })];
    expect(why({ tasks: tasks(1) }, one, DEFAULT_POLICY)).toBeUndefined();
    expect(why({ tasks: tasks(1) }, half, DEFAULT_POLICY)).toMatch(/^no worker has cpu 1;/);
    expect(why({ tasks: tasks(1), demand: { cpu: 4.5 } }, one, DEFAULT_POLICY)).toMatch(
      /^no worker has cpu 4\.5;/,
    );
  });

  test('bounds a gang by what is shared, under policies that pack', () => {
    const policy = { ...DEFAULT_POLICY, preset: PRESETS.goshawk };
    const gang = (count: number, demand: Record<string, number>) =>
      why({ stages: [{ name: 'a', tasks: tasks(count), gang: true }], demand }, one, policy);
    expect(gang(8, { cpu: 0.5 })).toBeUndefined();
    expect(gang(9, { cpu: 0.5 })).toBe(
      'the 9 tasks of the gang start together, and the cluster has room for 8 of them',
    );
    expect(gang(4, { gpu: 0.5 })).toBeUndefined();
    expect(gang(3, { gpu: 0.6 })).toBe(
      'the 3 tasks of the gang start together, and the cluster has room for 2 of them',
    );
  });
});

describe('a requirement', () => {
  const GIVEN = { estimator: 'given', cutoffMs: 60_000 } as const;
  const HAWK: PolicySettings = { ...DEFAULT_POLICY, ...GIVEN, preset: PRESETS.hawk };
  const zone = (value: string) => ({ attributes: [{ name: 'zone', value }] });
  const workers = [
    worker(1, { partition: 'short', ...zone('eu') }),
    worker(2, zone('us')),
    worker(3, { capacity: { gpu: 1 }, ...zone('us') }),
  ];
  const missing = (job: Partial<JobInput>, of = workers, policy = HAWK) => {
    const input = { tasks: tasks(1), ...job } as JobInput;
    expect(why(input, of, policy)).toBeUndefined();
    return unmetRequirements(parseJobSpec(input), policy, membersOf(of));
  };
  const only =
    'only workers of the short partition have zone=eu (w1), but the job uses the general partition and waits until one of its workers has it; add the attribute to more workers, or make the short partition smaller (--short-partition)';

  test('that only the other partition meets is named, with that partition and a remedy', () => {
    expect(missing({ require: { zone: 'eu' }, estimate: '1h' })).toBe(only);
    expect(missing({ require: { zone: 'eu' }, estimate: 1 })).toBeUndefined();
    expect(missing({ require: { zone: 'us' }, estimate: '1h' })).toBeUndefined();
  });

  test('is missing only if the job turns out long, while its class is unknown', () => {
    const pilots: PolicySettings = { ...HAWK, estimator: 'pilot' };
    expect(missing({ require: { zone: 'eu' } }, workers, pilots)).toBe(`if the job turns out long: ${only}`);
  });

  test('and no worker has with the room for it, or at all, is named', () => {
    expect(missing({ require: { zone: 'eu' }, demand: { gpu: 1 }, estimate: 1 })).toBe(
      'no worker with zone=eu has room for gpu 1 (w1): the job waits until one does',
    );
    expect(missing({ require: { planet: 'mars' } })).toBe(
      'no worker has planet=mars, and none declares its planet: the job waits until one does',
    );
    expect(missing({ require: { planet: 'mars' } }, [])).toBeUndefined();
  });

  test('is met if one worker serves both partitions, or there are no partitions', () => {
    const whole: PolicySettings = { ...HAWK, preset: PRESETS.goshawk };
    expect(missing({ require: { zone: 'eu' }, estimate: '1h' }, [workers[0]!])).toBeUndefined();
    expect(missing({ require: { zone: 'eu' }, estimate: '1h' }, workers, whole)).toBeUndefined();
  });

  test('is named in a line of bounded length', () => {
    const many = Array.from({ length: 9 }, (_, i) => worker(10 + i, { partition: 'short', ...zone('eu') }));
    const wanted = ['eu', ...Array.from({ length: 9 }, (_, i) => `${i}`.padEnd(100, 'z'))];
    const line = missing({ require: { zone: wanted }, estimate: '1h' }, [worker(2), ...many])!;
    expect(line).toContain('(w10, w11, w12 and 6 more)');
    expect(line.length).toBeLessThan(1_000);
  });
});
