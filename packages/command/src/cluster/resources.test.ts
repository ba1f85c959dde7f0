import { describe, expect, it, test } from 'vitest';
import { gpuNamesOf, sizeOfWorker } from './resources.js';

describe('the size of a worker', () => {
  it('is one CPU, and one slot per whole CPU', () => {
    expect(sizeOfWorker({})).toEqual({ slots: 1, capacity: { cpu: 1 } });
    expect(sizeOfWorker({ cpus: 4 })).toEqual({ slots: 4, capacity: { cpu: 4 } });
    expect(sizeOfWorker({ resources: 'cpu=4.5,memory=1KiB' })).toEqual({
      slots: 4,
      capacity: { cpu: 4.5, memory: 1_024 },
    });
    expect(sizeOfWorker({ resources: 'cpu=0.5' })).toEqual({ slots: 1, capacity: { cpu: 0.5 } });
  });

  it('is that of the machine by default', () => {
    const machine = { cpu: 8, memory: 1_024, gpu: 2 };
    expect(sizeOfWorker({}, machine)).toEqual({ slots: 8, capacity: machine });
    expect(sizeOfWorker({ cpus: 2, memory: '1KiB', gpus: 0 }, machine).capacity).toEqual({
      cpu: 2,
      memory: 1_024,
    });
    expect(sizeOfWorker({ memory: '1KiB', gpus: 1, resources: 'gpu=4' }, machine).capacity).toEqual({
      cpu: 8,
      memory: 1_024,
      gpu: 4,
    });
  });

  it('keeps the slots of old command lines whose CPUs differ', () => {
    expect(sizeOfWorker({ cpus: 6, resources: 'cpu=8' })).toEqual({ slots: 6, capacity: { cpu: 8 } });
  });
});

describe('the GPUs of workers on one machine', () => {
  const of = (gpu: number, index: number, workers: number, devices?: readonly string[]) =>
    gpuNamesOf({ gpu }, devices, { index, of: workers });

  test('differ if there are enough', () => {
    const devices = ['a', 'b', 'c', 'd'];
    expect([0, 1].map((index) => of(2, index, 2, devices))).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
    expect(of(1, 3, 5, devices)).toEqual(['a']);
  });

  test('are named by their indices if the machine has fewer', () => {
    expect(of(2, 0, 1, ['a'])).toBeUndefined();
    expect(of(0, 0, 1, ['a'])).toBeUndefined();
  });
});

it('a repeated resource is rejected as ambiguous', () => {
  expect(() => sizeOfWorker({ resources: 'cpu=4,cpu=8' })).toThrow('--resources names cpu twice');
});
