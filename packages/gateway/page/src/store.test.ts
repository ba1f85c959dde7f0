import { expect, it } from 'vitest';
import { overview, storeAt } from './page.fixture.js';
import { changed } from './store.js';

it('assembles workers from deltas, and keeps rows that have not changed', () => {
  const first = changed(new Map(), {
    reset: true,
    born: [
      [0, 'w0', 4, 0],
      [1, 'w1', 2, 1],
    ],
    now: [
      [0, 0, 3, 1, 5, 3.5],
      [1, 4, 0, -1, 0, -1],
    ],
  });
  expect([...first.values()]).toEqual([
    { name: 'w0', slots: 4, isShort: false, state: 'active', busy: 3, long: 1, queued: 5, cpus: 3.5 },
    { name: 'w1', slots: 2, isShort: true, state: 'lost', busy: 0, long: -1, queued: 0, cpus: -1 },
  ]);
  const next = changed(first, { reset: false, born: [], now: [[0, 3, 0, 0, 0, 0]] });
  expect(next.get(0)).toMatchObject({ state: 'quarantined', busy: 0 });
  expect(next.get(1)).toBe(first.get(1));
  expect(changed(next, { reset: false, born: [], now: [] })).toBe(next);
  expect(changed(next, { reset: true, born: [], now: [] }).size).toBe(0);
});

it('shows an update as a whole, after its last event', () => {
  const store = storeAt();
  store.take('overview', overview());
  store.take('history', { reset: true, points: [{ at: 1 }, { at: 4_000 }, { at: 4_010 }] });
  expect(store.overview.value).toBeUndefined();
  store.take('workers', { reset: true, born: [[0, 'w0', 1, 0]], now: [] });
  expect(store.overview.value).toMatchObject({ slots: 48 });
  // An hour is kept.
  expect(store.points.value.map(({ at }) => at)).toEqual([4_000, 4_010]);
  expect([store.updates.value, store.workers.value.size]).toEqual([1, 1]);
});

it('a role may do what lower roles may', () => {
  const may = (role: 'read' | 'submit' | 'operate') =>
    (['submit', 'operate'] as const).filter((need) => storeAt('#/', role).may(need));
  expect([may('read'), may('submit'), may('operate')]).toEqual([[], ['submit'], ['submit', 'operate']]);
});
