import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../limits.js';
import { parseJobSpec } from './parse.js';
import { givenSpan } from './spec.js';

const sleep = { sleep: 10 };

describe('parsing a job', () => {
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

  test.each([
    [{ memory: 1 }, { cpu: 1, memory: 1 }],
    [{ gpu: 0.5 }, { gpu: 0.5 }],
    [
      { memory: 1, cpu: 0 },
      { cpu: 0, memory: 1 },
    ],
    [
      { cpu: 0, gpu: 1, memory: 1 },
      { gpu: 1, memory: 1 },
    ],
    [{ cpu: 0.5 }, { cpu: 0.5 }],
    [{ memory: 0 }, {}],
    [{ cpu: 0 }, {}],
  ])('demand %o, of which each task takes %o: a CPU if it requests only memory', (demand, taken) => {
    expect(parseJobSpec({ tasks: [sleep], demand }).stages[0]!.demand).toEqual(taken);
    const stages = [{ name: 'a', tasks: [sleep], demand }];
    expect(parseJobSpec({ stages }).stages[0]!.demand).toEqual(taken);
  });

  test('amounts are rounded down to bytes and thousandths, so that equal parts of a whole fit in it', () => {
    const demand = { cpu: 2 / 3, gpu: 1 / 3, memory: '0.1GiB', disk: 0.57, port: 1e-9 };
    const [stage] = parseJobSpec({ tasks: [sleep], demand }).stages;
    expect(stage!.demand).toEqual({ cpu: 0.666, gpu: 0.333, memory: 107_374_182, disk: 0.57, port: 0.001 });
  });

  test('a job must begin before its deadline, which counts from submission', () => {
    const now = Date.parse('2026-11-25T12:00:00Z');
    const parse = (begin: string | number) => () =>
      parseJobSpec({ tasks: [sleep], begin, deadline: '10m' }, 'job', now);
    const problem =
      'job: the job begins 1 h 0 min after its submission, and its deadline is 10 min 0 s after it';
    expect(parse('1h')).toThrow(problem);
    expect(parse('2026-11-25T14:00:00+01:00')).toThrow(problem);
    expect(parse(600_000)).toThrow('the job begins 10 min 0 s after');
    for (const begin of [599_999, '9m', '2026-11-25T12:09:59Z', '2020-01-01T00:00:00Z'])
      expect(parse(begin)).not.toThrow();
  });

  test('stages are sorted into a runnable order', () => {
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

  test('long lists of tasks are checked up to the first invalid one, with the same results and errors', () => {
    const count = 20_000;
    const valid = Array.from({ length: count }, (_, index) => (index % 2 ? sleep : { exec: ['true'] }));
    expect(parseJobSpec({ tasks: valid }).stages[0]!.tasks).toEqual({ each: valid });
    const stages = [0, 1, 2].map((index) => ({ name: `s${index}`, tasks: valid }));
    expect(parseJobSpec({ stages }).stages.map(({ tasks }) => tasks)).toEqual(
      stages.map(() => ({ each: valid })),
    );
    const errorOf = (job: unknown): string => {
      try {
        parseJobSpec(job);
        return '';
      } catch (error) {
        return (error as Error).message;
      }
    };
    for (const bad of [{}, { sleep: 'x' }, 7, null, { exec: [] }, { sleep: 1, color: 'red' }, []]) {
      for (const at of [0, 1, 500]) {
        const few = [...valid.slice(0, at), bad];
        const many = [...few, ...Array.from({ length: count }, () => bad)];
        expect(errorOf({ tasks: few })).not.toBe('');
        expect(errorOf({ tasks: many })).toBe(errorOf({ tasks: few }));
        const inStage = (tasks: unknown) => ({ stages: [stages[0]!, { name: 'x', tasks }].slice(1) });
        expect(errorOf(inStage(many))).toBe(errorOf(inStage(few)));
      }
    }
    expect(errorOf({ stages: Array.from({ length: 400_000 }, () => ({})) })).toBe(
      'job: stages: a job has at most 1000 stages',
    );
  });

  test('a stage may have a separate estimate, in ms', () => {
    const { stages } = parseJobSpec({
      stages: [
        { name: 'map', tasks: [sleep], estimate: '2s' },
        { name: 'reduce', tasks: [sleep] },
      ],
    });
    expect(stages.map(({ estimateMs }) => estimateMs)).toEqual([2_000, undefined]);
  });

  test('its stages lend CPUs unless it or they say otherwise', () => {
    const stages = [
      { name: 'usual', tasks: [sleep] },
      { name: 'lends', tasks: [sleep], lend: true },
      { name: 'keeps', tasks: [sleep], lend: false },
    ];
    const lent = (job: object) => parseJobSpec(job).stages.map(({ lend }) => lend);
    expect(lent({ stages })).toEqual([undefined, undefined, false]);
    expect(lent({ stages, lend: false })).toEqual([false, undefined, false]);
    expect(lent({ tasks: [sleep], lend: false })).toEqual([false]);
  });

  test.each([
    [{ tasks: [{ slep: 1 }] }, /tasks\[0\]: unknown field "slep"; a task is one of/],
    [{ tasks: { count: 1, run: { slep: 1 } } }, /tasks\.run: unknown field "slep"/],
    [{ tasks: [{ env: {} }] }, /tasks\[0\]: a task is one of/],
    [
      { tasks: [{ sleep: 1, exec: ['true'] }] },
      /tasks\[0\]: "exec" cannot be combined with the other fields; a task is one of/,
    ],
    [
      { tasks: [{ exec: ['true'], input: 1 }] },
      /tasks\[0\]: "input" cannot be combined with the other fields/,
    ],
    [{ tasks: [{ exec: [''] }] }, /tasks\[0\]\.exec: the command, its first element, is empty$/],
    [{ tasks: [{ exec: 'true' }] }, /tasks\[0\]\.exec: expected array, not "true"$/],
    [{ tasks: [{ sleep: 'soon' }] }, /tasks\[0\]\.sleep: "soon" is not a duration; write .* such as 100ms/],
    [{ tasks: [sleep], retry: 1 }, /unknown field "retry"; did you mean "retries"\?/],
    [{ task: [sleep] }, /unknown field "task"; did you mean "tasks"\?/],
    [{ tasks: [{ exec: ['true'], cwd: 5 }] }, /tasks\[0\]\.cwd: expected string, not 5$/],
    [{ tasks: [sleep], prioirty: 3 }, /unknown field "prioirty"/],
    [{ tasks: [{ exec: ['true'], envv: {} }] }, /tasks\[0\]: unknown field "envv"; did you mean "env"\?/],
    [{ tasks: [] }, /tasks: /],
    [{}, /give either "tasks" or "stages"/],
    [{ tasks: [sleep], stages: [{ name: 'a', tasks: [sleep] }] }, /give either "tasks" or "stages"/],
    [{ tasks: [sleep], estimate: '5 parsecs' }, /estimate: .*"5 parsecs" is not a duration/],
    [
      { stages: [{ name: 'a', tasks: [sleep], estimate: 0 }] },
      /stages\[0\]\.estimate: an estimate is more than 0/,
    ],
    [{ tasks: [{ sleep: -1 }] }, /tasks\[0\]\.sleep: expected number of at least 0, not -1$/],
    [{ tasks: [{ exec: [] }] }, /tasks\[0\]\.exec: expected array of at least 1 items$/],
    [
      { tasks: [sleep], priority: 'urgent' },
      /priority: expected one of "low", "normal", "high", not "urgent"$/,
    ],
    [{ tasks: [sleep], retries: 1.5 }, /retries: expected whole number, not 1.5$/],
    [{ tasks: [{ exec: ['a\0b'] }] }, /NUL byte/],
    [{ tasks: [sleep], demand: { memory: '1e400' } }, /demand\.memory: "1e400" is more than/],
    [{ tasks: [sleep], demand: { memory: '9999TiB' } }, /demand\.memory: "9999TiB" is more than/],
    [{ tasks: [sleep], demand: { memory: 1e300 } }, /demand\.memory: /],
    [{ tasks: [sleep], demand: { memory: '1constructor' } }, /demand\.memory: .* is not an amount/],
    [{ tasks: [sleep], estimate: `${'9'.repeat(309)}s` }, /estimate: .* is not a duration/],
    [{ tasks: [sleep], timeout: `${'9'.repeat(60)}s` }, /timeout: .* is more than 10000000 days/],
    [{ tasks: [sleep], deadline: 1e300 }, /deadline: /],
    [{ tasks: [sleep], deadline: 0 }, /deadline: a deadline of 0 has already passed/],
    [{ tasks: [sleep], deadline: '-5s' }, /deadline: /],
    [{ tasks: [sleep], value: 0 }, /value: expected number > 0, not 0$/],
    [{ tasks: [sleep], prefer: { rack: [] } }, /prefer\.rack: /],
    [{ tasks: [sleep], prefer: { rack: 3 } }, /prefer\.rack: /],
    [{ tasks: [{ sleep: 1e300 }] }, /tasks\[0\]\.sleep: /],
    [{ tasks: [sleep], weight: 5e-324 }, /weight: /],
    [{ tasks: [sleep], weight: 1e308 }, /weight: /],
    [
      { tasks: [{ exec: ['a'], env: { 'A=B': '' } }] },
      /tasks\[0\]\.env: a variable has a name .* without "="/,
    ],
    [{ tasks: [{ exec: ['a'], env: { 'A\0': '' } }] }, /tasks\[0\]\.env: a variable has a name/],
    [{ tasks: [{ exec: ['a'], env: { '': '' } }] }, /tasks\[0\]\.env: a variable has a name/],
    [{ stages: [{ name: 'a', after: ['b'], tasks: [sleep] }] }, /"a" depends on "b", which is not a stage/],
    [
      {
        stages: [
          { name: 'a', after: ['b'], tasks: [sleep] },
          { name: 'b', after: ['a'], tasks: [sleep] },
        ],
      },
      /in a cycle: a → b → a/,
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

  const WRONG = [Infinity, -Infinity, Number.NaN, 1e300, -1, 1.5, true, null, {}, [], 'x', '1e999'];
  test.each(
    [
      ...[
        'estimate',
        'retryBackoff',
        'timeout',
        'timeLimit',
        'begin',
        'deadline',
        'open',
        'retries',
        'retryOn',
      ],
      ...['maxRunning', 'value', 'weight', 'slowdown', 'demand', 'require', 'prefer', 'name', 'priority'],
    ].flatMap((field) => WRONG.map((value) => [field, value] as const)),
  )('a wrong %s of %s is refused with what is expected', (field, value) => {
    for (const job of [
      { [field]: value },
      { [field]: [value] },
      { [field]: { x: value } },
      { tasks: [{ sleep: value }] },
      { tasks: { count: 1, run: { exec: ['a'], stdin: value } } },
      { tasks: undefined, stages: [{ name: 'a', tasks: [sleep], estimate: value }] },
    ])
      try {
        parseJobSpec({ tasks: [sleep], retries: 1, ...job }, 'a.json');
      } catch (error) {
        expect((error as Error).message).toMatch(/^a\.json: \w/);
        expect((error as Error).message).not.toMatch(/invalid|received/i);
      }
  });

  test('a number beyond its range is refused with the value and the range', () => {
    expect(() => parseJobSpec({ tasks: [sleep], estimate: Infinity }, 'a.json')).toThrow(
      'a.json: estimate: expected a number from 0 to 864000000000000, or a text such as "2s", not Infinity',
    );
    expect(() => parseJobSpec({ tasks: [sleep], retries: 1, retryOn: [1.5] }, 'a.json')).toThrow(
      'a.json: retryOn[0]: expected an exit code from 1 to 255, or a signal such as "SIGXCPU", not 1.5',
    );
  });

  test.each([
    [{ count: 2, run: { exec: ['a'], stdout: 'out' } }, 'several tasks would write to "out"'],
    [{ count: 2, run: { exec: ['a'], stderr: 'out/{index}/../o' } }, 'several tasks would write'],
    [
      [
        { exec: ['a'], stdout: 'o', cwd: '/x' },
        { exec: ['b'], stderr: '/x/o' },
      ],
      'several tasks would write',
    ],
    ...[
      ['out.txt', './out.txt'],
      ['out.txt', 'a/../out.txt'],
      ['out.txt', '/x/y/../out.txt'],
      ['//x//out.txt', 'out.txt'],
      ['../x/out.txt', './/out.txt'],
    ].map(([one, other]): [object[], string] => [
      [
        { exec: ['a'], stdout: one, cwd: '/x' },
        { exec: ['b'], stderr: other, cwd: '/x' },
      ],
      `several tasks would write to "${other}"`,
    ]),
    [
      [
        { exec: ['a'], stdout: '/dev/../tmp/a' },
        { exec: ['a'], stdout: '/tmp/a' },
      ],
      'several tasks would write',
    ],
    [[{ exec: ['a'], stdout: 'o{idx}' }], 'tasks[0].stdout: {idx} is not one of {job}, {index}, {attempt}'],
    [[{ exec: ['a'], stdout: 'out/' }], 'the path of a file is expected'],
  ])('output of %j is refused', (tasks, line) => {
    expect(() => parseJobSpec({ tasks })).toThrow(line);
  });

  test('both streams of a task may go to one file, however it is spelled', () => {
    const one = { exec: ['a'], stdout: 'out/o', stderr: './out//o', cwd: '/x' };
    expect(parseJobSpec({ tasks: [one] }).stages).toHaveLength(1);
    expect(() => parseJobSpec({ tasks: [one, one] })).toThrow('several tasks would write to "./out//o"');
  });

  test('is refused however the two tasks spell its path, unless it is a device', () => {
    const spelled = (parts: readonly string[]) =>
      fc
        .array(fc.constantFrom('', '.', 'x/..', 'x/./y//../..'), {
          minLength: parts.length,
          maxLength: parts.length,
        })
        .map((detours) => `/${parts.map((part, at) => [detours[at], part].join('/')).join('/')}`);
    const file = fc
      .constantFrom('out', 'dev/shm/out', 'device/out', 'data/dev/null', 'dev/null', 'dev/fd/1', 'dev/pts/0')
      .chain((path) => fc.tuple(fc.constant(path), spelled(path.split('/')), spelled(path.split('/'))));
    fc.assert(
      fc.property(file, ([path, one, other]) => {
        const parse = () => parseJobSpec({ tasks: [one, other].map((stdout) => ({ exec: ['a'], stdout })) });
        if (['dev/null', 'dev/fd/1', 'dev/pts/0'].includes(path)) parse();
        else expect(parse).toThrow('several tasks would write');
      }),
    );
  });

  test.each([
    [{ name: 'a\0b' }, 'name: a name has no line breaks'],
    [{ user: ' ' }, 'user: a name needs a visible character'],
    [{ logicalName: 'a\n' }, 'logicalName: a name has no line breaks'],
    [{ demand: { ' gpu': 1 } }, 'demand. gpu: a name does not begin or end with a space'],
    [{ tasks: { count: 2e9, run: { sleep: 1 } } }, 'tasks.count: a job has at most 1000000 tasks'],
    [{ tasks: Array.from({ length: 1_000_001 }) }, 'tasks: a job has at most 1000000 tasks, not 1000001'],
    [{ require: { 'zo\tne': 'eu' } }, 'require'],
    [{ name: '\ud800' }, 'name: half of a character'],
    [{ tasks: [{ exec: ['a', '\udfff'] }] }, 'tasks[0].exec[1]: half of a character'],
    [{ tasks: [{ exec: ['a'], env: { 'A\ud800': '' } }] }, 'a variable has a name'],
    [{ tasks: [{ exec: ['a'], stdin: 'x\ud800' }] }, 'stdin: half of a character'],
    [{ tasks: [{ module: '/a\0.js' }] }, 'tasks[0].module: a NUL byte'],
    [{ tasks: [{ module: '/a.js', input: { deep: ['\ud800'] } }] }, 'tasks[0].input: half of a character'],
    [{ require: { zone: 'e\0' } }, 'require.zone: the value "e\\u0000" is not valid: it has no line breaks'],
    [{ require: { zone: 'eu, us' } }, 'require.zone: the value " us" is not valid: it does not begin or end'],
    [
      { prefer: { zone: ['eu', 'us '] } },
      'prefer.zone: the value "us " is not valid: it does not begin or end',
    ],
    [{ require: { zone: '!' } }, 'require.zone: the value "" is not valid: it needs a visible'],
    [
      { stages: [{ name: '\u200b', tasks: [{ sleep: 1 }] }], tasks: undefined },
      'stages[0].name: a name needs',
    ],
  ])('text that would not arrive as it is: %j is refused', (job, line) => {
    expect(() => parseJobSpec({ tasks: [{ sleep: 1 }], ...job })).toThrow(line);
  });

  test.each([
    { count: 2, run: { exec: ['a'], stdout: 'out/{index}', stderr: 'out/{index}' } },
    { count: 2, run: { exec: ['a'], stdout: '/dev/null' } },
    [
      { exec: ['a'], stdout: 'a', stderr: 'a' },
      { exec: ['a'], stdout: 'b' },
    ],
  ])('output of %j is taken', (tasks) => {
    expect(parseJobSpec({ tasks }).stages).toHaveLength(1);
  });

  test.each([{ retryBackoff: '1s' }, { retryOn: [75] }])('%j without retries is refused', (field) => {
    expect(() => parseJobSpec({ tasks: [sleep], ...field })).toThrow('need "retries" above 0');
  });

  test.each([
    '',
    '00-1-2-01',
    `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`,
    `01-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
  ])(
    'the traceparent %j is refused in a job, and counts for nothing where a process or a request was given it',
    (traceparent) => {
      expect(() => parseJobSpec({ tasks: [sleep], traceparent })).toThrow('not a W3C traceparent');
      expect(givenSpan(traceparent)).toEqual({});
    },
  );

  test.each([
    ['demand', { memory: `1${' '.repeat(2e5)}!` }],
    ['estimate', '1s'.repeat(5e6)],
  ])('a %s of millions of characters is refused at once', (field, value) => {
    expect(() => parseJobSpec({ tasks: [sleep], [field]: value })).toThrow(
      /is (not an amount|not a duration)/,
    );
  });

  test('with the longest durations and largest amounts is accepted', () => {
    const job = parseJobSpec({
      tasks: [{ sleep: LIMITS.durationMaxMs }],
      estimate: '10000000d',
      demand: { memory: LIMITS.amountMax },
    });
    expect(job).toMatchObject({ estimateMs: LIMITS.durationMaxMs });
  });
});

test.each([
  [
    'unknown fields',
    Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`x${i}`, 1])),
    /^job: unknown field "x0", "x1", "x2", "x3", "x4" and 995 more$/,
  ],
  ['the name of an unknown field', { ['y'.repeat(1e6)]: 1 }, /^job: unknown field "y{80}…"$/],
  ['the name of a resource', { demand: { ['y'.repeat(1e6)]: 1 } }, /^.{1,300}$/],
  ['a name', { name: 'y'.repeat(1e6) }, /^.{1,300}$/],
])('%s without end make one short line', (_, fields, message) => {
  expect(() => parseJobSpec({ tasks: [sleep], ...fields })).toThrow(message);
});

describe('text that the system cannot pass to a process', () => {
  const run = (more: object) => parseJobSpec({ tasks: [{ exec: ['true'], ...more }] } as never, 'ann');

  test('is limited in bytes, and a variable counts with its name', () => {
    for (const fits of ['x'.repeat(131_071), '€'.repeat(43_690)]) run({ exec: ['echo', fits] });
    for (const long of ['x'.repeat(131_072), '€'.repeat(43_691), '\u{1f600}'.repeat(32_768)])
      expect(() => run({ exec: ['echo', long] })).toThrow(/131071 bytes/);
    run({ env: { AB: 'x'.repeat(131_068) } });
    expect(() => run({ env: { AB: 'x'.repeat(131_069) } })).toThrow(
      /AB.*with its name longer than the 131071 bytes/,
    );
  });
});

describe('retryOn', () => {
  const parsed = (retryOn: unknown[]) =>
    parseJobSpec({ retries: 1, retryOn, tasks: [{ sleep: 1 }] } as never, 'ann').retryOn;

  test('takes exit codes and names of signals', () => {
    expect(parsed([75, 'SIGXCPU', 'SIGSYS'])).toEqual([75, 152, 159]);
    for (const wrong of ['SIGNONE', '', 'toString'])
      expect(() => parsed([wrong])).toThrow(/neither an exit code nor/);
  });
});

describe('a command in an image', () => {
  const inImage = { exec: ['true'], image: 'registry.example.org:5000/team/tool:1@sha256:0af3' };

  test('requires workers with Docker, in addition to what the job requires', () => {
    const stagesOf = (job: object) => parseJobSpec(job).stages.map(({ requires }) => requires);
    expect(stagesOf({ tasks: [inImage] })).toEqual([{ container: 'docker' }]);
    expect(stagesOf({ tasks: { count: 3, run: inImage }, require: { zone: 'eu' } })).toEqual([
      { container: 'docker', zone: 'eu' },
    ]);
    expect(stagesOf({ tasks: [inImage], require: { container: 'mine' } })).toEqual([{ container: 'mine' }]);
    expect(
      stagesOf({
        stages: [
          { name: 'a', tasks: [{ exec: ['true'] }] },
          { name: 'b', tasks: [{ exec: ['true'] }, inImage] },
        ],
      }),
    ).toEqual([undefined, { container: 'docker' }]);
  });

  test.each(['', '--privileged', 'a b', '-v/:/x', 'a\nb', 'ü'])(
    'is refused with the image name %j',
    (image) => {
      expect(() => parseJobSpec({ tasks: [{ exec: ['true'], image }] })).toThrow(/image/);
    },
  );
});
