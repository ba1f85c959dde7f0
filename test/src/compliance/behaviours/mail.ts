import { type Address, NOBODY } from '@goshawk/core';
import { expect } from 'vitest';
import { numberedMessage, type Recorder } from '../recorder.js';
import type { Behaviour } from './behaviour.js';

const NUMBERS = Array.from({ length: 60 }, (_, i) => i);

function messagesFrom(sender: Recorder, numbers: readonly number[]): string[] {
  return numbers.map((number) => `message ${number} from ${sender.name}`);
}

export const MAIL: readonly Behaviour[] = [
  {
    name: 'messages from one party to another arrive once, in the order of sending',
    prove(bench) {
      const one = bench.recorder('w1');
      const two = bench.recorder('w2');
      const three = bench.recorder('w3');
      for (const number of NUMBERS) {
        one.do(() => {
          one.write(three, number);
          one.write(two, number);
        });
        two.do(() => two.write(three, number));
        bench.run(number % 3 === 0 ? 1 : 0);
      }
      bench.run(100);
      const from = (sender: Recorder) => three.seen.filter((what) => what.endsWith(sender.name));
      expect(from(one)).toEqual(messagesFrom(one, NUMBERS));
      expect(from(two)).toEqual(messagesFrom(two, NUMBERS));
      expect(two.seen).toEqual(messagesFrom(one, NUMBERS));
      expect(one.seen).toEqual([]);
    },
  },
  {
    name: 'a message to oneself arrives like any other, in order, after the step that sent it',
    prove(bench) {
      const one = bench.recorder('w1');
      one.on = (what) => {
        if (what === 'message 1 from w1') one.write(one, 3);
      };
      one.do(() => {
        one.write(one, 1);
        one.write(one, 2);
        expect(one.seen).toEqual([]);
      });
      bench.run(100);
      expect(one.seen).toEqual(messagesFrom(one, [1, 2, 3]));
    },
  },
  {
    name: 'a machine that sends while it receives is not called again before it returns',
    prove(bench) {
      const one = bench.recorder('w1');
      const two = bench.recorder('w2');
      // The test bench reports every event that occurs while one of the two is busy.
      one.on = (what, now) => {
        if (!what.startsWith('message')) return;
        one.write(one, 100);
        one.write(two, 100);
        one.environment.setTimer('now', 0, now);
        one.on = () => {};
      };
      two.on = (what) => {
        if (what === 'message 100 from w1') two.write(one, 101);
      };
      two.do(() => two.write(one, 1));
      bench.run(100);
      expect(one.seen.toSorted()).toEqual([
        'message 1 from w2',
        'message 100 from w1',
        'message 101 from w2',
        'now/0',
      ]);
      expect(two.seen).toEqual(['message 100 from w1']);
    },
  },
  {
    name: 'the sender of a message can be answered and is recognized later',
    prove(bench) {
      const one = bench.recorder('w1');
      const two = bench.recorder('w2');
      one.do(() => one.write(two, 1));
      bench.run(10);
      one.do(() => one.write(two, 2));
      bench.run(10);
      expect(two.senders).toHaveLength(2);
      const [first, second] = two.senders;
      expect(first).toBe(second);
      two.do((environment) => environment.send(first!, numberedMessage(3)));
      bench.run(10);
      expect(one.seen).toEqual(['message 3 from w2']);
    },
  },
  {
    name: 'a message to an unknown party is lost without effect',
    prove(bench) {
      const one = bench.recorder('w1');
      const two = bench.recorder('w2');
      one.do((environment) => {
        environment.send(NOBODY, numberedMessage(1));
        environment.send(9_999 as Address, numberedMessage(1));
        one.write(two, 2);
      });
      bench.run(100);
      expect(two.seen).toEqual(['message 2 from w1']);
    },
  },
  {
    name: 'a message to a killed incarnation does not reach its successor or anyone else',
    prove(bench) {
      const one = bench.recorder('w1');
      const former = bench.recorder('w2');
      one.do(() => one.write(former, 1));
      bench.driver.kill(former.address);
      const latter = bench.recorder('w2/2');
      bench.run(10);
      one.do(() => {
        one.write(former, 2);
        one.write(latter, 3);
      });
      bench.run(100);
      expect(former.seen).toEqual([]);
      expect(latter.seen).toEqual(['message 3 from w1']);
    },
  },
  {
    name: 'messages that an incarnation sent before it was killed still arrive',
    prove(bench) {
      const one = bench.recorder('w1');
      const two = bench.recorder('w2');
      one.do(() => one.write(two, 1));
      bench.driver.kill(one.address);
      bench.run(100);
      expect(two.seen).toEqual(['message 1 from w1']);
    },
  },
  {
    name: 'a killed incarnation gets no more timers or tasks',
    prove(bench) {
      const one = bench.recorder('w1');
      const two = bench.recorder('w2');
      for (const recorder of [one, two]) {
        recorder.do((environment, now) => {
          environment.setTimer('a', 0, now + 10);
          environment.execute(0, {
            payload: { sleep: 10 },
            jobId: 'j1',
            task: 0,
            attempt: 1,
            long: false,
            timeoutMs: 50,
          });
        });
      }
      bench.run(5);
      bench.driver.kill(one.address);
      bench.run(100);
      expect(one.seen).toEqual(['started 0']);
      expect(two.seen.toSorted()).toEqual(['a/0', 'completed 0', 'started 0']);
    },
  },
];
