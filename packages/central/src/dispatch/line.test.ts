import { type Address, LIMITS } from '@goshawk/core';
import { ClusterBooks, makePolicy } from '@goshawk/policies';
import { expect, test } from 'vitest';
import { WaitingLine } from './line.js';

test('a job of very many waiting stages has as many in its line as an answer holds', () => {
  const books = new ClusterBooks();
  const job = books.declare(900 as Address, 0, { arrivedAt: 0, tasks: 2_000 });
  for (let index = 0; index <= LIMITS.stagesPerJobMax; index++) {
    const stage = books.stage(job, index, { demand: books.names.demandOf({}), estimateMs: 1_000 });
    books.setWaiting(stage, 1, 0);
  }
  const context = { cutoffMs: 1_000, sizesAreGiven: true, reserve: 0, random: () => 0.5 };
  const line = new WaitingLine(books, makePolicy('gs', {}, context)).of(job, 0);
  expect(line.needs).toHaveLength(LIMITS.stagesPerJobMax);
});
