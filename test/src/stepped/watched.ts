import type { Machine } from '@goshawk/core';
import type { TaskMachine } from './driver.js';

/** A machine whose invariants are checked after each of its steps. */
export function watched(machine: Machine): Machine {
  const after = (step: () => void): void => {
    step();
    machine.checkInvariants();
  };
  return {
    start: (now) => after(() => machine.start(now)),
    receive: (from, message, now) => after(() => machine.receive(from, message, now)),
    wake: (timer, key, now) => after(() => machine.wake(timer, key, now)),
    ...(machine.settle === undefined ? {} : { settle: (now) => after(() => machine.settle!(now)) }),
    checkInvariants: () => machine.checkInvariants(),
  };
}

export function watchedWorker(machine: TaskMachine): TaskMachine {
  const after = (step: () => void): void => {
    step();
    machine.checkInvariants();
  };
  return {
    ...watched(machine),
    taskStarted: (slot, now) => after(() => machine.taskStarted(slot, now)),
    taskOutput: (slot, stream, bytes, now) => after(() => machine.taskOutput(slot, stream, bytes, now)),
    taskEnded: (slot, outcome, runMs, now) => after(() => machine.taskEnded(slot, outcome, runMs, now)),
  };
}
