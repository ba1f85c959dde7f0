import { type Address, type MessageOf, NO_RESOURCES, type Resources } from '@goshawk/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Entry, entryOfGiven } from './entry.js';
import { WorkerMemory } from './memory.js';
import { Slots } from './slots.js';

const OWNER = 1 as Address;
const CAPACITY = { memory: 3 };

function entry(long: boolean): Entry {
  return entryOfGiven(OWNER, { job: 1, stage: 0, long, demand: { memory: 1 } });
}

function given(task: number, long: boolean): MessageOf<'run'> {
  const names = { ask: 1, match: 0, job: 1, stage: 0, task, attempt: 1, jobId: 'j', payload: null };
  return {
    type: 'run',
    ...names,
    long,
    demand: {},
    timeoutMs: undefined,
    apartMs: undefined,
    expectedMs: undefined,
    execution: undefined,
    inputs: undefined,
    gang: undefined,
    user: undefined,
  };
}

/** Result of each valid step; all other steps are invalid. */
const STEPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  repeatAsk: { asking: 'asking' },
  run: { asking: 'running' },
  started: { running: 'running' },
  markLong: { running: 'running' },
  release: { asking: 'idle', running: 'idle' },
};

test('a slot has its GPUs from its question for a task to the end of that task', () => {
  const memory = new WorkerMemory();
  const slots = new Slots(memory, memory.admit(2, { gpu: 2 }));
  const run = (): number => {
    const index = slots.ask(entryOfGiven(OWNER, { job: 1, stage: 0, long: false, demand: { gpu: 1 } }), 1, 0);
    slots.run(index, OWNER, given(index, false), 0);
    return index;
  };
  expect([run(), run()].map((index) => slots.gpusOf(index))).toEqual([[0], [1]]);
  slots.release(0);
  expect(slots.gpusOf(0)).toEqual([]);
  expect(slots.gpusOf(run())).toEqual([0]);
  expect(new Slots(memory, memory.admit(1, { cpu: 1 })).gpusOf(0)).toBeUndefined();
});

test('free GPUs are reported as room for one more task, with parts if those differ', () => {
  const memory = new WorkerMemory();
  const slots = new Slots(memory, memory.admit(4, { gpu: 2 }));
  const ask = (gpu: number): void => {
    slots.ask(entryOfGiven(OWNER, { job: 1, stage: 0, long: false, demand: { gpu } }), 1, 0);
  };
  ask(0.6);
  expect([slots.spare, slots.gpuParts]).toEqual([{ gpu: 1.4 }, undefined]);
  ask(0.7);
  expect([slots.spare, slots.gpuParts]).toEqual([{ gpu: 0.4 }, [0.4, 0.3]]);
  expect(slots.gpuShares).toEqual([
    { match: 0, gpu: 0, amount: 0.6 },
    { match: 0, gpu: 1, amount: 0.7 },
  ]);
  expect([0.3, 0.4, 0.5, 0.7, 1].map((gpu) => slots.fits({ gpu }))).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
  slots.release(0);
  expect([slots.spare, slots.gpuParts]).toEqual([{ gpu: 1.3 }, undefined]);
});

test('slots ask, run and become free, counted per worker', () => {
  const step = fc.record({
    kind: fc.constantFrom('ask', ...Object.keys(STEPS)),
    worker: fc.nat(2),
    slot: fc.nat(2),
    long: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const memory = new WorkerMemory();
      const workers = [1, 3, 2].map((count) => new Slots(memory, memory.admit(count, CAPACITY)));
      const models = workers.map(({ count }) => new Array<string>(count).fill('idle'));
      steps.forEach(({ kind, worker, slot: which, long }, now) => {
        const slots = workers[worker]!;
        const model = models[worker]!;
        const slot = which % slots.count;
        const perform: Record<string, () => unknown> = {
          ask: () => slots.ask(entry(long), now, now),
          repeatAsk: () => slots.repeatAsk(slot, now),
          run: () => slots.run(slot, OWNER, given(now, long), now),
          started: () => slots.started(slot, now),
          markLong: () => slots.markLong(slot),
          release: () => slots.release(slot),
        };
        const idle = model.indexOf('idle');
        const next = kind === 'ask' ? 'asking' : STEPS[kind]![model[slot]!];
        if (next === undefined || (kind === 'ask' && idle < 0)) {
          expect(perform[kind]).toThrow();
        } else {
          const result = perform[kind]!();
          if (kind === 'ask') expect(result).toBe(idle);
          model[kind === 'ask' ? idle : slot] = next;
          if (kind === 'run')
            expect(slots.taskAt(slot)).toEqual({ owner: OWNER, job: 1, task: now, attempt: 1 });
          if (kind === 'ask') expect(slots.indexOfAsk(now)).toBe(idle);
        }
        workers.forEach((each, at) => {
          each.checkInvariants();
          const indexes = (state: string) => [...models[at]!.keys()].filter((i) => models[at]![i] === state);
          expect([...each.asking()]).toEqual(indexes('asking'));
          expect([...each.running()]).toEqual(indexes('running'));
          expect(each.runningCount).toBe(indexes('running').length);
          expect(each.idleCount).toBe(indexes('idle').length);
        });
      });
    }),
  );
});

