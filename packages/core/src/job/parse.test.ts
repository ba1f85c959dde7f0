import { describe, expect, test } from 'vitest';
import { parseJobSpec } from './parse.js';

const sleep = { sleep: 10 };

describe('a job as people write it', () => {
  test('gets its defaults, numbers in ms and bytes, and one stage for a plain list of tasks', () => {
    const job = parseJobSpec({
      tasks: [sleep],
      estimate: '2s',
      timeout: 500,
      demand: { cpu: 2, memory: '1GiB' },
    });
    expect(job).toMatchObject({ name: 'job', estimateMs: 2_000, timeoutMs: 500, retries: 0, weight: 1 });
    expect(job.stages).toEqual([
      { name: 'tasks', after: [], tasks: { each: [sleep] }, demand: { cpu: 2, memory: 1024 ** 3 } },
    ]);
  });

  test('stages are put into an order in which they can run', () => {
    const job = parseJobSpec({
      stages: [
        { name: 'reduce', after: ['map', 'load'], tasks: [sleep] },
        { name: 'map', after: ['load'], tasks: { count: 3, run: sleep } },
        { name: 'load', tasks: [sleep] },
      ],
    });
    expect(job.stages.map((stage) => stage.name)).toEqual(['load', 'map', 'reduce']);
    expect(job.stages.map((stage) => stage.after)).toEqual([[], [0], [1, 0]]);
  });

  test.each([
    [{ tasks: [{ slep: 1 }] }, /tasks\[0\]: unknown field "slep"; a task is one of/],
    [{ tasks: { count: 1, run: { slep: 1 } } }, /tasks\.run: unknown field "slep"/],
    [{ tasks: [{ env: {} }] }, /tasks\[0\]: a task is one of/],
    [{ tasks: [{ exec: 'true' }] }, /tasks\[0\]\.exec: expected array, received string/],
    [{ tasks: [{ sleep: '1s' }] }, /tasks\[0\]\.sleep: expected number, received string/],
    [{ tasks: [{ exec: ['true'], cwd: 5 }] }, /tasks\[0\]\.cwd: expected string, received number/],
    [{ tasks: [sleep], prioirty: 3 }, /unknown field "prioirty"/],
    [{ tasks: [{ exec: ['true'], envv: {} }] }, /tasks\[0\]: unknown field "envv"/],
    [{ tasks: [] }, /tasks: /],
    [{}, /give either "tasks" or "stages"/],
    [{ tasks: [sleep], stages: [{ name: 'a', tasks: [sleep] }] }, /give either "tasks" or "stages"/],
    [{ tasks: [sleep], estimate: '5 parsecs' }, /estimate: .*"5 parsecs" is not a duration/],
    [{ tasks: [{ sleep: -1 }] }, /tasks\[0\]\.sleep: /],
    [{ tasks: [{ exec: ['a\0b'] }] }, /NUL byte/],
    [{ stages: [{ name: 'a', after: ['b'], tasks: [sleep] }] }, /"a" comes after "b", which is no stage/],
    [
      {
        stages: [
          { name: 'a', after: ['b'], tasks: [sleep] },
          { name: 'b', after: ['a'], tasks: [sleep] },
        ],
      },
      /in a circle: a → b → a/,
    ],
    [
      {
        stages: [
          { name: 'a', tasks: [sleep] },
          { name: 'a', tasks: [sleep] },
        ],
      },
      /two stages are called "a"/,
    ],
  ])('%j is refused in one line that names the place', (input, line) => {
    expect(() => parseJobSpec(input, 'work.json')).toThrow(line);
    expect(() => parseJobSpec(input, 'work.json')).toThrow(/^work\.json: [^\n]*$/);
  });
});
