import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OutputLimit } from './output-limit.js';

function keepAll(limit: OutputLimit, pieces: readonly string[]): { stdout: string; stderr: string } {
  const kept = { stdout: '', stderr: '' };
  for (const piece of pieces) {
    for (const { stream, bytes } of limit.keep('stdout', Buffer.from(piece))) {
      kept[stream] += Buffer.from(bytes).toString();
    }
  }
  return kept;
}

describe('the limit of output', () => {
  it('keeps exactly the first bytes, and says once when there were more', () => {
    const pieces = fc.array(fc.stringMatching(/^[a-z\n]{0,9}$/), { maxLength: 20 });
    fc.assert(
      fc.property(pieces, fc.nat(60), (texts, bytesMax) => {
        const whole = texts.join('');
        const { stdout, stderr } = keepAll(new OutputLimit(bytesMax), texts);
        expect(stdout).toBe(whole.slice(0, bytesMax));
        const notes = stderr.match(/goshawk: the output ends here/g) ?? [];
        expect(notes).toHaveLength(whole.length > bytesMax ? 1 : 0);
      }),
    );
  });

  it('counts both streams together', () => {
    const limit = new OutputLimit(4);
    expect([...limit.keep('stdout', Buffer.from('abc'))]).toEqual([
      { stream: 'stdout', bytes: Buffer.from('abc') },
    ]);
    const [kept, note] = [...limit.keep('stderr', Buffer.from('def'))];
    expect(kept).toEqual({ stream: 'stderr', bytes: Buffer.from('d') });
    expect(Buffer.from(note!.bytes).toString()).toBe(
      '\ngoshawk: the output ends here: 4 bytes are kept, the limit of a task; the rest is dropped\n',
    );
    expect([...limit.keep('stdout', Buffer.from('more'))]).toEqual([]);
  });

  it('starts its note on a line of its own, without an empty line before it', () => {
    expect(keepAll(new OutputLimit(3), ['ab\ncd']).stderr).toMatch(/^goshawk/);
    expect(keepAll(new OutputLimit(2), ['ab\ncd']).stderr).toMatch(/^\ngoshawk/);
  });
});
