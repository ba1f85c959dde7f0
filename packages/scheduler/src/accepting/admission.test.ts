import {
  type Address,
  DEFAULT_POLICY,
  type JobInput,
  type Member,
  type PolicySettings,
  parseJobSpec,
} from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { Members } from '../joining/members.js';
import { whyImpossible } from './admission.js';

const GANGS: PolicySettings = { ...DEFAULT_POLICY, preset: { ...DEFAULT_POLICY.preset, gangs: true } };

function worker(address: number, fields: Partial<Member> = {}): Member {
  const at = { address: address as Address, name: `w${address}`, place: address };
  return { ...at, slots: 2, capacity: {}, partition: 'general', draining: false, attributes: [], ...fields };
}

function why(job: JobInput, workers: readonly Member[], policy = GANGS) {
  const members = new Members();
  if (workers.length > 0) {
    const who = { left: [], owners: [], ownersVersion: 0 };
    members.apply({ type: 'members', version: 1, since: 0, changed: [...workers], ...who });
  }
  return whyImpossible(parseJobSpec(job), policy, members)?.message;
}

const tasks = (count: number) => ({ count, run: { sleep: 1 } });

describe('a gang', () => {
  test('fits where its tasks have room together, those that drain included', () => {
    const two = [worker(1), worker(2, { draining: true })];
    expect(why({ tasks: tasks(4) }, two)).toBeUndefined();
    expect(why({ tasks: tasks(5) }, two)).toBe(
      'its 5 tasks start together, and the cluster has room for 4 of them',
    );
  });

  test('has no more room at a worker than its demand leaves there', () => {
    const workers = [worker(1, { capacity: { gpu: 1 } }), worker(2)];
    expect(why({ tasks: tasks(1), demand: { gpu: 1 } }, workers)).toBeUndefined();
    expect(why({ tasks: tasks(2), demand: { gpu: 1 } }, workers)).toMatch(/room for 1 of them/);
  });

  test('is each stage by itself', () => {
    const stages = ['a', 'b'].map((name) => ({ name, tasks: tasks(2) }));
    expect(why({ stages }, [worker(1)])).toBeUndefined();
  });

  test('is none where tasks start one by one, or no worker is known', () => {
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
      'no worker has what it prefers: rack=r1 gpu=a',
    );
  });

  test('is no matter where central does not tell what workers have', () => {
    expect(
      why({ tasks: tasks(1), prefer: { rack: 'r3' } }, [worker(1, { attributes: undefined })]),
    ).toBeUndefined();
  });
});

describe('on workers without slots', () => {
  const one = (slots: number) => [worker(1, { slots, capacity: { cpu: 4 } })];

  test('a task that needs nothing would fit without end', () => {
    for (const demand of [undefined, {}, { cpu: 0 }]) {
      const job = { tasks: tasks(1), ...(demand === undefined ? {} : { demand }) };
      expect(why(job, one(0), DEFAULT_POLICY)).toMatch(/^worker w1 has no slots, .* fit without end$/);
      expect(why(job, one(2), DEFAULT_POLICY)).toBeUndefined();
    }
  });

  test('a task fits as elsewhere', () => {
    for (const slots of [0, 2]) {
      expect(why({ tasks: tasks(1), demand: { cpu: 4 } }, one(slots), DEFAULT_POLICY)).toBeUndefined();
      expect(why({ tasks: tasks(1), demand: { cpu: 4.5 } }, one(slots), DEFAULT_POLICY)).toMatch(
        /^no worker has cpu 4\.5;/,
      );
      expect(why({ tasks: tasks(1), demand: { gpu: 1 } }, one(slots), DEFAULT_POLICY)).toMatch(
        /^no worker has gpu 1;/,
      );
    }
  });
});
