import { type Address, COMPLETED, InputError, type JobInput, LIMITS, parseJobSpec } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { DurableBench } from '../durable.fixture.js';
import { W1, W2 } from '../lone-scheduler.fixture.js';

const STAGES: JobInput = {
  stages: [
    { name: 'extract', tasks: { count: 2, run: { module: '/m.js' } } },
    { name: 'other', tasks: [{ sleep: 1 }] },
    {
      name: 'load',
      after: ['extract', 'other'],
      inputs: ['extract'],
      tasks: { count: 2, run: { module: '/m.js' } },
    },
  ],
};

function benched(bench: DurableBench): DurableBench {
  bench.members(W1, W2);
  bench.commit();
  bench.take();
  return bench;
}

function extracted(values: readonly unknown[]): DurableBench {
  const bench = benched(new DurableBench());
  bench.submit(STAGES);
  bench.commit();
  for (const value of values) bench.end(W1, bench.ask(W1, 1)!, { ...COMPLETED, value });
  bench.end(W1, bench.ask(W1, 1, 1)!);
  bench.commit();
  bench.take();
  return bench;
}

describe('inputs of a stage', () => {
  test('are the values of the named stages, in order, for each of its tasks', () => {
    const bench = extracted([{ a: 1 }, undefined]);
    const lines =
      '{"stage":"extract","index":0,"value":{"a":1}}\n{"stage":"extract","index":1,"value":null}\n';
    expect([bench.ask(W1, 1, 2), bench.ask(W2, 1, 2)]).toMatchObject([
      { inputs: { lines } },
      { inputs: { lines } },
    ]);
  });

  test('are the same after a restart, as the journal has them', () => {
    const before = extracted(['x', 'y']);
    const bench = benched(new DurableBench(before.inheritance([3 as Address]), 1_000));
    for (const from of [W1, W2]) bench.receive(from, { type: 'holding', audit: 0, tasks: [] });
    bench.commit();
    bench.take();
    expect(bench.ask(W1, 1, 2)!.inputs).toEqual(before.ask(W1, 1, 2)!.inputs);
  });

  test('are sent with no other task', () => {
    const bench = benched(new DurableBench());
    bench.submit(STAGES);
    bench.commit();
    expect(bench.ask(W1, 1)!.inputs).toBeUndefined();
  });

  test('that are too large fail the task with a remedy', () => {
    const half = 'x'.repeat(LIMITS.inputLengthMax / 2);
    expect(extracted([half, half]).ask(W1, 1, 2)!.inputs).toEqual({
      lines: '',
      problem: expect.stringMatching(/exceed 4 MiB .* paths of files/),
    });
  });

  test.each(['other', 'load', 'extrac'])(
    'of %s, which the stage does not come after, are refused',
    (name) => {
      const stages = [
        { name: 'extract', tasks: [{ sleep: 1 }] },
        { name: 'other', tasks: [{ sleep: 1 }] },
        { name: 'load', after: ['extract'], inputs: [name], tasks: [{ sleep: 1 }] },
      ];
      expect(() => parseJobSpec({ stages })).toThrow(InputError);
    },
  );

  test('may be of a stage before the one before', () => {
    const stages = [
      { name: 'a', tasks: [{ sleep: 1 }] },
      { name: 'b', after: ['a'], tasks: [{ sleep: 1 }] },
      { name: 'c', after: ['b'], inputs: ['a'], tasks: [{ sleep: 1 }] },
    ];
    expect(parseJobSpec({ stages }).stages[2]!.inputs).toEqual([0]);
  });
});
