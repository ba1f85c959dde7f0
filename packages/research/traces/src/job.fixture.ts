import { LIMITS, meanOf, nameProblem, present } from '@goshawk/core';
import fc from 'fast-check';
import type { TraceJob } from './job.js';

const seconds = fc.double({ min: 0, max: 1e9, noNaN: true }).map((value) => value + 0);
const name = fc
  .string({ minLength: 1, maxLength: 20, unit: 'binary' })
  .filter((text) => nameProblem(text) === undefined);
/** Alternative values are separated by commas. */
const value = name.filter((text) =>
  text
    .replace(/^!/, '')
    .split(',')
    .every((each) => nameProblem(each) === undefined),
);
const resource = fc.stringMatching(/^[a-z]{1,8}$/);
const attributes = fc.dictionary(resource, value, { maxKeys: 2, noNullPrototype: true });
const demand = fc.dictionary(resource, seconds, { maxKeys: 4, noNullPrototype: true });
const durations = fc.array(seconds, { minLength: 1, maxLength: 8 });

const stages = fc.uniqueArray(name, { minLength: 1, maxLength: 4 }).chain((names) =>
  fc.tuple(
    ...names.map((each, i) =>
      fc.record(
        {
          name: fc.constant(each),
          after: i === 0 ? fc.constant([]) : fc.uniqueArray(fc.nat({ max: i - 1 })),
          tasks: fc.integer({ min: 1, max: 4 }),
          demand,
          require: attributes,
          gang: fc.boolean(),
          estimateSeconds: fc.double({ min: 1e-3, max: 1e6, noNaN: true }),
        },
        { requiredKeys: ['name', 'after', 'tasks'] },
      ),
    ),
  ),
);

/** A job with any of the fields that a trace can have. */
export const arbitraryJob: fc.Arbitrary<TraceJob> = fc
  .record(
    {
      submitSeconds: seconds,
      durationsSeconds: durations,
      stages,
      statedMeanSeconds: seconds,
      name,
      user: name,
      logicalName: name,
      estimateSeconds: seconds,
      deadlineSeconds: fc.double({ min: 1e-3, max: 1e9, noNaN: true }),
      timeoutSeconds: seconds,
      timeLimitSeconds: fc.double({ min: 1e-3, max: 1e9, noNaN: true }),
      weight: fc.double({ min: 1e-9, max: 1e9, noNaN: true }),
      value: fc.double({ min: 1e-9, max: 1e9, noNaN: true }),
      prefer: attributes,
      require: attributes,
      gang: fc.boolean(),
      lend: fc.boolean(),
      preemptible: fc.boolean(),
      slowdown: fc.double({ min: 1, max: 100, noNaN: true }),
      retries: fc.nat({ max: LIMITS.retriesMax }),
      maxRunning: fc.integer({ min: 1 }),
      waitSeconds: seconds,
      schedulingClass: fc.nat({ max: 3 }),
      demand,
      machineShare: fc.record({ cpu: seconds, memory: seconds, disk: seconds }),
    },
    { requiredKeys: ['submitSeconds', 'durationsSeconds'] },
  )
  // The whole gang must be able to run at a time.
  .map(({ maxRunning, ...rest }) => {
    const isGang = rest.gang === true || rest.stages?.some(({ gang }) => gang === true);
    return { ...rest, ...(isGang ? {} : present({ maxRunning })) };
  })
  .map(({ durationsSeconds, statedMeanSeconds, ...rest }): TraceJob => {
    const tasks = rest.stages?.reduce((total, stage) => total + stage.tasks, 0) ?? durationsSeconds.length;
    // Stages have a positive duration.
    const least = rest.stages === undefined ? 0 : 1e-6;
    const all = Float64Array.from({ length: tasks }, (_, i) =>
      Math.max(least, durationsSeconds[i % durationsSeconds.length]!),
    );
    return { ...rest, durationsSeconds: all, meanSeconds: statedMeanSeconds ?? meanOf(all) } as TraceJob;
  });
