import { type Address, type MessageOf, NO_RESOURCES, type Resources } from '@goshawk/core';
import { expect, test } from 'vitest';
import { Ahead } from './ahead.js';
import { entryOfGiven } from './entry.js';
import { WorkerMemory } from './memory.js';
import { Slots } from './slots.js';

const OWNER = 1 as Address;

test('the CPU of a slot announced as free goes to the next task without a demand', () => {
  const memory = new WorkerMemory();
  const slots = new Slots(memory, memory.admit(2, { cpu: 2, gpu: 1 }));
  const ahead = new Ahead();
  const announce = (demand: Resources): void => {
    const slot = slots.ask(entryOfGiven(OWNER, { job: 1, stage: 0, long: false, demand }), 1, 0);
    ahead.predictEnd(slot);
    ahead.announce(slot);
  };
  announce({ gpu: 1 });
  expect(ahead.cpusIn(slots)).toBe(0);
  announce(NO_RESOURCES);
  expect(ahead.cpusIn(slots)).toBe(1);
  const message = { demand: NO_RESOURCES } as MessageOf<'run'>;
  const entry = entryOfGiven(OWNER, { job: 2, stage: 0, long: false, demand: NO_RESOURCES });
  ahead.keep({ owner: OWNER, message, entry });
  expect(ahead.cpusIn(slots)).toBe(0);
});
