import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Context, OutputStream } from '../context.js';
import { startProgress } from './progress.js';
import { cellWidth } from './width.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Returns a context that records stderr. */
function contextWith(global: { progress?: string; quiet?: boolean; json?: boolean }, isTTY: boolean) {
  let written = '';
  const stderr: OutputStream = {
    write: (text) => {
      written += text;
    },
    isTTY,
    columns: 80,
  };
  const context = {
    global: { progress: 'auto', quiet: false, json: false, ...global },
    stderr,
    note: (text: string) => {
      if (!global.quiet) stderr.write(`${text}\n`);
    },
  } as unknown as Context;
  return { context, written: () => stripVTControlCharacters(written), raw: () => written };
}

describe('without a terminal on stderr', () => {
  it.each(['auto', 'bar', 'plain'])('--progress %s prints a line every few seconds', (progress) => {
    const { context, written } = contextWith({ progress }, false);
    const shown = startProgress(context, 'jobs', 2_000);
    vi.advanceTimersByTime(4_000);
    shown.update(500);
    expect(written()).toBe('');
    vi.advanceTimersByTime(1_000);
    expect(written()).toBe('jobs: 500 of 2,000 (25%), 11 s left\n');
    shown.update(2_000, 'all ended');
    shown.stop();
    shown.stop();
    expect(written().split('\n').slice(1)).toEqual(['jobs: 2,000 of 2,000 (100%), all ended', '']);
    vi.advanceTimersByTime(60_000);
    expect(written().split('\n')).toHaveLength(3);
  });

  it('the estimate counts down without progress, and disappears at zero', () => {
    const { context, written } = contextWith({}, false);
    const shown = startProgress(context, 'jobs', 20);
    vi.advanceTimersByTime(1_000);
    shown.update(1);
    vi.advanceTimersByTime(29_000);
    shown.stop();
    const left = written()
      .split('\n')
      .flatMap((line) => /(\d+) s left/.exec(line)?.[1] ?? []);
    expect(left).toEqual(['15', '10', '5']);
    expect(written()).toMatch(/jobs: 1 of 20 \(5%\)\n$/);
  });

  it('prints nothing for a program that reads JSON, unless requested', () => {
    const { context, written } = contextWith({ json: true }, false);
    const shown = startProgress(context, 'jobs', 20);
    vi.advanceTimersByTime(60_000);
    shown.stop();
    expect(written()).toBe('');
  });

  it('omits the percentage if the total is unknown', () => {
    const { context, written } = contextWith({}, false);
    const shown = startProgress(context, 'read', 0);
    shown.update(1_234);
    shown.stop();
    expect(written()).toBe('read: 1,234\n');
  });

  it('prints progress of work that blocks the event loop', () => {
    const { context, written } = contextWith({}, false);
    const shown = startProgress(context, 'read', 100);
    const start = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => start + 11_000);
    shown.update(50);
    vi.mocked(performance.now).mockRestore();
    expect(written()).toBe('read: 50 of 100 (50%), 11 s left\n');
    shown.stop();
  });
});

describe('on a terminal', () => {
  it.each(['auto', 'bar'])('--progress %s draws a bar with messages above it', (progress) => {
    const { context, written, raw } = contextWith({ progress }, true);
    const shown = startProgress(context, 'jobs', 2_000);
    shown.update(1_000, 'half');
    vi.advanceTimersByTime(1_000);
    expect(written()).toContain('50%  1,000/2,000  half');
    shown.say('a worker was lost');
    expect(written()).toContain('a worker was lost\n');
    shown.stop();
    shown.stop();
    // The cursor ends up on a new line.
    expect(written().endsWith('\n')).toBe(true);
    for (const jump of ['\u001b7', '\u001b8']) expect(raw()).not.toContain(jump);
  });

  it('cuts a long bar to the terminal, with room for ^C', () => {
    const { context, written } = contextWith({}, true);
    const shown = startProgress(context, 'jobs', 10);
    shown.update(5, 'as long as this, it has no room on a terminal that is so narrow');
    shown.stop();
    const last = written().trimEnd().split('\r').at(-1)!;
    expect(last).toHaveLength(78);
    expect(last.endsWith('…')).toBe(true);
  });

  it('never draws a bar that wraps, since it could not overwrite it', () => {
    const { context, written } = contextWith({}, true);
    startProgress(context, `draining ${'漢'.repeat(40)}`, 10).stop();
    for (const drawn of written().split('\r')) expect(cellWidth(drawn.trimEnd())).toBeLessThanOrEqual(80);
  });

  it('--progress plain draws no bar', () => {
    const { context, written } = contextWith({ progress: 'plain' }, true);
    startProgress(context, 'jobs', 10).stop();
    expect(written()).toBe('jobs: 0 of 10 (0%)\n');
  });
});

it.each([
  [{ progress: 'none' }, 'a line\n'],
  [{ quiet: true }, ''],
])('%j shows nothing', (global, said) => {
  const { context, written } = contextWith(global, true);
  const shown = startProgress(context, 'jobs', 10);
  shown.update(5);
  vi.advanceTimersByTime(60_000);
  shown.say('a line');
  shown.stop();
  expect(written()).toBe(said);
});