test('the demand of a task is released with its slot, and capacity bounds the running tasks', () => {
  const memory = new WorkerMemory();
  const slots = new Slots(memory, memory.admit(5, CAPACITY));
  for (let i = 0; i < 3; i++) slots.ask(entry(false), i, 0);
  expect(slots.fits({ memory: 1 })).toBe(false);
  expect(slots.fits(NO_RESOURCES)).toBe(true);
  slots.release(1);
  expect(slots.spare).toEqual({ memory: 1 });
  expect(slots.fits({ memory: 1 })).toBe(true);
});

test('long work follows the class of the entry, then of its task, then a reclassification', () => {
  const memory = new WorkerMemory();
  const slots = new Slots(memory, memory.admit(2, CAPACITY));
  slots.ask(entry(true), 1, 0);
  expect(slots.longCount).toBe(1);
  slots.run(0, OWNER, given(0, false), 0);
  expect(slots.longCount).toBe(0);
  expect([slots.markLong(0), slots.markLong(0)]).toEqual([true, false]);
  expect(slots.executesLong(Number.NEGATIVE_INFINITY)).toBe(true);
  slots.ask(entry(false), 2, 0);
  expect(slots.executesLong(Number.NEGATIVE_INFINITY)).toBe(false);
  slots.release(0);
  expect(slots.longCount).toBe(0);
});

test('a task that requests nothing takes one CPU', () => {
  const memory = new WorkerMemory();
  const slots = new Slots(memory, memory.admit(6, { cpu: 4 }));
  const ask = (demand: Resources) =>
    slots.ask(entryOfGiven(OWNER, { job: 1, stage: 0, long: false, demand }), 1, 0);
  ask({ cpu: 2 });
  ask(NO_RESOURCES);
  expect([slots.spare, slots.fits(NO_RESOURCES), slots.fits({ cpu: 1.5 })]).toEqual([
    { cpu: 1 },
    true,
    false,
  ]);
  ask({ cpu: 0.5 });
  expect([slots.fits(NO_RESOURCES), slots.fits({ cpu: 0.5 })]).toEqual([false, true]);
  slots.release(1);
  expect([slots.spare, slots.fits(NO_RESOURCES)]).toEqual([{ cpu: 1.5 }, true]);
  slots.checkInvariants();
});

test('tasks that take less than a CPU share one, and each further CPU is a slot', () => {
  const memory = new WorkerMemory();
  const slots = new Slots(memory, memory.admit(2, { cpu: 2 }, 32));
  const counts = () => [slots.idleCount, slots.openCount, slots.busyCount];
  const ask = (cpu: number) =>
    slots.ask(entryOfGiven(OWNER, { job: 1, stage: 0, long: false, demand: { cpu } }), 1, 0);
  expect(counts()).toEqual([2, 2, 0]);
  slots.share(true);
  expect(counts()).toEqual([2, 32, 0]);
  for (let task = 0; task < 10; task++) ask(0.1);
  expect(counts()).toEqual([1, 22, 10]);
  ask(0.9);
  expect(counts()).toEqual([1, 21, 11]);
  ask(0.1);
  expect([counts(), slots.fits({ cpu: 0.1 })]).toEqual([[0, 20, 12], false]);
  slots.share(false);
  expect(counts()).toEqual([0, 0, 12]);
  slots.checkInvariants();
});
