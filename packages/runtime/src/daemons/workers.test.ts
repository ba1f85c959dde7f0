import type { Logger } from '@goshawk/transport';
import { expect, test } from 'vitest';
import { tellOfMemory } from './workers.js';

test.each([
  [256, 4, 1],
  [256, 1, 0],
  [64 * 1024, 4, 0],
])('a worker of %d MiB with %d slots says %d times that module tasks may end it', (mib, slots, times) => {
  const lines: string[] = [];
  const logger = { warn: (_: object, line: string) => void lines.push(line) } as Logger;
  tellOfMemory({ names: ['w'], slots, logger }, mib * 1024 * 1024);
  expect(lines).toHaveLength(times);
});
