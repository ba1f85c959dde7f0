import { readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Random } from '@goshawk/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WorkloadError } from './errors.js';
import { collect, type TraceJob } from './job.js';
import { openWorkload } from './workload.js';

const SAMPLES = join(import.meta.dirname, '../samples');
const SEED = process.env.GOSHAWK_DAMAGE_SEED ?? 'damaged-1';
const EACH = 25;

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-damaged-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const FILES = readdirSync(SAMPLES, { recursive: true, withFileTypes: true }).flatMap((entry) => {
  const path = relative(SAMPLES, join(entry.parentPath, entry.name));
  return entry.isFile() && !/^(google2011|azure2019)\//.test(path) ? [path] : [];
});

/** Replacements for a number in a file. */
const HOSTILE = [
  'NaN',
  'Infinity',
  '-Infinity',
  '1e300',
  '-1e300',
  '2000000000',
  '99999999999999999999',
  '0x10',
  '2.5',
  '-7',
  '',
  'null',
  '"',
  '[]',
  '{}',
  'Ω',
  '\u0000',
  '1,5',
  '00:61:99',
  '9999-99-99T99:99:99',
];

/** Ways to damage a file, at a random position. */
const DAMAGES: readonly ((bytes: Buffer, random: Random) => Buffer)[] = [
  (bytes, random) => bytes.subarray(0, place(bytes, random)),
  (bytes, random) => {
    const damaged = Buffer.from(bytes);
    for (let i = 0; i < 8; i++) damaged[place(bytes, random)] = Math.floor(random.next() * 256);
    return damaged;
  },
  (bytes, random) => {
    const text = bytes.toString();
    const numbers = [...text.matchAll(/\d+(\.\d+)?/g)];
    const { index, 0: number } = numbers[Math.floor(random.next() * numbers.length)]!;
    const hostile = HOSTILE[Math.floor(random.next() * HOSTILE.length)]!;
    return Buffer.from(text.slice(0, index) + hostile + text.slice(index + number.length));
  },
  (bytes, random) => {
    const lines = bytes.toString().split('\n');
    const at = Math.floor(random.next() * lines.length);
    if (random.next() < 0.5) lines.splice(at, 1);
    else lines.splice(at, 0, lines[Math.floor(random.next() * lines.length)]!);
    return Buffer.from(lines.join('\n'));
  },
  (bytes, random) => {
    const zipped = gzipSync(bytes);
    return random.next() < 0.5
      ? zipped.subarray(0, place(zipped, random))
      : Buffer.concat([zipped, bytes.subarray(0, 20)]);
  },
  (bytes, random) => Buffer.concat([bytes, Buffer.alloc(1 + Math.floor(random.next() * 5_000), '9')]),
];

function place(bytes: Buffer, random: Random): number {
  return Math.floor(random.next() * bytes.length);
}

describe.each(FILES)(`%s, damaged (GOSHAWK_DAMAGE_SEED=${SEED})`, (name) => {
  it('is read, or rejected quickly with one line that names the file and a remedy', async () => {
    const bytes = await readFile(join(SAMPLES, name));
    const random = Random.seeded(`${SEED} ${name}`);
    for (let i = 0; i < EACH; i++) {
      const damaged = DAMAGES[i % DAMAGES.length]!(bytes, random);
      const file = join(folder, `${i}`);
      await writeFile(file, damaged);
      const startedAt = process.cpuUsage();
      const outcome = await openWorkload(file)
        .then(async (workload) => collect(workload.jobs()))
        .catch((error: unknown) => error);
      const { user, system } = process.cpuUsage(startedAt);
      const shown = `${SEED}, ${name}, damage ${i}: ${JSON.stringify(damaged.toString('latin1').slice(0, 300))}`;
      expect((user + system) / 1e6, shown).toBeLessThan(10);
      if (Array.isArray(outcome)) {
        for (const { submitSeconds, durationsSeconds } of outcome as TraceJob[]) {
          expect(submitSeconds, shown).toBeGreaterThanOrEqual(0);
          expect(durationsSeconds.length, shown).toBeGreaterThan(0);
          expect(
            durationsSeconds.every((seconds) => seconds >= 0 && seconds <= 864e9),
            shown,
          ).toBe(true);
        }
        continue;
      }
      expect(outcome, shown).toBeInstanceOf(WorkloadError);
      const { message } = outcome as Error;
      expect(message.startsWith(file), `${shown}: ${message}`).toBe(true);
      expect(message, shown).toMatch(/^\P{Cc}+; \P{Cc}+$/u);
      expect(message.length, shown).toBeLessThan(1_000);
    }
  });
});
