import { describe, expect, it } from 'vitest';
import { families, lint } from './lint.js';

const GOOD = [
  '# HELP goshawk_ready 1 while /readyz answers 200.',
  '# TYPE goshawk_ready gauge',
  'goshawk_ready 1',
  '# HELP goshawk_scheduler_jobs Number of active jobs.',
  '# TYPE goshawk_scheduler_jobs gauge',
  'goshawk_scheduler_jobs{state="waiting"} 0',
  'goshawk_scheduler_jobs{state="running"} 2',
  '# HELP goshawk_journal_commit_seconds Time of a group commit.',
  '# TYPE goshawk_journal_commit_seconds histogram',
  'goshawk_journal_commit_seconds_bucket{le="0.1"} 1',
  'goshawk_journal_commit_seconds_bucket{le="+Inf"} 3',
  'goshawk_journal_commit_seconds_sum 7.5',
  'goshawk_journal_commit_seconds_count 3',
];

function problemsWith(change: (lines: string[]) => void): string[] {
  const lines = [...GOOD];
  change(lines);
  return lint(families(`${lines.join('\n')}\n`));
}

describe('the lint of metrics', () => {
  it('accepts valid metrics', () => {
    expect(problemsWith(() => {})).toEqual([]);
  });

  it.each<[string, (lines: string[]) => void, RegExp]>([
    [
      'a name that is not in the catalogue',
      (l) => l.splice(0, 3, '# HELP goshawk_x X.', '# TYPE goshawk_x gauge', 'goshawk_x 1'),
      /not in the catalogue/,
    ],
    ['another type', (l) => l.splice(1, 1, '# TYPE goshawk_ready counter'), /is a counter, not a gauge/],
    ['a help text that is not a sentence', (l) => l.splice(0, 1, '# HELP goshawk_ready ready'), /no help/],
    ['a metric twice', (l) => l.push(...GOOD.slice(0, 3)), /twice/],
    ['a series twice', (l) => l.splice(5, 0, 'goshawk_scheduler_jobs{state="waiting"} 0'), /a series twice/],
    [
      'an id in a label',
      (l) => l.splice(5, 1, 'goshawk_scheduler_jobs{state="abcde-17"} 0'),
      /not in its list/,
    ],
    [
      'a label that was not declared',
      (l) => l.splice(2, 1, 'goshawk_ready{worker="w1"} 1'),
      /has the labels worker/,
    ],
    [
      'buckets that shrink',
      (l) => l.splice(9, 1, 'goshawk_journal_commit_seconds_bucket{le="0.1"} 4'),
      /do not add up/,
    ],
    ['a histogram without its last bucket', (l) => l.splice(10, 1), /bounds/],
    ['a value that is not a number', (l) => l.splice(2, 1, 'goshawk_ready undefined'), /not a number/],
  ])('finds %s', (_, change, problem) => {
    expect(problemsWith(change).join('\n')).toMatch(problem);
  });

  it.each([
    'goshawk_ready 1',
    '# HELP goshawk_ready R.\n# TYPE other gauge\n',
    '# HELP goshawk_ready R.\n???\n',
  ])('refuses text in another format: %j', (text) => {
    expect(() => families(text)).toThrow();
  });
});
