import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WorkloadError } from '../errors.js';
import { collect, type TraceJob } from '../job.js';
import { flattened, unpackedJobs } from '../packed-jobs.js';
import { openWorkload } from '../workload.js';
import { looksLikeTr, readTr, TrParser, trLines } from './tr.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-tr-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function fileOf(content: string | Buffer, name = 'trace.tr'): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, content);
  return file;
}

async function read(content: string | Buffer): Promise<TraceJob[]> {
  return collect(flattened(readTr(await fileOf(content))));
}

function plain(jobs: readonly TraceJob[]) {
  return jobs.map((job) => [job.submitSeconds, job.meanSeconds, ...job.durationsSeconds]);
}

describe('readTr', () => {
  it('reads one job per line: submission, number of tasks, mean, durations', async () => {
    expect(plain(await read('0 1 5 5\n12.5 3 2 1 2 3\n'))).toEqual([
      [0, 5, 5],
      [12.5, 2, 1, 2, 3],
    ]);
  });

  it('accepts several blanks, tabs, CRLF, blank lines, and an unterminated last line', async () => {
    expect(plain(await read('\n 0  2 \t 3   2    4 \r\n   \r\n\n1 1 1 1'))).toEqual([
      [0, 3, 2, 4],
      [1, 1, 1],
    ]);
  });

  it.each(['trace.tr', 'marked'])('reads %s with a byte order mark', async (name) => {
    const workload = await openWorkload(await fileOf('\uFEFF0 1 5 5\n', name));
    expect(plain(await collect(workload.jobs()))).toEqual([[0, 5, 5]]);
  });

  it('keeps the order and the means of the file, even if they are unsorted or wrong', async () => {
    expect(plain(await read('9 1 70 7\n3 1 3 3\n'))).toEqual([
      [9, 70, 7],
      [3, 3, 3],
    ]);
  });

  it("reads gzip regardless of the file's name", async () => {
    expect(plain(await read(gzipSync('1 1 2 2\n')))).toEqual([[1, 2, 2]]);
  });

  it('reads lines that are longer than one chunk', async () => {
    const durations = Array.from({ length: 200_000 }, (_, i) => i / 8);
    const [first, second] = await read(`0 200000 1 ${durations.join(' ')}\n1 1 1 1\n`);
    expect(first!.durationsSeconds.length).toBe(200_000);
    expect(first!.durationsSeconds[199_999]).toBe(199_999 / 8);
    expect(second!.submitSeconds).toBe(1);
  });

  it.each([
    ['0 2 5 5', '1 of 2 task durations is missing'],
    ['0 5 5 5 5', '3 of 5 task durations are missing'],
    ['0 2 5 5 5 5', 'the line has 3 durations for 2 tasks'],
    ['0 1 5', '1 of 1 task durations is missing'],
    ['0 1', 'the line ends after 2 fields'],
    ['7', 'the line ends after 1 fields'],
    ['0 2 5 5 -3', "duration 2 of 2 is '-3'"],
    ['0 2 5 NaN 3', "duration 1 of 2 is 'NaN'"],
    ['0 1 5 Infinity', "duration 1 of 1 is 'Infinity'"],
    ['0 1 5 0x10', "duration 1 of 1 is '0x10'"],
    ['0 1 5 1e300', "duration 1 of 1 is '1e300'"],
    ['1e300 1 5 5', "the submission time is '1e300'"],
    ['0 1 5 .', "duration 1 of 1 is '.'"],
    ['0 1 5 1.2.3', "duration 1 of 1 is '1.2.3'"],
    ['0 0 5', "the number of tasks is '0'"],
    ['0 2.5 5 5 5', "the number of tasks is '2.5'"],
    ['0 -1 5', "the number of tasks is '-1'"],
    ['0 1e300 5 5', "the number of tasks is '1e300'"],
    ['0 999999 5 5', '999998 of 999999 task durations are missing'],
    ['0 1 mean 5', "the mean task duration is 'mean'"],
    ['-1 1 5 5', "the submission time is '-1'"],
    ['nan 1 5 5', "the submission time is 'nan'"],
  ])('refuses the line `%s` with file and line', async (line, problem) => {
    const file = await fileOf(`0 1 1 1\n\n${line}\n0 1 1 1\n`);
    const failure = await collect(flattened(readTr(file))).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(WorkloadError);
    expect(failure).toMatchObject({
      file,
      line: 3,
      message: expect.stringContaining(`${file}:3: ${problem}; `),
    });
  });

  it.each(['', '\n\n \r\n'])('rejects an empty trace (%j)', async (content) => {
    await expect(openWorkload(await fileOf(content))).rejects.toThrow(
      /trace.tr: the trace is empty; known formats/,
    );
  });

  it('rejects truncated and damaged gzip data', async () => {
    const whole = gzipSync(Array.from({ length: 5000 }, (_, i) => `${i} 1 ${i} ${i}\n`).join(''));
    await expect(read(whole.subarray(0, whole.length / 2))).rejects.toThrow('the gzip data ends too early');
    whole[20]! ^= 0xff;
    whole[200]! ^= 0xff;
    await expect(read(whole)).rejects.toThrow(/the gzip data is damaged/);
  });

  it('rejects paths that are not files', async () => {
    await expect(collect(flattened(readTr(join(folder, 'missing.tr'))))).rejects.toThrow(
      'missing.tr: no such file; check the path',
    );
    await expect(collect(flattened(readTr(folder)))).rejects.toThrow('this is a folder');
  });
});

describe('numbers', () => {
  const numberOf = (text: string) =>
    new TrParser('f').parse(Buffer.from(`0 1 0 ${text}\n`)).durationsSeconds[0];

  it('are rounded as in JavaScript, in every notation', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }).map(String),
          fc.double({ min: 0, max: 1e6, noNaN: true }).map((value) => value.toFixed(9)),
          fc.tuple(fc.nat(), fc.stringMatching(/^\d{0,25}$/)).map(([whole, part]) => `${whole}.${part}`),
          fc.stringMatching(/^\d{1,25}$/),
          fc.constantFrom('5', '5.', '.5', '+2', '1e3', '1E-3', '9007199254740993'),
        ),
        (text) => {
          if (Number(text) <= 864e9) expect(numberOf(text)).toBe(Number(text));
          else expect(() => numberOf(text)).toThrow('from 0 to 864000000000');
        },
      ),
    );
  });
});

describe('trLines', () => {
  it('writes values that read back exactly', async () => {
    const seconds = fc.double({ min: 0, max: 1e9, noNaN: true });
    const job = fc.record({
      submitSeconds: seconds,
      meanSeconds: seconds,
      durationsSeconds: fc
        .array(seconds, { minLength: 1, maxLength: 20 })
        .map((list) => Float64Array.from(list)),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(job, { maxLength: 5 }), async (jobs) => {
        const lines = await collect(trLines(jobs));
        const back = [...unpackedJobs(new TrParser('f').parse(Buffer.from(lines.join(''))))];
        // -0 is written as 0, which is the same time.
        expect(
          plain(back)
            .flat()
            .map((value) => value + 0),
        ).toEqual(
          plain(jobs)
            .flat()
            .map((value) => value + 0),
        );
      }),
    );
  });
});

it('recognises its files by their beginning', () => {
  for (const line of ['0 1 5 5', '12.5 1', '  -3 x', 'NaN 1 1 1', '1e5\t2'])
    expect(looksLikeTr(line)).toBe(true);
  for (const line of ['{"submit":0}', '0,1,5,5', 'submit tasks', '600026,,6250', '<html>']) {
    expect(looksLikeTr(line)).toBe(false);
  }
});
