import type { JobInput } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { prepareJob } from './prepare-job.js';

const prepare = (job: JobInput) => prepareJob(job, '/here', 'ada');

describe('a job as it is sent', () => {
  test('has absolute paths, since workers have another folder', () => {
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

  test('has them in counted tasks and in stages, too', () => {
    expect(prepare({ tasks: { count: 2, run: { module: 'm.js' } } }).tasks).toEqual({
      count: 2,
      run: { module: '/here/m.js' },
    });
    expect(prepare({ stages: [{ name: 'a', tasks: [{ module: 'm.js' }] }] }).stages).toEqual([
      { name: 'a', tasks: [{ module: '/here/m.js' }] },
    ]);
  });

  test('is whose it says, else its submitter’s', () => {
    expect(prepare({ tasks: [{ sleep: 1 }] }).user).toBe('ada');
    expect(prepare({ user: 'eve', tasks: [{ sleep: 1 }] }).user).toBe('eve');
    expect(prepareJob({ tasks: [{ sleep: 1 }] }, '/here', undefined)).toEqual({ tasks: [{ sleep: 1 }] });
  });

  test('is left as it is where it is not what it should be, for the scheduler to say', () => {
    const bad = { tasks: [null, 7, { module: 3 }], stages: 'none', slep: 1 } as unknown as JobInput;
    expect(prepare(bad)).toEqual({ user: 'ada', ...bad });
    expect(prepareJob(null as unknown as JobInput, '/here', undefined)).toBeNull();
  });
});
