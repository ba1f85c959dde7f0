import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OutputLimit, tailChunks } from './output-limit.js';
import { OutputTail } from './output-tail.js';

type Piece = readonly ['stdout' | 'stderr', string];

function kept(bytesMax: number, pieces: readonly Piece[]): { stdout: string; stderr: string } {
  const limit = new OutputLimit(bytesMax);
  const texts = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
  for (const [stream, piece] of pieces)
    for (const chunk of limit.keep(stream, Buffer.from(piece))) texts[chunk.stream].push(chunk.bytes);
  for (const chunk of limit.end()) texts[chunk.stream].push(chunk.bytes);
  return {
    stdout: Buffer.concat(texts.stdout).toString(),
    stderr: Buffer.concat(texts.stderr).toString(),
  };
}

const gap =
  /goshawk: std(?:out|err) is too long[^\n]*\ngoshawk: (\d+) bytes of std(?:out|err) omitted here\n/;

describe('the limit of output', () => {
  it('keeps the first and the last bytes of each stream, and reports how many it omits', () => {
    const text = fc.stringMatching(/^[a-z\n]{0,9}$/);
    const pieces = fc.array(fc.tuple(fc.constantFrom('stdout' as const, 'stderr' as const), text), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(pieces, fc.nat(60), (printed, bytesMax) => {
        const tailMax = Math.floor(bytesMax / 8);
        const shown = kept(bytesMax, printed);
        for (const stream of ['stdout', 'stderr'] as const) {
          const whole = printed.flatMap(([of, text]) => (of === stream ? [text] : [])).join('');
          if (whole.length <= bytesMax) {
            expect(shown[stream]).toBe(whole);
          } else {
            const [head, omitted, tail] = shown[stream].split(gap);
            const first = whole.slice(0, bytesMax - tailMax);
            expect(head).toBe(/^$|\n$/.test(first) ? first : `${first}\n`);
            expect(tail).toBe(whole.slice(whole.length - tailMax));
            expect(Number(omitted)).toBe(whole.length - bytesMax);
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it('does not split a complete character', () => {
    const { stdout } = kept(64, [['stdout', '€'.repeat(100)]]);
    expect(stdout).not.toContain('\ufffd');
    const [head, , tail] = stdout.split(gap);
    expect(head).toBe(`${'€'.repeat(18)}\n`);
    expect(tail).toBe('€'.repeat(2));
  });

  it('keeps bytes that are not UTF-8', () => {
    const limit = new OutputLimit(16);
    const bytes = Buffer.alloc(16, 0xbf);
    const chunks = [...limit.keep('stdout', bytes), ...limit.end()];
    expect(Buffer.concat(chunks.map((chunk) => chunk.bytes)).equals(bytes)).toBe(true);
  });

  it('marks a gap on a separate line, without an empty line before it, as soon as bytes are dropped', () => {
    expect(kept(8, [['stdout', 'ab\ncd\n\nxyz']]).stdout).toMatch(/^ab\ncd\n\ngoshawk: stdout is too long/);
    expect(kept(8, [['stderr', 'abcdefghijk']]).stderr).toMatch(/^abcdefg\ngoshawk: stderr is too long/);
  });
});

describe('the end of output whose writer is stopped', () => {
  it('is read up to the last complete write', () => {
    const memory = OutputTail.memory(4);
    const tail = new OutputTail(memory);
    tail.push(Buffer.from('abcdef'));
    // The writer has reserved two bytes and overwritten the oldest ones.
    Atomics.store(new BigInt64Array(memory, 0, 2), 0, 8n);
    const [mark, bytes] = [...tailChunks('stdout', tail)];
    expect(Buffer.from(mark!.bytes).toString()).toBe('goshawk: 4 bytes of stdout omitted here\n');
    expect(Buffer.from(bytes!.bytes).toString()).toBe('ef');
  });
});
