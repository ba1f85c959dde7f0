import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { recordingContext } from './jobs.fixture.js';
import { lastLines } from './show-logs.js';
import {
  inTaskOrder,
  jsonOutput,
  type PrintedChunk,
  prefixedOutput,
  rawOutput,
  sortedOutput,
  wholeLines,
  withAttempts,
  withoutEscapes,
} from './task-output.js';

function chunk(task: number, text: string | Uint8Array, more: Partial<PrintedChunk> = {}): PrintedChunk {
  return { task, attempt: 1, stream: 'stdout', bytes: Buffer.from(text), ...more };
}

describe('output without escapes', () => {
  it('never moves the cursor of a terminal, for any chunks, and keeps text and tabs', () => {
    const evil = '\u001b]0;title\u0007a\u001b[2Jb\tc\u001b[31m!\u001b[0m\n10%\r20%\nlast\u0008';
    fc.assert(
      fc.property(fc.array(fc.nat(evil.length), { maxLength: 6 }), (cuts) => {
        const { context, written } = recordingContext();
        Object.assign(context.stdout, { isTTY: true });
        const sink = withoutEscapes(context, rawOutput(context));
        const places = [0, ...cuts.toSorted((a, b) => a - b), evil.length];
        for (const [index, from] of places.slice(0, -1).entries())
          sink.write(chunk(0, evil.slice(from, places[index + 1])));
        sink.end();
        expect(written.stdout).toBe('ab\tc!\n20%\nlast \n');
      }),
    );
  });

  it('has every byte if stdout is not a terminal', () => {
    const { context, written } = recordingContext();
    const sink = withoutEscapes(context, rawOutput(context));
    sink.write(chunk(0, '\u001b[31mred'));
    sink.end();
    expect(written.stdout).toBe('\u001b[31mred');
  });
});

describe('sorted output', () => {
  it('has the bytes of each task in task order', () => {
    const { context, written } = recordingContext();
    const sink = sortedOutput(context);
    for (const [task, text] of [
      [2, 'c'],
      [0, 'a'],
      [1, 'b\n'],
      [0, 'A\n'],
    ] as const)
      sink.write(chunk(task, text));
    expect(written.stdout).toBe('');
    sink.end();
    expect(written.stdout).toBe('aA\nb\nc');
  });

  it('is sorted up to a limit, then printed in complete lines', () => {
    const { context, written } = recordingContext();
    const sink = sortedOutput(context, 3);
    for (const [task, text] of [
      [1, 'b\n'],
      [0, 'a\n'],
      [3, 'd'],
      [2, 'c\n'],
      [3, 'D\n'],
    ] as const)
      sink.write(chunk(task, text));
    expect(written.stdout).toBe('a\nb\nc\ndD\n');
    expect(written.stderr).toContain('too much output to sort');
  });
});

describe('output of several attempts', () => {
  it('has a line on stderr where another attempt of a task begins', () => {
    const { context, written } = recordingContext();
    const sink = withAttempts(context, rawOutput(context));
    for (const [task, attempt, text] of [
      [0, 1, 'a\n'],
      [1, 2, 'b\n'],
      [0, 1, 'c\n'],
      [0, 2, 'd\n'],
    ] as const)
      sink.write(chunk(task, text, { attempt }));
    sink.end();
    expect(written.stdout).toBe('a\nb\nc\nd\n');
    expect(written.stderr).toBe('task 0: attempt 2 begins\n');
  });

  it('is that of the last ones if it is sorted', () => {
    const { context, written } = recordingContext();
    const sink = sortedOutput(context);
    sink.write(chunk(1, 'first half', { attempt: 1 }));
    sink.write(chunk(0, 'a\n'));
    sink.write(chunk(1, 'b\n', { attempt: 2 }));
    sink.end();
    expect(written.stdout).toBe('a\nb\n');
  });
});

describe('output with prefixes', () => {
  it('has complete lines, for any chunks in any order', () => {
    const { context, written } = recordingContext();
    const sink = prefixedOutput(context, { tasks: true, times: false });
    sink.write(chunk(1, 'one '));
    sink.write(chunk(2, 'two\nth'));
    sink.write(chunk(1, 'more\n\n'));
    sink.write(chunk(1, 'problem\n', { stream: 'stderr' }));
    sink.write(chunk(2, 'ree'));
    sink.write(chunk(2, 'again\n', { attempt: 2 }));
    expect(written.stdout).toBe('task 2 | two\ntask 1 | one more\ntask 1 | \ntask 2 (attempt 2) | again\n');
    sink.end();
    expect(written.stdout).toMatch(/task 2 \| three\n$/);
    expect(written.stderr).toBe('task 1 | problem\n');
  });

  it('has colors only on a terminal', () => {
    const { context, written } = recordingContext({ color: true });
    const sink = prefixedOutput(context, { tasks: true, times: false });
    sink.write(chunk(0, 'a\n'));
    sink.write(chunk(0, 'b\n', { stream: 'stderr' }));
    expect(written).toEqual({ stdout: '\u001b[36mtask 0 |\u001b[39m a\n', stderr: 'task 0 | b\n' });
  });

  it('passes on endless lines in parts', () => {
    const { context, written } = recordingContext();
    const sink = prefixedOutput(context, { tasks: true, times: false });
    for (let i = 0; i < 3; i++) sink.write(chunk(0, 'x'.repeat(40_000)));
    sink.end();
    expect(written.stdout.split('\n').map((line) => line.length)).toEqual([80_009, 40_009, 0]);
  });
});

