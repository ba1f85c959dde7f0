import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rangeOf } from './file-answer.js';
import { gatewayTo } from './gateway.fixture.js';

const encoder = new TextEncoder();

it('a range has the bytes that were asked for, for any file and range', () => {
  const edge = fc.option(fc.nat(30), { nil: undefined });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 20 }), edge, edge, (bytes, first, last) => {
      const range = rangeOf(`bytes=${first ?? ''}-${last ?? ''}`, bytes.length);
      const isRange = first !== undefined ? last === undefined || last >= first : last !== undefined;
      if (!isRange) {
        expect(range).toBeUndefined();
        return;
      }
      const expected =
        first === undefined
          ? last === 0
            ? []
            : [...bytes].slice(-last!)
          : [...bytes].slice(first, (last ?? 30) + 1);
      if (range === 'outside') {
        expect(expected).toEqual([]);
        return;
      }
      const { from, to } = range!;
      expect([...bytes].slice(from, to + 1)).toEqual(expected);
    }),
  );
  for (const other of [undefined, '', 'bytes=', 'bytes=-', 'bytes=1-2,4-5', 'lines=1-2', 'bytes=a-b'])
    expect(rangeOf(other, 9)).toBeUndefined();
});

it('the output of a task can be downloaded, from any byte on', async () => {
  const text = 'line 1\nwarn ü\nline 2\n';
  const url = await gatewayTo({
    job: () => ({
      async *logs({ onDropped }: { onDropped: (gap: undefined, why: string) => void }) {
        onDropped(undefined, 'the disk of s0 was full');
        yield { stream: 'stdout', bytes: encoder.encode('line 1\n') };
        yield { stream: 'stderr', bytes: encoder.encode('warn ü\n') };
        yield { stream: 'stdout', bytes: encoder.encode('line 2\n') };
      },
    }),
  });
  const ask = async (query: string, range?: string) => {
    const answer = await fetch(`${url}/v1/jobs/a-1/output?${query}`, { headers: range ? { range } : {} });
    const { status, headers } = answer;
    return { status, headers, text: await answer.text() };
  };
  const all = await ask('task=7');
  expect([all.status, all.text]).toEqual([200, text]);
  expect(Object.fromEntries(all.headers)).toMatchObject({
    'accept-ranges': 'bytes',
    'content-disposition': 'attachment; filename="a-1-7.log"',
    'content-length': `${encoder.encode(text).length}`,
    'content-type': 'text/plain; charset=utf-8',
    'goshawk-missing': 'the disk of s0 was full',
  });
  expect((await ask('task=7&stream=stdout')).text).toBe('line 1\nline 2\n');
  const part = await ask('task=7', 'bytes=7-10');
  expect([part.status, part.text, part.headers.get('content-range')]).toEqual([206, 'warn', 'bytes 7-10/22']);
  const rest = await ask('task=7', 'bytes=15-');
  expect([rest.status, rest.text]).toEqual([206, 'line 2\n']);
  const beyond = await ask('task=7', 'bytes=22-');
  expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */22']);
  expect((await ask('')).status).toBe(400);
});
