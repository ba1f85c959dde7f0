import { LIVE_TIMINGS, type Message, PRESETS, parseJobSpec } from '@goshawk/core';
import { expect, test } from 'vitest';
import { CENTRAL, joined, loneScheduler, W1, welcome } from '../lone-scheduler.fixture.js';

test('central hears when much fewer tasks wait than it was told, since workers came for them by themselves', () => {
  const needs: number[] = [];
  const send = (_: unknown, message: Message): void => {
    if (message.type === 'need') needs.push(message.tasks);
  };
  const scheduler = loneScheduler({}, { send });
  scheduler.start(0);
  scheduler.receive(CENTRAL, welcome({ preset: { ...PRESETS.goshawk } }), 0);
  scheduler.receive(CENTRAL, joined(1, [W1], 100), 0);
  const job = scheduler.submit(
    parseJobSpec({ tasks: { count: 100, run: { sleep: 10 } }, estimate: 10 }),
    undefined,
    1,
  );
  expect(needs).toEqual([100]);
  let ask = 0;
  const sweptAfter = (asks: number): number[] => {
    needs.splice(0);
    for (let i = 0; i < asks; i++) {
      ask++;
      const question = {
        type: 'ask',
        ask,
        job: job.number,
        stage: 0,
        again: false,
        placed: undefined,
      } as const;
      scheduler.receive(W1, question, 2);
    }
    scheduler.wake('sweep', 0, 2 + LIVE_TIMINGS.retryMs);
    return needs;
  };
  expect(sweptAfter(5)).toEqual([]);
  expect(sweptAfter(15)).toEqual([80]);
  expect(sweptAfter(0)).toEqual([]);
});
