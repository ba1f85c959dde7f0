import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Executors } from './executors.js';
import { SPAWNERS_MAX, UNANSWERED_STARTS_MAX } from './limits.js';
import { outcomeOf, record } from './recording.fixture.js';

let folder: string;
let executors: Executors;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-executors-load-'));
  executors = new Executors({ dataFolder: folder, graceMs: 60_000 });
});

afterAll(async () => {
  await executors.close();
  rmSync(folder, { recursive: true });
});

it('handles 2,000 starts at once, in order except for those in flight', async () => {
  const started: number[] = [];
  const ends = Array.from({ length: 2_000 }, (_, index) => {
    const { sink } = record(executors, { exec: ['true'] });
    sink.isStarted.then(() => started.push(index));
    return sink.end;
  });
  const outcomes = await Promise.all(ends);
  expect(outcomes.filter(({ outcome }) => outcome.kind !== 'completed')).toEqual([]);
  const early = started.map((index, position) => index - position);
  expect(Math.max(...early)).toBeLessThan(SPAWNERS_MAX * UNANSWERED_STARTS_MAX);
});

it('uses a new thread for the next run if one has loaded many modules, and running tasks continue', async () => {
  const hanging = join(folder, 'hanging.mjs');
  writeFileSync(hanging, 'export default () => new Promise(() => setInterval(() => {}, 1000));');
  const one = record(executors, { module: hanging });
  await one.sink.isStarted;
  const threads: unknown[] = [];
  for (let i = 0; i < 300; i++) {
    const module = join(folder, `generated-${i}.mjs`);
    writeFileSync(module, "import { threadId } from 'node:worker_threads'; export default () => threadId;");
    const { outcome } = await outcomeOf(executors, { module });
    expect(outcome.kind).toBe('completed');
    threads.push((outcome as { value?: unknown }).value);
  }
  expect(new Set(threads).size).toBeGreaterThan(1);
  expect(one.sink.calls).toEqual(['started']);
  one.run.kill('timeout');
  expect((await one.sink.end).outcome).toEqual({ kind: 'killed', reason: 'timeout' });
});
