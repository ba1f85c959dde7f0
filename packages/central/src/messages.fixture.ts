import { FACT_NAMES, type MessageOf, NO_RESOURCES, present } from '@goshawk/core';

/** The registration of a worker with one slot and no tasks. */
export function registration(name: string, more: Partial<MessageOf<'register'>> = {}): MessageOf<'register'> {
  return {
    type: 'register',
    name,
    slots: 1,
    capacity: {},
    draining: false,
    runs: [],
    attributes: [],
    places: undefined,
    drainDeadlineMs: undefined,
    http: undefined,
    ...more,
  };
}

type About = NonNullable<MessageOf<'need'>['about']>;
type Described = Partial<Omit<MessageOf<'need'>, 'type' | 'job'>> &
  Partial<Omit<About, 'tasks'>> & { readonly jobTasks?: number };

/** The need of one short task. Facts of the job describe it; `about: undefined` omits the description. */
export function need(job: number, more: Described = {}): MessageOf<'need'> {
  const { jobTasks = 1, about, ...fields } = more;
  const described: Record<string, unknown> = { tasks: jobTasks, ageMs: 0 };
  const batch: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (name !== 'tasks' && ABOUT.has(name)) described[name] = value;
    else batch[name] = value;
  }
  return {
    type: 'need',
    job,
    stage: 0,
    tasks: 1,
    matches: 0,
    part: 'judged',
    demand: NO_RESOURCES,
    estimateMs: 100,
    requires: undefined,
    gang: undefined,
    lend: undefined,
    estimateFollows: undefined,
    avoid: undefined,
    ...batch,
    ...('about' in more ? present({ about }) : { about: described as unknown as About }),
  };
}

const ABOUT: ReadonlySet<string> = new Set([...FACT_NAMES, 'ageMs', 'deadlineMs', 'attainedMs', 'stages']);

export type StageAbout = NonNullable<About['stages']>[number];

/** A stage of a described job. */
export function stageAbout(more: Partial<StageAbout> = {}): StageAbout {
  return { demand: NO_RESOURCES, estimateMs: 100, tasks: 2, ended: 0, after: [], distribution: [], ...more };
}

/** A worker's report of one free slot. */
export function pull(more: Partial<MessageOf<'pull'>> = {}): MessageOf<'pull'> {
  return {
    type: 'pull',
    heard: [],
    free: 1,
    spare: NO_RESOURCES,
    long: 0,
    shortMs: 0,
    runs: [],
    gpuParts: undefined,
    gpus: undefined,
    ...more,
  };
}
