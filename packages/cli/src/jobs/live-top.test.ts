import { cellWidth, painter } from '@goshawk/command';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  following,
  keysIn,
  press,
  refreshed,
  screen,
  TOP_START,
  type TopList,
  type TopState,
} from './live-top.js';

const PLAIN = painter({ color: false });
const LIST: TopList = {
  head: 'id   name',
  rows: Array.from({ length: 100 }, (_, n) => ({
    name: `a-${n}`,
    line: `a-${n}  etl ${'x'.repeat(n)}`,
    note: '3 waiting',
  })),
};
const KEYS = [
  '1',
  '2',
  '3',
  '4',
  '5',
  'up',
  'down',
  'j',
  'k',
  'pageup',
  'pagedown',
  'enter',
  'l',
  'y',
  'n',
  'c',
  'd',
];

function pressed(keys: readonly string[], from: TopState = TOP_START) {
  return keys.reduce<ReturnType<typeof press>>(({ state }, key) => press(state, key, LIST), { state: from });
}

describe('goshawk top', () => {
  it('fills terminals of any size exactly after any keys', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...KEYS, '/', 'escape', 'backspace', '?', 'ä', '日')),
        fc.integer({ min: 20, max: 200 }),
        fc.integer({ min: 4, max: 50 }),
        (keys, columns, rows) => {
          const { state } = pressed(keys);
          for (const body of [LIST, 'one\ntwo', { head: '', rows: [] }]) {
            const lines = screen(state, body, { columns, rows }, PLAIN);
            expect(lines).toHaveLength(rows);
            for (const line of lines) expect(cellWidth(line)).toBeLessThanOrEqual(columns);
          }
        },
      ),
    );
  });

  it('draws 24 lines of 80 columns in a terminal of unknown size, which reports 0', () => {
    const lines = screen(TOP_START, 'x'.repeat(100), { columns: 0, rows: 0 }, PLAIN);
    expect(lines).toHaveLength(24);
    expect(cellWidth(lines[1]!)).toBe(80);
  });

  it('scrolls the overview, and returns from its end with one key', () => {
    const text = Array.from({ length: 60 }, (_, line) => `line ${line}`).join('\n');
    const size = { columns: 80, rows: 24 };
    const scroll = (keys: readonly string[]) =>
      keys.reduce((state, key) => press(state, key, text).state, TOP_START);
    expect(screen(scroll(['j']), text, size, PLAIN)[1]).toBe('line 1');
    const end = scroll(Array.from({ length: 9 }, () => 'pagedown'));
    expect(screen(end, text, size, PLAIN)).toContain('line 59');
    expect(
      screen(
        scroll([
          ...Array.from({ length: 9 }, () => 'pagedown'),
          ...Array.from({ length: 6 }, () => 'pageup'),
        ]),
        text,
        size,
        PLAIN,
      )[1],
    ).toBe('line 0');
  });

  it('asks for confirmation before it cancels or drains, and accepts only y', () => {
    const asked = pressed(['2', 'j', 'c']);
    expect(asked.action).toBeUndefined();
    expect(asked.state.confirm?.question).toBe('cancel a-1? 3 waiting');
    expect(press(asked.state, 'y', LIST).action).toEqual({ kind: 'cancel', of: 'a-1' });
    for (const key of KEYS.filter((each) => each !== 'y'))
      expect(press(asked.state, key, LIST).action).toBeUndefined();
    expect(pressed(['3', 'd', 'y']).action).toEqual({ kind: 'drain', of: 'a-0' });
  });

  it('does not ask to drain a lost worker', () => {
    const lost = { head: '', rows: [{ name: 'w1', line: 'w1', hasEnded: true }] };
    const { state, action } = press({ ...TOP_START, view: 'workers' }, 'd', lost);
    expect({ action, message: state.message, confirm: state.confirm }).toEqual({ message: 'w1 is lost' });
  });

  it('does not ask to cancel a job that has ended', () => {
    const ended = { head: '', rows: [{ name: 'a-1', line: 'a-1', hasEnded: true }] };
    const { state, action } = press({ ...TOP_START, view: 'jobs' }, 'c', ended);
    expect({ action, message: state.message, confirm: state.confirm }).toEqual({ message: 'a-1 has ended' });
  });

  it('filters, and shows details, output and reasons of the selected line', () => {
    expect(pressed(['2', '/', 'e', 't', 'l', 'enter'])).toMatchObject({
      state: { filter: 'etl', typing: undefined },
      action: { kind: 'refresh' },
    });
    for (const [key, kind] of [
      ['enter', 'details'],
      ['l', 'logs'],
      ['y', 'why'],
    ] as const)
      expect(pressed(['2', 'down', 'down', key]).action).toEqual({ kind, of: 'a-2' });
    expect(pressed(['1', 'l']).action).toBeUndefined();
  });

  it('a refresh keeps the selected job, wherever its line is', () => {
    const selected = pressed(['2', 'j', 'j']).state;
    const [first, ...others] = LIST.rows;
    const newer = { ...LIST, rows: [{ name: 'z-9', line: 'z-9' }, first!, ...others] };
    const now = following(selected, LIST, newer);
    expect(press(now, 'c', newer).state.confirm?.action).toEqual({ kind: 'cancel', of: 'a-2' });
    // A job that is no longer listed leaves the cursor where it is.
    const without = { ...LIST, rows: LIST.rows.filter(({ name }) => name !== 'a-2') };
    expect(following(selected, LIST, without).selected).toBe(2);
    expect(following(selected, LIST, 'unknown')).toBe(selected);
  });

  it('keeps the selected line visible', () => {
    const { state } = pressed(['2', ...new Array(7).fill('pagedown')]);
    expect(
      screen(state, LIST, { columns: 80, rows: 24 }, PLAIN).filter((line) => line.startsWith('> a-70 ')),
    ).toHaveLength(1);
  });

  it('goes to the first and last line, and from a page to a view', () => {
    expect(pressed(['2', 'end']).state.selected).toBe(99);
    expect(pressed(['2', 'G', 'g']).state.selected).toBe(0);
    const page = pressed(['2', '?']).state;
    expect(press(page, '3', LIST)).toMatchObject({ state: { view: 'workers', detail: undefined } });
  });

  it('says how many jobs are not listed', () => {
    const size = { columns: 80, rows: 24 };
    const lines = screen({ ...TOP_START, view: 'jobs' }, { ...LIST, hidden: 1_234 }, size, PLAIN);
    expect(lines).toContain('  1 of 100 listed, and 1,234 more (/ filters)');
  });

  it('shows the error of a refresh until one succeeds, and keeps the answer of an action', () => {
    const lines = (state: TopState) => screen(state, LIST, { columns: 80, rows: 24 }, PLAIN).join('\n');
    const failed = refreshed({ ...TOP_START, view: 'jobs' }, new Error('central does not answer'));
    expect(lines(failed)).toContain('central does not answer');
    expect(lines(refreshed(failed))).not.toContain('central does not answer');
    expect(lines(refreshed({ ...failed, message: 'a-0 is cancelled' }))).toContain('a-0 is cancelled');
  });

  it('reads keys of terminals, several in one chunk', () => {
    expect(keysIn('j\u001b[A\u001b[6~\r\u0003q')).toEqual(['j', 'up', 'pagedown', 'enter', 'ctrl-c', 'q']);
    expect(keysIn('\u001b[H\u001b[4~')).toEqual(['home', 'end']);
  });
});
