import { expect, it } from 'vitest';
import { parseExport } from './import-lines.js';
import { accepted } from './records.fixture.js';

const parse = (...jobs: number[]) =>
  parseExport(
    Buffer.from(jobs.map((job) => JSON.stringify({ id: `abcde-${job}`, ...accepted(job) })).join('\n')),
  );

it('refuses two exports in one file, which would store each job twice', () => {
  expect(parse(1, 2).records).toHaveLength(2);
  expect(() => parse(1, 2, 1)).toThrow('line 3 accepts job abcde-1 again: import one export at a time');
});
