import { describe, test } from 'vitest';
import type { Behaviour } from './behaviours/behaviour.js';
import { MAIL } from './behaviours/mail.js';
import { SEED, STEPS } from './behaviours/steps.js';
import { TASKS } from './behaviours/tasks.js';
import { TIMERS } from './behaviours/timers.js';
import { DRIVERS } from './drivers.js';
import { TestBench } from './recorder.js';

const BEHAVIOURS: readonly Behaviour[] = [...STEPS, ...MAIL, ...TIMERS, ...TASKS];

describe.each(Object.entries(DRIVERS))('%s', (_, makeDriver) => {
  test.each(BEHAVIOURS)('$name', ({ prove }) => {
    const driver = makeDriver({ seed: SEED });
    try {
      prove(new TestBench(driver));
    } finally {
      driver.close();
    }
  });
});
