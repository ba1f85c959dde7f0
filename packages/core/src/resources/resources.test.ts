import { expect, test } from 'vitest';
import { addTo, fits } from './resources.js';

test('an exact fit is accepted after any order of changes', () => {
  const free: Record<string, number> = { cpu: 4, memory: 2 ** 33 };
  const demands = [0.1, 0.7, 1.2, 0.003, 0.557].map((cpu) => ({ cpu, memory: 2 ** 30 }));
  for (let round = 0; round < 1000; round++) {
    for (const demand of demands) addTo(free, demand, -1);
    expect(free).toEqual({ cpu: 1.44, memory: 3 * 2 ** 30 });
    expect(fits({ cpu: 1.44 }, free)).toBe(true);
    expect(fits({ cpu: 1.441 }, free)).toBe(false);
    for (const demand of demands) addTo(free, demand, 1);
  }
  expect(free).toEqual({ cpu: 4, memory: 2 ** 33 });
});

test('amounts without a decimal form are released exactly', () => {
  const free: Record<string, number> = { cpu: 1 };
  for (const sign of [-1, -1, 1, 1] as const) addTo(free, { cpu: 1 / 3 }, sign);
  expect(free).toEqual({ cpu: 1 });
});
