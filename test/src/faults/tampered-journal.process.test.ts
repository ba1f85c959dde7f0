import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { GOSHAWK, TestDaemons } from '@goshawk/cli/testing';
import type { JobRecord } from '@goshawk/core';
import { openLmdbJournal } from '@goshawk/journal';
import { accepted, attempt, recordsOf } from '@goshawk/journal/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';

const daemons = new TestDaemons('tampered', { beforeEach, afterEach });

const [stage] = accepted(1).spec.stages;

/** Records that have a valid checksum, but that no version writes. */
const IMPOSSIBLE = [
  { ...attempt(1, 0), task: -1 },
  { ...attempt(1, 0), runMs: 1e300, outcome: { kind: 'unknown' } },
  { kind: 'ended', job: 1, at: 1e300, state: 'completed' },
  accepted(2, { spec: { ...accepted(2).spec, stages: [{ ...stage!, after: [0] }] } }),
  accepted(3, { spec: { ...accepted(3).spec, retries: Number.NaN } }),
  { kind: 'usage', job: 0, at: 1, rows: [{ day: 1e22 }] },
] as unknown as readonly JobRecord[];

test('a journal with impossible records costs only these, and one line', async () => {
  const data = join(daemons.folder, 's');
  const journal = await openLmdbJournal({
    folder: join(data, 'journal'),
    newTag: () => 'abcde',
    version: '1.2.3',
  });
  expect(recordsOf(journal)).toEqual([]);
  await journal.begin('tcp://127.0.0.1:7000!xyz/0');
  const sound = accepted(4, {
    spec: {
      ...accepted(4).spec,
      stages: [{ ...stage!, demand: {}, tasks: { count: 2, run: { sleep: 1 } } }],
    },
  });
  for (const record of [accepted(1), ...IMPOSSIBLE, sound]) journal.append(record);
  await journal.close();

  const verified = spawnSync(process.execPath, [GOSHAWK, 'journal', 'verify', data], { encoding: 'utf8' });
  expect(verified.status).toBe(1);
  const lines = verified.stdout.trim().split('\n');
  expect(lines.pop()).toBe(`2 records of 2 jobs can be read, ${IMPOSSIBLE.length} damaged`);
  expect(lines).toHaveLength(IMPOSSIBLE.length);
  for (const line of lines)
    expect(line).toMatch(/^abcde-\d: record \d: its field \S+ has an impossible value$/);

  await daemons.startCentralAndWorkers(1);
  await daemons.startScheduler('s');
  expect(daemons.logOf('s').match(/records were skipped: [^\n]*/g)).toHaveLength(1);
  await using client = await daemons.connect();
  expect((await client.job('abcde-4').wait()).state).toBe('completed');
  expect((await client.job('abcde-1').describe()).state).not.toBe('completed');
  const next = await client.submit({ tasks: [{ sleep: 1 }] });
  expect((await next.wait()).state).toBe('completed');

  // A repaired journal has only the sound records.
  for (const daemon of daemons.all) await daemon.kill();
  execFileSync(process.execPath, [GOSHAWK, 'journal', 'repair', data]);
  execFileSync(process.execPath, [GOSHAWK, 'journal', 'verify', data]);
}, 60_000);
