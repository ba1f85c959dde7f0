import { constants } from 'node:os';
import { exitCodeOfSignal, nameOfRealTimeSignal, SIGNALS } from '@goshawk/core';
import { expect, test } from 'vitest';

test.runIf(process.platform === 'linux')('all signals of the system are known by name and number', () => {
  expect(SIGNALS).toEqual(constants.signals);
});

test('the exit code of a signal is the same as in a shell', () => {
  expect(exitCodeOfSignal('SIGXCPU')).toBe(152);
  expect(exitCodeOfSignal('SIGNONE')).toBeUndefined();
  expect(exitCodeOfSignal('toString')).toBeUndefined();
});

test('real-time signals have the same names as in shells', () => {
  for (let number = 34; number <= 64; number++)
    expect(exitCodeOfSignal(nameOfRealTimeSignal(number))).toBe(128 + number);
  expect(exitCodeOfSignal('SIGRTMIN')).toBe(162);
  expect(exitCodeOfSignal('SIGRTMIN+1')).toBe(163);
  expect(exitCodeOfSignal('SIGRTMAX')).toBe(192);
  expect(exitCodeOfSignal('SIGRTMAX-1')).toBe(191);
  for (const none of ['SIGRTMIN-1', 'SIGRTMAX+1', 'SIGRTMIN+31', 'SIGRT', 'SIGRTMIN+'])
    expect(exitCodeOfSignal(none)).toBeUndefined();
});
