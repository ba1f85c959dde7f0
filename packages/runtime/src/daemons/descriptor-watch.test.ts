import type { Logger } from '@goshawk/transport';
import { expect, test } from 'vitest';
import { DescriptorWatch } from './descriptor-watch.js';

test('a shortage of descriptors is logged when it begins and ends, and not in between', () => {
  const lines: string[] = [];
  const log = (_: object, line: string): void => void lines.push(line);
  const watch = new DescriptorWatch({ info: log, warn: log } as unknown as Logger);
  for (const open of [10, 80, 81, 100, 81]) watch.check(open, 100);
  expect(lines).toEqual([expect.stringMatching(/^81 of at most 100 file descriptors are open/)]);
  for (const open of [80, 10]) watch.check(open, 100);
  expect(lines.slice(1)).toEqual(['there are enough file descriptors again']);
  watch.check(50, 60);
  expect(lines).toHaveLength(3);
});
