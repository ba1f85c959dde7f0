import { describe, expect, it } from 'vitest';
import type { CentralPolicy } from './contract.js';
import { PolicyBench } from './testing.fixture.js';
import { startable, WorkConservation } from './work-conservation.js';

/** Starts nothing, without giving a reason. */
const IDLE: CentralPolicy = { update() {}, plan() {}, explainsAll: true, explain: () => undefined };

function waitingStages(bench: PolicyBench) {
  return [...bench.books.jobs].flatMap((job) => [...job.stages].filter(({ waiting }) => waiting > 0));
}

describe('work conservation', () => {
  it('finds a stage that could start, and none without room', () => {
    const bench = new PolicyBench('goshawk', 1);
    bench.report(1, { tasks: 1 });
    const stages = waitingStages(bench);
    expect(startable(stages, IDLE, bench.books, 0)).toEqual([bench.stage(1)]);
    bench.settle();
    bench.report(2, { tasks: 1 });
    expect(startable(waitingStages(bench), IDLE, bench.books, 0)).toEqual([]);
  });

  it("accepts the policy's reasons, and does not check policies that do not explain all", () => {
    const bench = new PolicyBench('goshawk', 1);
    bench.report(1, { tasks: 1 });
    const held: CentralPolicy = { ...IDLE, explain: () => ({ reason: 'reserve', sentence: 'limit' }) };
    const mute: CentralPolicy = { update() {}, plan() {} };
    for (const policy of [held, mute])
      expect(startable(waitingStages(bench), policy, bench.books, 0)).toEqual([]);
  });

  it('accepts no reserve that keeps CPUs free although as many could be borrowed', () => {
    const bench = new PolicyBench('goshawk', 3);
    bench.report(1, { tasks: 1 });
    const held = (reserve: number, lendable: number): CentralPolicy => ({
      ...IDLE,
      explain: () => ({ reason: 'reserve', sentence: 'limit' }),
      line: (now) => ({ ...bench.policy.line!(now), reserve, lendable }),
    });
    const found = (reserve: number, lendable: number) =>
      startable(waitingStages(bench), held(reserve, lendable), bench.books, 0).length;
    expect([found(3, 0), found(4, 1), found(3, 1), found(2, 0)]).toEqual([0, 0, 1, 1]);
  });

  it('reports a stage only after it has stayed startable for longer than messages take', () => {
    const bench = new PolicyBench('goshawk', 1);
    bench.report(1, { tasks: 1 });
    const stages = waitingStages(bench);
    const conservation = new WorkConservation(3);
    expect(conservation.check(stages, 0)).toBeUndefined();
    expect(conservation.check(stages, 3)).toBeUndefined();
    expect(conservation.check(stages, 4)).toMatch(/^idle: 1 tasks of stage 0 of job 1 .* room for 4 ms$/);
    conservation.check([], 5);
    expect(conservation.check(stages, 6)).toBeUndefined();
  });
});
