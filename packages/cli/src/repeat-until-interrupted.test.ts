import type { Context } from '@goshawk/command';
import { UnreachableError } from '@goshawk/core';
import { expect, it } from 'vitest';
import { repeatUntilInterrupted } from './repeat-until-interrupted.js';

/** Returns the notes after checks with these outcomes; Ctrl-C is pressed during the last one. */
async function notesOf(...looks: readonly (Error | 'well')[]): Promise<string[]> {
  const interrupt = new AbortController();
  const notes: string[] = [];
  const context = { interrupted: interrupt.signal, note: (text: string) => notes.push(text) };
  let looked = 0;
  await repeatUntilInterrupted(context as unknown as Context, 0, async () => {
    const look = looks[looked++]!;
    if (looked === looks.length) interrupt.abort(look);
    if (look !== 'well') throw look;
  });
  return notes;
}

const away = new UnreachableError('unreachable', 'nobody answers', 'try again');

it('reports an unreachable process once, and its return once', async () => {
  expect(await notesOf('well', away, away, 'well', 'well', 'well')).toEqual([
    'nobody answers; try again',
    'the cluster responds again',
  ]);
});

it('Ctrl-C while nothing responds does not report a recovery', async () => {
  expect(await notesOf(away, new Error('aborted'))).toEqual(['nobody answers; try again']);
});

it('a permanent error is thrown', async () => {
  await expect(notesOf(new Error('a bug'), 'well')).rejects.toThrow('a bug');
});
