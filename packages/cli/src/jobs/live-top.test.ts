import { cellWidth, painter } from '@goshawk/command';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  arranged,
  following,
  keysIn,
  press,
  refreshed,
  TOP_START,
  type TopList,
  type TopState,
} from './live-top.js';
import { screen } from './top-screen.js';

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
    expect(press(asked.state, 'y', LIST).action).toEqual({ kind: 'cancel', of: ['a-1'] });
    for (const key of KEYS.filter((each) => each !== 'y'))
      expect(press(asked.state, key, LIST).action).toBeUndefined();
    expect(pressed(['3', 'd', 'y']).action).toEqual({ kind: 'drain', of: ['a-0'] });
  });

  it('drains a lost worker, which takes it off the list', () => {
    const lost = { head: '', rows: [{ name: 'w1', line: 'w1', hasEnded: true }] };
    const asked = press({ ...TOP_START, view: 'workers' }, 'd', lost);
    expect(press(asked.state, 'y', lost).action).toEqual({ kind: 'drain', of: ['w1'] });
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
    expect(press(now, 'c', newer).state.confirm?.action).toEqual({ kind: 'cancel', of: ['a-2'] });
    // A job that is no longer listed leaves the cursor where it is, and no key acts on the job that took its place.
    const without = { ...LIST, rows: LIST.rows.filter(({ name }) => name !== 'a-2') };
    const left = following(selected, LIST, without);
    expect(left.selected).toBe(2);
    for (const key of ['c', 'h', 't', '+', 'enter'])
      expect(press(left, key, without)).toMatchObject({
        state: { message: 'a-2 is not listed any more', confirm: undefined },
      });
    expect(press(left, 'j', without).state.at).toBe('a-4');
    expect(following(selected, LIST, 'unknown')).toBe(selected);
  });

  it('marks rows, and asks once for all of them', () => {
    const { state } = pressed(['2', ' ', ' ', 'j', ' ', 'c']);
    expect(state.confirm).toEqual({
      question: 'cancel 3 jobs? a-0, a-1, a-3',
      action: { kind: 'cancel', of: ['a-0', 'a-1', 'a-3'] },
    });
    expect(pressed(['2', '*']).state.marks.size).toBe(100);
    expect(pressed(['2', '*', 'escape']).state.marks.size).toBe(0);
  });

  it('holds, releases and retries at once, and changes only what the change can affect', () => {
    const rows = [
      { name: 'a', line: '', isHeld: true },
      { name: 'b', line: '', hasEnded: true },
      { name: 'c', line: '' },
    ];
    const list = { head: '', rows };
    const jobs: TopState = { ...TOP_START, view: 'jobs' };
    expect(press(jobs, 'h', list).action).toEqual({ kind: 'release', of: ['a'] });
    expect(press({ ...jobs, at: 'c' }, 'h', list).action).toEqual({ kind: 'hold', of: ['c'] });
    expect(press({ ...jobs, at: 'b' }, 't', list).action).toEqual({ kind: 'retry', of: ['b'] });
    expect(press({ ...jobs, at: 'c' }, 't', list).state.message).toBe('c has not ended');
    expect(press({ ...jobs, at: 'c' }, '+', list).action).toEqual({ kind: 'raise', of: ['c'] });
    const marked = { ...jobs, marks: new Set(['a', 'b', 'c']) };
    expect(press(marked, '-', list).state.confirm?.action).toEqual({ kind: 'lower', of: ['a', 'c'] });
  });

  it('sorts by any column, and the cursor stays at its job', () => {
    const rows = [3, 1, 2].map((n) => ({ name: `a-${n}`, line: '', by: { name: `${n}`, tasks: -n } }));
    const list = { head: '', rows };
    const names = (state: TopState) => (arranged(list, state) as TopList).rows.map(({ name }) => name);
    const jobs: TopState = { ...TOP_START, view: 'jobs', at: 'a-1' };
    const byName = press(jobs, 's', list).state;
    expect([byName.sort, byName.at, names(byName)]).toEqual(['name', 'a-1', ['a-1', 'a-2', 'a-3']]);
    const byTasks = press(byName, 's', list).state;
    expect([byTasks.sort, names(byTasks)]).toEqual(['tasks', ['a-3', 'a-2', 'a-1']]);
    expect(names(press(byTasks, 'S', list).state)).toEqual(['a-1', 'a-2', 'a-3']);
    expect(press(byTasks, 's', list).state.sort).toBeUndefined();
  });

  it('takes commands, which may be shortened', () => {
    const typed = (text: string, from: readonly string[] = ['2']) =>
      pressed([...from, ':', ...text, 'enter']);
    expect(typed('work').state.view).toBe('workers');
    expect(typed('filter state:failed').state.filter).toBe('state:failed');
    expect(typed('cancel a-7').state.confirm?.action).toEqual({ kind: 'cancel', of: ['a-7'] });
    // The only job whose id begins so.
    expect(typed('hold a-9').action).toEqual({ kind: 'hold', of: ['a-9'] });
    expect(typed('retry a-5 z-1').state.confirm?.action).toEqual({ kind: 'retry', of: ['a-5', 'z-1'] });
    expect(typed('logs a-3').action).toEqual({ kind: 'logs', of: 'a-3' });
    expect(typed('why', ['2', 'j']).action).toEqual({ kind: 'why', of: 'a-1' });
    expect(typed('quit').action).toEqual({ kind: 'quit' });
    expect(typed('re').state.message).toBe(':re is one of reasons, release, retry');
    expect(typed('').action).toBeUndefined();
    expect(typed('drain').state.message).toBe('drain: show workers first');
  });

  it('never moves the cursor by itself, and changes what is marked or selected and nothing else', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const row = fc.record({
      name: fc.constantFrom(...names),
      line: fc.constant('line'),
      hasEnded: fc.boolean(),
      isHeld: fc.boolean(),
      by: fc.record({ name: fc.constantFrom(...names), tasks: fc.nat(9) }),
    });
    const list = fc
      .uniqueArray(row, { selector: ({ name }) => name, maxLength: 6 })
      .map((rows): TopList => ({ head: 'head', rows }));
    const keys = [
      '2',
      '3',
      '1',
      'up',
      'j',
      'G',
      ' ',
      '*',
      's',
      'S',
      'c',
      'h',
      't',
      '+',
      '-',
      'd',
      'y',
      'n',
      'q',
    ];
    const event = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.constantFrom(...keys, 'enter', 'escape', 'backspace', '/', ':', '?', 'r', 'l', '日'),
      },
      {
        weight: 1,
        arbitrary: fc.constantFrom('sort n', 'cancel', 'hold a', 'release', 'drain', 'jobs', 'x', ''),
      },
      { weight: 2, arbitrary: list },
    );
    fc.assert(
      fc.property(list, fc.array(event, { maxLength: 60 }), (first, events) => {
        let state: TopState = { ...TOP_START, view: 'jobs' };
        let listed: TopList | string = first;
        let body = arranged(listed, state);
        state = following(state, '', body);
        for (const each of events) {
          if (typeof each !== 'string') {
            listed = each;
            const next = arranged(listed, state);
            const before = state;
            state = following(state, body, next);
            body = next;
            if (before.at !== undefined) expect(state.at).toBe(before.at);
            const present = new Set(each.rows.map(({ name }) => name));
            expect([...state.marks]).toEqual(
              each === listed ? [...state.marks].filter((name) => present.has(name)) : [],
            );
            continue;
          }
          // A word is typed as a command.
          const isWord = each === '' || (each.length > 1 && !/^(up|enter|escape|backspace)$/.test(each));
          for (const key of isWord ? [':', ...each, 'enter'] : [each]) {
            const { marks, at, confirm, typing, detail } = state;
            const next = press(state, key, body);
            const { action } = next;
            const changing = next.state.confirm !== confirm ? next.state.confirm?.action : action;
            const isQuit =
              typing === undefined
                ? key === 'q' && detail === undefined
                : /^:qu?i?t?$/.test(`:${typing.text.trim()}`);
            if (action?.kind === 'quit') expect(isQuit).toBe(true);
            else if (changing !== undefined && 'of' in changing && typeof changing.of !== 'string') {
              const rows = typeof body === 'string' ? [] : body.rows;
              const able = new Set(marks.size > 0 ? marks : at === undefined ? [rows[0]?.name] : [at]);
              if (confirm !== undefined) expect(changing).toBe(confirm.action);
              else if (typing === undefined) for (const name of changing.of) expect(able).toContain(name);
              else if (typing.text === 'hold a') expect(changing.of).toEqual(['a']);
              else for (const name of changing.of) expect(able).toContain(name);
              if (typing === undefined && confirm === undefined)
                for (const name of changing.of) expect(rows.map((one) => one.name)).toContain(name);
            }
            const isMove = ['up', 'j', 'G', ' ', 'escape', 'enter', '1', '2', '3'].includes(key);
            if (!isMove) expect(next.state.at).toBe(at);
            if (next.state.view !== state.view) listed = first;
            state = next.state;
            body = arranged(listed, state);
            expect(screen(state, body, { columns: 60, rows: 10 }, PLAIN)).toHaveLength(10);
          }
        }
      }),
      { numRuns: 400 },
    );
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
