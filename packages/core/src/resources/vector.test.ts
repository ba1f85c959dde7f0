import { describe, expect, test } from 'vitest';
import { LIMITS } from '../limits.js';
import { fitsIn, ResourceNames } from './vector.js';

describe('names of resources', () => {
  const names = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}${at}`);
  const amounts = (prefix: string, count: number) =>
    Object.fromEntries(names(prefix, count).map((name) => [name, 1]));

  test('of one worker are limited, however often it registers, and others have room for theirs', () => {
    const table = new ResourceNames();
    for (let time = 0; time < 100; time++) table.capacityOf(1, amounts(`r${time}-`, 32), 'w0');
    expect(table.names).toHaveLength(2 + LIMITS.resourcesMax);
    const capacity = table.capacityOf(1, { licence: 2 }, 'w1');
    expect(fitsIn(table.demandOf({ cpu: 1, licence: 2 }), capacity)).toBe(true);
    expect(fitsIn(table.demandOf({ cpu: 1, licence: 3 }), capacity)).toBe(false);
  });

  test('of reports are those that are known', () => {
    const table = new ResourceNames();
    table.capacityOf(1, { licence: 1 }, 'w0');
    expect(table.freeOf(1, { cpu: 1, licence: 1, ...amounts('x', 20) })).toEqual([1, 1_000, 1_000]);
    expect(table.reportedDemandOf({ cpu: 2, x: 1 })).toEqual([1, 2_000]);
    expect(table.names).toHaveLength(3);
  });

  test('of jobs are limited: a demand for further ones fits nowhere, and workers have room for theirs', () => {
    const table = new ResourceNames();
    for (const name of names('x', 1_000)) table.demandOf({ cpu: 1, [name]: 1 });
    expect(table.names.length).toBeLessThanOrEqual(LIMITS.resourceNamesMax / 2 + 1);
    const demand = table.demandOf({ cpu: 1, x2000: 1 });
    const capacity = table.capacityOf(1, { licence: 1, memory: 5, gpu: 1, 'other resources': 9 }, 'w0');
    expect(fitsIn(demand, capacity)).toBe(false);
    expect(fitsIn(table.demandOf({ cpu: 1, licence: 1, memory: 5, gpu: 1 }), capacity)).toBe(true);
  });

  test('of all are limited, except those with a meaning', () => {
    const table = new ResourceNames();
    for (let worker = 0; worker < 20; worker++) table.capacityOf(1, amounts(`r${worker}-`, 32), `w${worker}`);
    expect(table.names).toHaveLength(LIMITS.resourceNamesMax);
    const capacity = table.capacityOf(1, { gpu: 1, memory: 1, other: 1 }, 'other');
    expect([table.find('gpu'), table.find('memory'), table.find('other')]).toEqual([256, 257, undefined]);
    expect(fitsIn(table.demandOf({ gpu: 1, memory: 1 }), capacity)).toBe(true);
  });
});
