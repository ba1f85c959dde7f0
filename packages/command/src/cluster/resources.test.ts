import { expect, it } from 'vitest';
import { capacityOf } from './resources.js';

it('the capacity of a worker is a cpu a slot, and what is said', () => {
  expect(capacityOf(4, undefined)).toEqual({ cpu: 4 });
  expect(capacityOf(4, 'cpu=2,memory=1KiB')).toEqual({ cpu: 2, memory: 1_024 });
});

it('a resource that is said twice is refused: either could be meant', () => {
  expect(() => capacityOf(1, 'cpu=4,cpu=8')).toThrow('--resources names cpu twice');
});
