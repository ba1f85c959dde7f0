import { expect, test } from 'vitest';
import { descriptorReadings } from './process.js';

const limits = (): string => 'Limit Soft Hard Units\nMax open files            64      128      files\n';
const fails = (code: string) => (): never => {
  throw Object.assign(new Error(code), { code });
};

test('descriptors are counted without the one that counts them', () => {
  expect(descriptorReadings({ limits, open: () => ['0', '1', '2', '3'] })).toEqual({
    goshawk_process_open_fds: 3,
    goshawk_process_max_fds: 64,
  });
});

test('a process without a free descriptor says that all are in use', () => {
  const all = { goshawk_process_open_fds: 64, goshawk_process_max_fds: 64 };
  expect(descriptorReadings({ limits, open: fails('EMFILE') })).toEqual(all);
  expect(descriptorReadings({ limits: fails('EMFILE'), open: fails('EMFILE') })).toEqual(all);
});

test('a system without /proc has no numbers', () => {
  expect(descriptorReadings({ limits: fails('ENOENT'), open: fails('ENOENT') })).toEqual({});
});
