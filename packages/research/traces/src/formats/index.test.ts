import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WorkloadError } from '../errors.js';
import { jobOf } from '../job.js';
import { detectFormat, FORMATS } from './index.js';
import { writeTrace } from './write.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-formats-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function detect(content: string | Buffer) {
  const file = join(folder, 'somefile');
  await writeFile(file, content);
  return (await detectFormat(file)).name;
}

describe('detectFormat', () => {
  it('detects `.tr` by its content, even if it is compressed or has later errors', async () => {
    expect(await detect('\n\n0 1 5 5\n')).toBe('tr');
    expect(await detect(gzipSync('0 1 5 5\n'))).toBe('tr');
    expect(await detect('0 1\n')).toBe('tr');
  });

  it.each([
    'attempts',
    'submitted_time',
    'tasks',
    'jobs',
    'job.start.ms',
    'workflow',
    'machines',
    'collection_id',
  ])('detects a journal in which some command contains the text "%s" of another format', async (name) => {
    const spec = { env: { [name]: [] } };
    const record = { id: 'a-1', kind: 'accepted', job: 1, at: 5, spec };
    expect(await detect(`${JSON.stringify(record)}\n`)).toBe('journal');
  });

  it('reports the start of an unknown file and the known formats', async () => {
    await expect(detect('\njob,node\n1,2\n')).rejects.toThrow(
      `somefile:2: not a known trace format: it begins with 'job,node'; known formats are ${Object.keys(FORMATS).join(', ')} (`,
    );
    await expect(detect(Buffer.from([1, 2, 3]))).rejects.toThrow('it is not text');
    await expect(detect(Buffer.from([0, 1, 2, 3, 0]))).rejects.toThrow(/somefile:1: .*NUL byte/);
    await expect(detect('')).rejects.toThrow('the trace is empty');
  });

  it.each([
    ['zstd', [0x28, 0xb5, 0x2f, 0xfd, 0, 0], /is compressed with zstd; decompress it first: zstd -d FILE/],
    ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00], /is compressed with xz; .*xz -d FILE/],
    ['bzip2', [...Buffer.from('BZh91AY')], /is compressed with bzip2; .*bzip2 -d FILE/],
    ['zip', [0x50, 0x4b, 0x03, 0x04, 0], /is a zip archive; .*unzip FILE/],
    ['UTF-16', [0xff, 0xfe, 0x30, 0], /is UTF-16 text; .*iconv/],
  ])('names %s and how to get rid of it', async (_, bytes, message) => {
    await expect(detect(Buffer.from(bytes))).rejects.toThrow(message);
  });

  it('identifies a JSON document whose first line is not JSON', async () => {
    await expect(detect('{\n  "a": 1\n}\n')).rejects.toThrow(
      /somefile:1: unknown JSON document; known formats are /,
    );
  });
});

describe('writeTrace', () => {
  const jobs = [jobOf(0, Float64Array.of(1, 2, 3)), jobOf(1.5, Float64Array.of(0.25))];
  const text = '0 3 2 1 2 3\n1.5 1 0.25 0.25\n';

  it('writes text, or gzip if the name requests it', async () => {
    await writeTrace(join(folder, 'out.tr'), FORMATS.tr!, jobs);
    expect(await readFile(join(folder, 'out.tr'), 'utf8')).toBe(text);
    await writeTrace(join(folder, 'out.tr.gz'), FORMATS.tr!, jobs);
    expect(gunzipSync(await readFile(join(folder, 'out.tr.gz'))).toString()).toBe(text);
  });

  it('leaves no partial file and keeps the old one if the jobs fail', async () => {
    const file = join(folder, 'kept.tr');
    await writeFile(file, 'before');
    const failing = (function* () {
      yield jobs[0]!;
      throw new WorkloadError('line 2 is wrong', 'mend it');
    })();
    await expect(writeTrace(file, FORMATS.tr!, failing)).rejects.toThrow('line 2 is wrong; mend it');
    expect(await readFile(file, 'utf8')).toBe('before');
    expect((await readdir(folder)).filter((name) => name.includes('partial'))).toEqual([]);
  });

  it('reports a write error in one line', async () => {
    await expect(writeTrace(join(folder, 'no', 'such', 'x.tr'), FORMATS.tr!, jobs)).rejects.toThrow(
      /x\.tr: cannot be written \(ENOENT.*\); check the folder/,
    );
  });
});
