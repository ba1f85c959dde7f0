import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InputError } from '@goshawk/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytesOf, readGivenFile } from './given-file.js';

let folder: string;
const at = (name: string) => join(folder, name);
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-given-file-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const never = new AbortController().signal;
const read = async (path: string, signal = never) =>
  Buffer.from(
    await readGivenFile(
      path,
      signal,
      (why, cause) => new InputError('no-file', `cannot read it: ${why}`, '', { cause }),
    ),
  ).toString();

describe('a file that the user named', () => {
  it('is read whole, also through a link', async () => {
    writeFileSync(at('#~ a\nb'), 'x'.repeat(300_000));
    symlinkSync(at('#~ a\nb'), at('link'));
    expect((await read(at('link'))).length).toBe(300_000);
    expect(await read('/dev/null')).toBe('');
  });

  it.each([
    ['nowhere', 'there is no such file'],
    ['.', 'it is a folder'],
    ['loop', 'it is a symbolic link that leads to itself'],
  ])('%s is an error', async (name, why) => {
    if (name === 'loop') symlinkSync('loop', at(name));
    await expect(read(at(name))).rejects.toThrow(`cannot read it: ${why}`);
  });

  it('has a maximum size', async () => {
    await expect(read('/dev/zero')).rejects.toThrow('cannot read it: it has more than 64 MiB');
    await expect(bytesOf((async function* () {})(), never, 0)).resolves.toHaveLength(0);
  });
});

describe('a pipe', () => {
  const pipe = (name: string): string => {
    execFileSync('mkfifo', [at(name)]);
    return at(name);
  };

  it('is read to its end once it has a writer', async () => {
    const path = pipe('written');
    const found = read(path);
    const writer = await open(path, 'w');
    await writer.write('one, ');
    await writer.write('two');
    await writer.close();
    expect(await found).toBe('one, two');
  });

  it('without a writer is given up at a signal', async () => {
    const interrupt = new AbortController();
    const found = read(pipe('silent'), interrupt.signal);
    setImmediate(() => interrupt.abort('SIGINT'));
    await expect(found).rejects.toBe('SIGINT');
    await expect(read(pipe('late'), interrupt.signal)).rejects.toBe('SIGINT');
  });

  it('whose writer stays is given up at a signal', async () => {
    const interrupt = new AbortController();
    const path = pipe('open');
    const found = read(path, interrupt.signal);
    const writer = await open(path, 'w');
    await writer.write('one');
    setImmediate(() => interrupt.abort('SIGTERM'));
    await expect(found).rejects.toBe('SIGTERM');
    await writer.close();
  });
});
