import { expect, test } from 'vitest';
import { PlanningTimes } from './planning-times.js';

test.each(['in the turn that made it', 'after it'])('a problem that is handed out %s', (when) => {
  let now = 0;
  const times = new PlanningTimes(() => now);
  const isWithin = when !== 'after it';
  times.measure(() => {
    now += 1;
  });
  times.measure(() => {
    now += 5;
    if (isWithin) times.problemSent();
  });
  if (!isWithin) times.problemSent();
  expect(times.read()).toBeUndefined();
  now += 20;
  times.answerArrived();
  times.measure(() => {
    now += 2;
  });
  // A turn without a problem is not counted.
  times.measure(() => {
    now += 100;
  });
  const of = (ms: number) => ({ count: 1, p50: ms, p99: ms, max: ms });
  expect(times.read()).toEqual({ formulate: of(5), solve: of(20), extract: of(2), cycle: of(27) });
});
