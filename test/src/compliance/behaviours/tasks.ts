import { COMPLETED } from '@goshawk/core';
import { expect } from 'vitest';
import { LATE_MAX_MS, sleepOrder } from '../recorder.js';
import type { Behaviour } from './behaviour.js';

/** A time limit that none of the tasks below reaches, in ms. */
const LIMIT_MS = 10_000;

export const TASKS: readonly Behaviour[] = [
  {
    name: 'a task starts after its machine returns, and ends after its run time',
    prove(bench) {
      const one = bench.recorder('w1');
      bench.run(7);
      one.do((environment) => {
        environment.execute(0, sleepOrder(50, LIMIT_MS));
        expect(one.seen).toEqual([]);
      });
      bench.run(100);
      expect(one.seen).toEqual(['started 0', 'completed 0']);
      one.expectAt('started 0', 7);
      one.expectAt('completed 0', one.timeOf('started 0') + 50);
      const { outcome } = one.happened.at(-1)!;
      expect(outcome).toEqual(COMPLETED);
    },
  },
  {
    name: 'a task without a time limit reports its start',
    prove(bench) {
      const one = bench.recorder('w1');
      one.do((environment) => environment.execute(0, sleepOrder(50)));
      bench.run(100);
      expect(one.seen).toEqual(['started 0', 'completed 0']);
    },
  },
  {
    name: 'run time and time limit of a task count from its start',
    prove(bench) {
      const one = bench.recorder('w1');
      one.on = (what, now) => {
        if (what === 'started 0') one.environment.setTimer('limit', 0, now + 30);
        if (what === 'limit/0') one.environment.kill(0, 'timeout');
      };
      one.do((environment) => environment.execute(0, sleepOrder(50, 30)));
      bench.run(100);
      expect(one.seen).toEqual(['started 0', 'limit/0', 'timeout 0']);
      const { runMs, at } = one.happened.at(-1)!;
      expect(runMs).toBeGreaterThanOrEqual(30);
      expect(runMs).toBeLessThanOrEqual(30 + LATE_MAX_MS);
      expect(at - one.timeOf('started 0') - runMs!).toBeCloseTo(0, 6);
    },
  },
  {
    name: 'a task of 0 ms starts and ends, but not within the call',
    prove(bench) {
      const one = bench.recorder('w1');
      one.do((environment) => {
        environment.execute(0, sleepOrder(0, LIMIT_MS));
        expect(one.seen).toEqual([]);
      });
      bench.run(LATE_MAX_MS);
      expect(one.seen).toEqual(['started 0', 'completed 0']);
    },
  },
  {
    name: 'slots of one worker, and workers, do not affect each other',
    prove(bench) {
      const one = bench.recorder('w1', 3);
      const two = bench.recorder('w2', 3);
      for (const recorder of [one, two]) {
        recorder.do((environment) => {
          for (const slot of [2, 0, 1]) environment.execute(slot, sleepOrder(10 + 10 * slot, LIMIT_MS));
        });
      }
      bench.run(5);
      one.do((environment) => environment.kill(1, 'cancelled'));
      bench.run(100);
      const started = ['started 2', 'started 0', 'started 1'];
      expect(one.seen).toEqual([...started, 'cancelled 1', 'completed 0', 'completed 2']);
      expect(two.seen).toEqual([...started, 'completed 0', 'completed 1', 'completed 2']);
      one.expectAt('completed 2', 30);
    },
  },
  {
    name: 'a worker that joins later with more slots has separate slots',
    prove(bench) {
      const one = bench.recorder('w1');
      one.do((environment) => environment.execute(0, sleepOrder(10, LIMIT_MS)));
      const two = bench.recorder('w2', 100);
      two.do((environment) => {
        for (let slot = 0; slot < 100; slot++) environment.execute(slot, sleepOrder(20, LIMIT_MS));
      });
      bench.run(100);
      expect(one.seen).toEqual(['started 0', 'completed 0']);
      const ends = Array.from({ length: 100 }, (_, slot) => `completed ${slot}`);
      expect(two.seen.slice(100).toSorted()).toEqual(ends.toSorted());
    },
  },
  {
    name: 'a killed task ends once, with the given reason, and not within the call',
    prove(bench) {
      for (const [reason, outcome, errorCode] of [
        ['cancelled', 'cancelled', 'cancelled'],
        ['timeout', 'timeout', 'timeout'],
        ['shutdown', 'lost', 'worker-stopped'],
        ['drained', 'lost', 'worker-drained'],
      ] as const) {
        const one = bench.recorder(`w-${reason}`);
        one.do((environment) => environment.execute(0, sleepOrder(50, LIMIT_MS)));
        bench.run(10);
        one.do((environment) => {
          environment.kill(0, reason);
          expect(one.seen).toEqual(['started 0']);
        });
        bench.run(LATE_MAX_MS);
        expect(one.seen).toEqual(['started 0', `${outcome} 0`]);
        const end = one.happened.at(-1)!;
        expect(end.runMs).toBeLessThanOrEqual(10 + LATE_MAX_MS);
        expect(end.outcome).toMatchObject({ errorCode, value: undefined });
        expect(end.outcome?.errorMessage).not.toBe('');
        bench.run(100);
        expect(one.seen).toHaveLength(2);
      }
    },
  },
  {
    name: 'a task that is killed twice ends once, with the first reason',
    prove(bench) {
      const one = bench.recorder('w1');
      one.do((environment) => environment.execute(0, sleepOrder(50, LIMIT_MS)));
      bench.run(10);
      one.do((environment) => {
        environment.kill(0, 'timeout');
        environment.kill(0, 'cancelled');
      });
      one.do((environment) => environment.kill(0, 'shutdown'));
      bench.run(100);
      expect(one.seen).toEqual(['started 0', 'timeout 0']);
    },
  },
  {
    name: 'a task that is killed in the step that executes it ends once and does not start',
    prove(bench) {
      const one = bench.recorder('w1');
      one.do((environment) => {
        environment.execute(0, sleepOrder(50, LIMIT_MS));
        environment.kill(0, 'cancelled');
      });
      bench.run(100);
      expect(one.seen.filter((what) => what !== 'started 0')).toEqual(['cancelled 0']);
      expect(one.seen.at(-1)).toBe('cancelled 0');
    },
  },
  {
    name: 'killing a slot without a running task has no effect',
    prove(bench) {
      const one = bench.recorder('w1', 2);
      one.do((environment) => {
        environment.kill(1, 'cancelled');
        environment.execute(0, sleepOrder(10, LIMIT_MS));
      });
      bench.run(20);
      one.do((environment) => environment.kill(0, 'cancelled'));
      bench.run(100);
      expect(one.seen).toEqual(['started 0', 'completed 0']);
      one.do((environment) => environment.execute(0, sleepOrder(10, LIMIT_MS)));
      bench.run(100);
      expect(one.seen.slice(2)).toEqual(['started 0', 'completed 0']);
    },
  },
  {
    name: 'a slot may get its next task in the step that handles the end of the last one',
    prove(bench) {
      const one = bench.recorder('w1');
      let left = 3;
      one.on = (what) => {
        if (what === 'completed 0' && left-- > 0) one.environment.execute(0, sleepOrder(10, LIMIT_MS));
      };
      one.do((environment) => environment.execute(0, sleepOrder(10, LIMIT_MS)));
      bench.run(100);
      expect(one.seen).toEqual(Array.from({ length: 4 }, () => ['started 0', 'completed 0']).flat());
      expect(one.happened.at(-1)!.at).toBeGreaterThanOrEqual(40);
    },
  },
  {
    name: 'the end of a killed task is not confused with the end of the next task in its slot',
    prove(bench) {
      const one = bench.recorder('w1');
      one.on = (what) => {
        if (what === 'cancelled 0') one.environment.execute(0, sleepOrder(500, LIMIT_MS));
      };
      one.do((environment) => environment.execute(0, sleepOrder(50, LIMIT_MS)));
      bench.run(10);
      one.do((environment) => environment.kill(0, 'cancelled'));
      bench.run(400);
      expect(one.seen).toEqual(['started 0', 'cancelled 0', 'started 0']);
      bench.run(400);
      expect(one.seen.slice(3)).toEqual(['completed 0']);
      one.expectAt('completed 0', 510);
      expect(one.happened.at(-1)!.runMs).toBeGreaterThanOrEqual(500);
    },
  },
  {
    name: 'a kill does not hit the next task of the slot, even if both happen together',
    prove(bench) {
      const one = bench.recorder('w1');
      one.do((environment) => environment.execute(0, sleepOrder(50, LIMIT_MS)));
      bench.run(10);
      one.do((environment) => {
        environment.kill(0, 'cancelled');
        environment.execute(0, sleepOrder(20, LIMIT_MS));
      });
      bench.run(100);
      expect(one.seen.slice(1)).toEqual(['started 0', 'completed 0']);
    },
  },
  {
    name: 'a task whose slot has been reused reports nothing more',
    prove(bench) {
      const one = bench.recorder('w1');
      one.do((environment) => environment.execute(0, sleepOrder(10, LIMIT_MS)));
      bench.run(5);
      one.do((environment) => environment.execute(0, sleepOrder(50, LIMIT_MS)));
      bench.run(100);
      expect(one.seen).toEqual(['started 0', 'started 0', 'completed 0']);
      one.expectAt('completed 0', 55);
    },
  },
];
