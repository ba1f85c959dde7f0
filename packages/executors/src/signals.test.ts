import { constants } from 'node:os';
import { exitCodeOfSignal, SIGNALS } from '@goshawk/core';
import { expect, test } from 'vitest';

test.runIf(process.platform === 'linux')('all signals of the system are known by name and number', () => {
  expect(SIGNALS).toEqual(constants.signals);
});

test('the exit code of a signal is that of a shell', () => {
  expect(exitCodeOfSignal('SIGXCPU')).toBe(152);
  expect(exitCodeOfSignal('SIGNONE')).toBeUndefined();
  expect(exitCodeOfSignal('toString')).toBeUndefined();
});
