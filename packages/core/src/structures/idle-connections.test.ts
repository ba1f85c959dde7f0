import { expect, it } from 'vitest';
import { IdleConnections } from './idle-connections.js';

interface Fake {
  readonly number: number;
  destroy(): void;
}

function scene(max: number) {
  const closed: number[] = [];
  const quiet = new IdleConnections<Fake>(max);
  const connection = (number: number): Fake => ({ number, destroy: () => closed.push(number) });
  return { closed, quiet, connection };
}

it('closes the connection that has been idle longest if there are too many', () => {
  const { closed, quiet, connection } = scene(3);
  for (let i = 0; i < 5; i++) quiet.add(connection(i), 1_000 * i);
  expect(closed).toEqual([0, 1]);
  expect(quiet.size).toBe(3);
});

it('does not count connections with a request in flight, and restarts their idle time afterwards', () => {
  const { closed, quiet, connection } = scene(2);
  const [first, second, third, fourth] = [0, 1, 2, 3].map(connection);
  quiet.add(first!, 0);
  quiet.add(second!, 1_000);
  quiet.delete(first!);
  quiet.add(third!, 2_000);
  expect(closed).toEqual([]);
  quiet.add(first!, 3_000);
  expect(closed).toEqual([1]);
  quiet.add(fourth!, 4_000);
  expect(closed).toEqual([1, 2]);
});

it('gives new connections time to send a request, up to ten times the limit', () => {
  const { closed, quiet, connection } = scene(2);
  for (let i = 0; i < 20; i++) quiet.add(connection(i), 5);
  expect(closed).toEqual([]);
  quiet.add(connection(20), 5);
  expect(closed).toEqual([0]);
  quiet.add(connection(21), 300);
  expect(closed).toHaveLength(20);
  expect(quiet.size).toBe(2);
});
