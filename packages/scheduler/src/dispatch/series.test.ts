import { COMPLETED, type Message, type MessageOf, PRESETS, parseJobSpec } from '@goshawk/core';
import { expect, test } from 'vitest';
import { CENTRAL, joined, loneScheduler, NO_LIMITS, W1, welcome } from '../lone-scheduler.fixture.js';

interface Setting {
  readonly options?: Record<string, string>;
  /** Whether users have limits. */
  readonly limited?: boolean;
  /** Whether the other jobs come after the task has ended. */
  readonly later?: boolean;
  /** Names of the jobs whose tasks never lend. */
  readonly noLend?: readonly string[];
}

/** The job whose task follows one of ann's in a slot that central matched with it; undefined: none. */
function nextAfter(setting: Setting, second: string, third: string): string | undefined {
  const { options = {}, limited = false, later = false, noLend = [] } = setting;
  const sent: Message[] = [];
  const scheduler = loneScheduler({}, { send: (_, message) => void sent.push(message) });
  scheduler.start(0);
  const preset = { ...PRESETS.goshawk, decidedBy: { policy: 'goshawk', options } };
  scheduler.receive(CENTRAL, welcome({ preset, policy: 'goshawk', seriesMs: 100 }), 0);
  scheduler.receive(CENTRAL, joined(1, [W1], 1), 0);
  const holders = limited ? [{ ...NO_LIMITS, holder: 'ben', running: 1 }] : [];
  scheduler.receive(
    CENTRAL,
    { type: 'limits', holders, elsewhere: [], projectsElsewhere: [], part: undefined },
    0,
  );
  const submit = (user: string, name: string, tasks: number) =>
    scheduler.submit(
      parseJobSpec({
        ...{ user, name, tasks: { count: tasks, run: { sleep: '1ms' } }, estimate: '1ms' },
        ...(noLend.includes(name) ? { lend: false } : {}),
      }),
      undefined,
      0,
    );
  const job = submit('ann', 'first', 1);
  const submitOthers = () => [submit(second, 'second', 1), submit(third, 'third', 2)];
  const before = later ? [] : submitOthers();
  const workers = [{ worker: W1, match: 1 }];
  const noneWaiting = later || undefined;
  const matched = { job: job.number, stage: 0, workers, noneWaiting, newcomers: undefined };
  scheduler.receive(CENTRAL, { type: 'matched', ...matched }, 1);
  const runs = () => sent.splice(0).filter((message): message is MessageOf<'run'> => message.type === 'run');
  const [{ task, attempt }] = runs() as [MessageOf<'run'>];
  const report = { report: 1, job: job.number, task, attempt, outcome: COMPLETED, runMs: 1 };
  scheduler.receive(W1, { type: 'ended', ...report, output: [], outputBytes: 0, ask: 1 }, 2);
  const others = later ? submitOthers() : before;
  const next = runs()[0]?.job;
  return others.find(({ number }) => number === next)?.spec.name;
}

test('a series continues while only one user waits; otherwise central decides the order', () => {
  expect(nextAfter({}, 'ann', 'ann')).toBe('second');
  expect(nextAfter({}, 'ann', 'ben')).toBeUndefined();
  expect(nextAfter({}, 'ben', 'ann')).toBeUndefined();
  expect(nextAfter({ options: { shareBy: 'none' } }, 'ben', 'ann')).toBe('second');
});

test('with limits, a series does not continue with the task of another user, which central would not count', () => {
  expect(nextAfter({ limited: true }, 'ann', 'ann')).toBe('second');
  expect(nextAfter({ later: true }, 'ben', 'ben')).toBe('second');
  expect(nextAfter({ limited: true, later: true }, 'ben', 'ben')).toBeUndefined();
  expect(nextAfter({ limited: true, options: { shareBy: 'none' } }, 'ben', 'ann')).toBeUndefined();
});

test.each([false, true])(
  'tasks that never lend are in no series, because central knows only its first task (%s)',
  (later) => {
    expect(nextAfter({ later }, 'ann', 'ann')).toBe('second');
    expect(nextAfter({ later, noLend: ['first'] }, 'ann', 'ann')).toBeUndefined();
    expect(nextAfter({ later, noLend: ['second', 'third'] }, 'ann', 'ann')).toBeUndefined();
  },
);
