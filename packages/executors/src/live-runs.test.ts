import { expect, it } from 'vitest';
import { LiveRuns } from './live-runs.js';

it('lists the runs that were added and not deleted', () => {
  const live = new LiveRuns();
  const runs = Array.from({ length: 5 }, () => ({ kill() {}, pause() {}, resume() {} }));
  const places = runs.map((run) => live.add(run));
  for (const at of [1, 4, 0]) live.delete(places[at]!);
  expect(new Set(live.all())).toEqual(new Set([runs[2], runs[3]]));
  for (const at of [3, 2]) live.delete(places[at]!);
  expect(live.size).toBe(0);
});
