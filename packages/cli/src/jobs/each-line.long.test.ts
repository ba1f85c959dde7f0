import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TestCluster } from '../test-cluster.fixture.js';

test('--each-line passes 2,000 lines to their tasks byte for byte', async () => {
  const up = await TestCluster.start(['--workers', '20', '--schedulers', '3']);
  try {
    const file = join(up.folder, 'lines');
    await writeFile(file, awkwardLines(2_000));
    const submitted = await up.goshawk(['submit', '--wait', '--each-line', file, '--', 'cat']);
    expect(submitted.exitCode, submitted.stderr).toBe(0);
    const { stdoutBytes } = await up.goshawk(['logs', submitted.stdout.trim()]);
    expect(stdoutBytes.equals(await readFile(file))).toBe(true);
  } finally {
    await up.stop();
  }
});

/** Returns unusual lines of all kinds, all different except for empty ones; the last has no newline. */
function awkwardLines(count: number): Buffer {
  const kinds: ((i: number) => Uint8Array)[] = [
    (i) => Buffer.from(`plain ${i}`),
    (i) => Buffer.from(`"double" 'single' \`back\` $HOME \\n \\ ${i}`),
    (i) => Buffer.from(`üñí ☃ 𝄞 ${i}`),
    () => new Uint8Array(),
    (i) => Buffer.from(`  spaces\t${i}  `),
    (i) => Uint8Array.of(0xff, 0xfe, i & 0xff, 0x80),
    (i) => Buffer.from(`nul \0 ${i}`),
    (i) => Buffer.from(`-n {} * ; | & > /dev/null # ${i}\r`),
    (i) => Buffer.alloc(i % 500, 'x'),
  ];
  const newline = Uint8Array.of(0x0a);
  const lines = Array.from({ length: count }, (_, i) => {
    if (i === count - 1) return Buffer.from('the last one');
    const line = i === 1_000 ? Buffer.alloc(300_000, 'L') : kinds[i % kinds.length]!(i);
    return Buffer.concat([Buffer.from(line).filter((byte) => byte !== 0x0a), newline]);
  });
  return Buffer.concat(lines);
}