it('output with times has the time at which each line began, in whole lines', () => {
  const { context, written } = recordingContext();
  const sink = prefixedOutput(context, { tasks: false, times: true });
  const at = Date.UTC(2026, 10, 30, 8, 15);
  sink.write(chunk(0, 'one\ntw', { at }));
  sink.write(chunk(1, 'other\n', { at: at + 250 }));
  sink.write(chunk(0, 'o\nend', { at: at + 1_000 }));
  sink.write(chunk(2, 'in a file\n'));
  sink.end();
  expect(written.stdout).toBe(
    [
      '2026-11-30T08:15:00.000Z one',
      '2026-11-30T08:15:00.250Z other',
      '2026-11-30T08:15:00.000Z two',
      '-                        in a file',
      '2026-11-30T08:15:01.000Z end',
      '',
    ].join('\n'),
  );
  const both = prefixedOutput(context, { tasks: true, times: true });
  both.write(chunk(7, 'x\n', { at, stream: 'stderr' }));
  expect(written.stderr).toBe('task 7 | 2026-11-30T08:15:00.000Z x\n');
});

it('output without prefixes has the bytes unchanged', () => {
  const { context, written } = recordingContext();
  const sink = rawOutput(context);
  sink.write(chunk(0, Uint8Array.of(0xff, 0, 0x0a)));
  sink.write(chunk(1, 'no newline', { stream: 'stderr' }));
  sink.end();
  expect(written).toEqual({ stdout: '\u00ff\0\n', stderr: 'no newline' });
});

it('output without prefixes ends its last line on a terminal, so that the next message starts a line', () => {
  const { context, written } = recordingContext();
  const sink = rawOutput({ ...context, stdout: { ...context.stdout, isTTY: true } });
  sink.write(chunk(0, 'no newline'));
  sink.end();
  expect(written.stdout).toBe('no newline\n');
});

it('output as JSON has one value per line, with bytes that are not text as base64', () => {
  const { context, written } = recordingContext();
  const sink = jsonOutput(context, 'a1-3');
  sink.write(chunk(0, 'ä\nb'));
  sink.write(chunk(1, Uint8Array.of(0xff, 0x0a), { at: Date.UTC(2026, 10, 30) }));
  sink.end();
  const line = { schema: 'goshawk.log/1', job: 'a1-3', attempt: 1, stream: 'stdout', at: null };
  expect(
    written.stdout
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text)),
  ).toEqual([
    { ...line, task: 0, text: 'ä\n' },
    { ...line, task: 1, base64: '/wo=', at: '2026-11-30T00:00:00.000Z' },
    { ...line, task: 0, text: 'b' },
  ]);
});

describe('output that is collected', () => {
  const chunks = [chunk(2, 'c\n'), chunk(0, 'a\n'), chunk(2, 'd\n', { stream: 'stderr' }), chunk(1, 'b')];

  it('is sorted by task, and keeps the order within a task', () => {
    expect(inTaskOrder(chunks).map(({ bytes }) => Buffer.from(bytes).toString())).toEqual([
      'a\n',
      'b',
      'c\n',
      'd\n',
    ]);
  });

  it('can be limited to the last lines of each task', () => {
    const last = inTaskOrder(lastLines([chunk(0, '1\n2\n3'), ...chunks, chunk(0, '\n4')], 2));
    expect(last.map(({ task, bytes }) => `${task}:${Buffer.from(bytes)}`)).toEqual([
      '0:\n',
      '0:4',
      '1:b',
      '2:c\n',
      '2:d\n',
    ]);
    expect(lastLines(chunks, 0)).toEqual([]);
    const late = [chunk(0, 'cause\n', { stream: 'stderr' }), chunk(0, '1\n2\n3\n')];
    const texts = (count: number) => lastLines(late, count).map(({ bytes }) => Buffer.from(bytes).toString());
    expect(texts(2)).toEqual(['cause\n', '2\n', '3\n']);
  });
});

it('assembled lines are the original output, by task and stream', () => {
  const piece = fc.record({
    task: fc.nat(2),
    stream: fc.constantFrom('stdout' as const, 'stderr' as const),
    text: fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 6 }),
  });
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const expected: Record<string, string> = {};
      const seen: Record<string, string> = {};
      const sink = wholeLines(({ task, stream, bytes }) => {
        seen[`${task}${stream}`] = (seen[`${task}${stream}`] ?? '') + Buffer.from(bytes).toString();
      });
      for (const { task, stream, text } of pieces) {
        if (text !== '') expected[`${task}${stream}`] = (expected[`${task}${stream}`] ?? '') + text;
        sink.write(chunk(task, text, { stream }));
      }
      sink.end();
      expect(seen).toEqual(expected);
    }),
  );
});
