import type { Logger } from '@goshawk/transport';
import { expect, test } from 'vitest';
import { NotStarted } from './workers.js';

test('a failed start is logged once per worker, job and reason', () => {
  const lines: string[] = [];
  const notStarted = new NotStarted({ warn: (_: object, line: string) => void lines.push(line) } as Logger);
  for (let task = 0; task < 600; task++)
    notStarted.report('w0', 'a-1', 'the command "nosuch" is not in PATH');
  notStarted.report('w0', 'a-2', 'the command "nosuch" is not in PATH');
  notStarted.report('w1', 'a-1', 'the command "nosuch" is not in PATH');
  expect(lines).toEqual(
    Array.from({ length: 3 }, () => 'a task could not be started: the command "nosuch" is not in PATH'),
  );
});
