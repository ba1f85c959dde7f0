import type { JobInput } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { prepareJob } from './prepare-job.js';

const prepare = (job: JobInput) => prepareJob(job, '/here', 'ada');

describe('a prepared job', () => {
  test('has absolute paths, because workers run in another folder', () => {
    expect(
      prepare({
        tasks: [
          { module: './work.js', export: 'run' },
          { module: 'work.js', cwd: 'sub' },
          { module: '/abs/work.js' },
          { module: 'file:///abs/work.js' },
          { exec: ['ls'], cwd: 'sub' },
          { exec: ['ls'] },
          { sleep: 1 },
        ],
      }).tasks,
    ).toEqual([
      { module: '/here/work.js', export: 'run' },
      { module: '/here/sub/work.js', cwd: 'sub' },
      { module: '/abs/work.js' },
      { module: 'file:///abs/work.js' },
      { exec: ['ls'], cwd: '/here/sub' },
      { exec: ['ls'] },
      { sleep: 1 },
    ]);
  });

  test('has a valid time to begin at', () => {
    const begin = (date: Date) => prepare({ tasks: [], begin: date as never }).begin;
    expect(begin(new Date(0))).toBe('1970-01-01T00:00:00.000Z');
    expect(() => begin(new Date('soon'))).toThrow('begin: the date is invalid');
  });

  test('has absolute paths in counted tasks and in stages', () => {
    expect(prepare({ tasks: { count: 2, run: { module: 'm.js' } } }).tasks).toEqual({
      count: 2,
      run: { module: '/here/m.js' },
    });
    expect(prepare({ stages: [{ name: 'a', tasks: [{ module: 'm.js' }] }] }).stages).toEqual([
      { name: 'a', tasks: [{ module: '/here/m.js' }] },
    ]);
  });

  test('belongs to its user, by default to its submitter', () => {
    expect(prepare({ tasks: [{ sleep: 1 }] }).user).toBe('ada');
    expect(prepare({ user: 'eve', tasks: [{ sleep: 1 }] }).user).toBe('eve');
    expect(prepareJob({ tasks: [{ sleep: 1 }] }, '/here', undefined)).toEqual({ tasks: [{ sleep: 1 }] });
  });

  test('is unchanged where it is invalid, so that the scheduler reports it', () => {
    const bad = { tasks: [null, 7, { module: 3 }], stages: 'none', slep: 1 } as unknown as JobInput;
    expect(prepare(bad)).toEqual({ user: 'ada', ...bad });
    expect(prepareJob(null as unknown as JobInput, '/here', undefined)).toBeNull();
  });
});
