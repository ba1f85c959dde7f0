import type { Message, Outcome } from '@goshawk/core';
import { failed } from '@goshawk/executors';
import { Codec, Directory } from '@goshawk/transport';
import { describe, expect, test } from 'vitest';
import { taskOutcome } from './task-outcome.js';

const NO_ERROR = { errorCode: '', errorMessage: '', exitCode: undefined, signal: undefined };

describe('how a run ended, in the words of the protocol', () => {
  test('completed, with what it returned', () => {
    expect(taskOutcome({ kind: 'completed' })).toEqual({ kind: 'completed', value: undefined, ...NO_ERROR });
    expect(taskOutcome({ kind: 'completed', value: { n: 1 }, exitCode: 0 })).toEqual({
      kind: 'completed',
      value: { n: 1 },
      ...NO_ERROR,
      exitCode: 0,
    });
  });

  test('failed, with why', () => {
    const error = { code: 'exit-code', message: 'exited with 3' } as const;
    expect(taskOutcome({ kind: 'failed', error, exitCode: 3 })).toEqual({
      kind: 'failed',
      value: undefined,
      errorCode: 'exit-code',
      errorMessage: 'exited with 3',
      exitCode: 3,
      signal: undefined,
    });
    const killed = { code: 'signal', message: 'ended by SIGSEGV' } as const;
    expect(taskOutcome({ kind: 'failed', error: killed, signal: 'SIGSEGV' })).toMatchObject({
      kind: 'failed',
      exitCode: undefined,
      signal: 'SIGSEGV',
    });
  });

  test('killed, by who wanted it: a worker that stops is no fault of the task', () => {
    const kinds = (['cancelled', 'timeout', 'shutdown'] as const).map((reason) =>
      taskOutcome({ kind: 'killed', reason }),
    );
    expect(kinds.map(({ kind, errorCode }) => [kind, errorCode])).toEqual([
      ['cancelled', 'cancelled'],
      ['timeout', 'timeout'],
      ['lost', 'worker-stopped'],
    ]);
  });

  test('nor is it when what runs tasks has gone', () => {
    expect(taskOutcome(failed('executor-closed', 'stopping'))).toMatchObject({ kind: 'lost' });
    expect(taskOutcome(failed('spawner-lost', 'gone'))).toMatchObject({ kind: 'lost' });
    expect(taskOutcome(failed('bad-payload', 'none'))).toMatchObject({ kind: 'failed' });
  });

  test('a start that failed may be the fault of this worker: its owner finds out', () => {
    for (const code of ['process-limit', 'no-memory', 'no-such-folder', 'command-not-found'] as const)
      expect(taskOutcome(failed(code, 'why'))).toMatchObject({ kind: 'lost', errorCode: code });
  });

  test('a value that cannot travel makes it a failure that says where the value is wrong', () => {
    expect(taskOutcome({ kind: 'completed', value: { at: [new Date(0)] } })).toMatchObject({
      kind: 'failed',
      value: undefined,
      errorCode: 'result-not-serialisable',
      errorMessage: "the task's value cannot be sent: at[0]: expected a JSON-like value, got an object",
    });
  });

  test('whatever an executor says can be sent', () => {
    const codec = new Codec(new Directory());
    const ended = (outcome: Outcome): Message => ({
      type: 'ended',
      report: 1,
      job: 1,
      task: 0,
      attempt: 0,
      outcome,
      runMs: 1,
      output: [],
      outputBytes: 0,
      ask: 0,
    });
    const long = 'x'.repeat(100_000);
    const outcome = taskOutcome({
      kind: 'failed',
      error: { code: long as 'signal', message: long },
      signal: long,
    });
    expect(() => codec.encode(ended(outcome))).not.toThrow();
    expect(outcome.errorMessage.endsWith('…')).toBe(true);
  });
});
