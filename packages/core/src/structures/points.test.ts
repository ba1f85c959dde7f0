import { expect, test } from 'vitest';
import { Random } from '../numbers/random.js';
import { type PointSearch, Points } from './points.js';

/**
 * Finds the point with the largest Σ weight · value whose values are within the limits; ties go to the lowest
 * id.
 */
class Heaviest implements PointSearch {
  best = Number.NEGATIVE_INFINITY;
  bestTie = 0;
  found = -1;
  looks = 0;
  readonly #points: ReadonlyMap<number, readonly number[]>;
  readonly #weights: readonly number[];
  readonly #limits: readonly number[];

  constructor(
    points: ReadonlyMap<number, readonly number[]>,
    weights: readonly number[],
    limits: readonly number[],
  ) {
    this.#points = points;
    this.#weights = weights;
    this.#limits = limits;
  }

  bound(lows: Float64Array, highs: Float64Array): number {
    if (this.#limits.some((limit, column) => lows[column]! > limit)) return Number.NEGATIVE_INFINITY;
    return this.#sum(this.#limits.map((limit, column) => Math.min(limit, highs[column]!)));
  }

  tieBound(_lows: Float64Array, _highs: Float64Array, leastId: number): number {
    return -leastId;
  }

  visit(id: number): void {
    this.looks++;
    const values = this.#points.get(id)!;
    if (this.#limits.some((limit, column) => values[column]! > limit)) return;
    const sum = this.#sum(values);
    if (sum < this.best || (sum === this.best && -id < this.bestTie)) return;
    [this.best, this.bestTie, this.found] = [sum, -id, id];
  }

  #sum(values: readonly number[]): number {
    return this.#weights.reduce((sum, weight, column) => sum + weight * values[column]!, 0);
  }
}

/** @param grid number of distinct values per column; a small one gives many equal points */
function compareWithScan(seed: number, columns: number, ranges: readonly number[], grid: number): void {
  const random = Random.seeded(seed);
  const draw = (count: number) => Math.floor(random.next() * count);
  const points = new Points(columns, ranges);
  const all = new Map<number, readonly number[]>();
  for (let step = 0; step < 3000; step++) {
    // Grows for the first half, then shrinks, so that chunks are split and merged.
    const id = draw(600);
    if (random.next() < (step < 1500 ? 0.8 : 0.3)) {
      const values = Array.from({ length: columns }, () => (10 * draw(grid)) / grid);
      points.set(id, values);
      all.set(id, values);
    } else {
      points.delete(id);
      all.delete(id);
    }
    expect(points.has(id)).toBe(all.has(id));
    const drawn = (length: number) => Array.from({ length: columns }, () => draw(length));
    const [weights, limits] = [drawn(3), drawn(12)];
    const [found, scanned] = [new Heaviest(all, weights, limits), new Heaviest(all, weights, limits)];
    points.search(found);
    for (const each of all.keys()) scanned.visit(each);
    expect(found.found).toBe(scanned.found);
  }
}

test.each([
  { columns: 1, ranges: [10], grid: 1000 },
  { columns: 2, ranges: [10, 10], grid: 3 },
  { columns: 3, ranges: [10, 5], grid: 100 },
  { columns: 2, ranges: [], grid: 10 },
  { columns: 2, ranges: [Number.POSITIVE_INFINITY, 0], grid: 10 },
])('finds the same as a scan: %o', ({ columns, ranges, grid }) => {
  for (const seed of [1, 2]) compareWithScan(seed, columns, ranges, grid);
});

test('a search of 10,000 points visits few of them, even among equal ones', () => {
  const random = Random.seeded(3);
  for (const grid of [1e6, 2]) {
    const points = new Points(2, [1, 1]);
    const all = new Map<number, readonly number[]>();
    for (let id = 0; id < 10_000; id++) {
      const values = [Math.floor(random.next() * grid) / grid, Math.floor(random.next() * grid) / grid];
      points.set(id, values);
      all.set(id, values);
    }
    const search = new Heaviest(all, [1, 2], [0.7, 0.4]);
    points.search(search);
    expect(search.found).toBeGreaterThanOrEqual(0);
    expect(search.looks).toBeLessThan(1000);
  }
});
