import type { Logger } from '@goshawk/transport';
import { expect, test } from 'vitest';
import { warnOfMemory } from './workers.js';

test.each([
  [256, 4, 4, 1],
  [256, 1, 4, 0],
  [64 * 1024, 4, 4, 0],
  [8 * 1024, 100, 4, 0],
])(
  'a worker of %d MiB with %d slots and %d threads says %d times that module tasks may end it',
  (...given) => {
    const [mib, slots, moduleThreads, times] = given;
    const lines: string[] = [];
    const logger = { warn: (_: object, line: string) => void lines.push(line) } as Logger;
    warnOfMemory({ names: ['w'], slots, logger, executors: { moduleThreads } }, mib * 1024 * 1024);
    expect(lines).toHaveLength(times);
  },
);
