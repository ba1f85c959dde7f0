import { expect, it } from 'vitest';
import { capacityOf } from './resources.js';

it('the capacity of a worker is one CPU per slot plus the given resources', () => {
  expect(capacityOf(4, undefined)).toEqual({ cpu: 4 });
  expect(capacityOf(4, 'cpu=2,memory=1KiB')).toEqual({ cpu: 2, memory: 1_024 });
});

it('a repeated resource is rejected as ambiguous', () => {
  expect(() => capacityOf(1, 'cpu=4,cpu=8')).toThrow('--resources names cpu twice');
});
