import { Random } from '@goshawk/core';
import { expect } from 'vitest';
import type { Recorder } from '../recorder.js';
import type { Behaviour } from './behaviour.js';

/** The bench's drivers have this seed. */
export const SEED = 'compliance';

function draw(recorder: Recorder, count: number): number[] {
  return Array.from({ length: count }, () => recorder.environment.random());
}

export const STEPS: readonly Behaviour[] = [
  {
    name: 'a machine is started once, before any other entry, even if it joins later',
    prove(bench) {
      const one = bench.recorder('w1');
      expect(one.happened.map(({ what }) => what)).toEqual(['start']);
      bench.run(20);
      const two = bench.recorder('w2');
      one.do(() => one.write(two, 1));
      bench.run(20);
      expect(two.happened.map(({ what }) => what)).toEqual(['start', 'message 1 from w1']);
      two.expectAt('start', 20);
    },
  },
  {
    name: 'simultaneous events are handled one after another, and time does not go back',
    prove(bench) {
      const recorders = [1, 2, 3].map((number) => bench.recorder(`w${number}`, 2));
      // The test bench checks the time of each step, and that no other machine runs during it.
      for (const recorder of recorders) {
        recorder.on = (what, now) => {
          if (recorder.happened.length > 40) return;
          for (const other of recorders) recorder.write(other, recorder.happened.length);
          recorder.environment.setTimer('past', recorder.happened.length, now - 5);
          recorder.environment.setTimer('next', recorder.happened.length, now + 5);
          if (what.startsWith('completed')) {
            recorder.environment.execute(0, {
              payload: { sleep: 0 },
              jobId: 'j1',
              task: 0,
              attempt: 1,
              long: false,
              timeoutMs: 50,
            });
          }
        };
        recorder.do((environment) =>
          environment.execute(0, {
            payload: { sleep: 5 },
            jobId: 'j1',
            task: 0,
            attempt: 1,
            long: false,
            timeoutMs: 50,
          }),
        );
      }
      bench.run(1_000);
      for (const { happened } of recorders) expect(happened.length).toBeGreaterThan(40);
    },
  },
  {
    name: 'the random numbers of a machine depend only on the seed and its name',
    prove(bench) {
      const one = bench.recorder('w1');
      const two = bench.recorder('w2');
      const drawn = [...draw(one, 3), ...draw(two, 5), ...draw(one, 2)];
      const of = (name: string) => {
        const stream = Random.seeded(SEED).fork(name);
        return Array.from({ length: 5 }, () => stream.next());
      };
      expect([...drawn.slice(0, 3), ...drawn.slice(8)]).toEqual(of('w1'));
      expect(drawn.slice(3, 8)).toEqual(of('w2'));
    },
  },
];
