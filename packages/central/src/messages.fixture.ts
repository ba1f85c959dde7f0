import { type MessageOf, NO_RESOURCES } from '@goshawk/core';

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

/** The need of one short task. */
export function need(job: number, more: Partial<MessageOf<'need'>> = {}): MessageOf<'need'> {
  return {
    type: 'need',
    job,
    stage: 0,
    long: false,
    tasks: 1,
    matches: 0,
    estimateMs: 100,
    demand: NO_RESOURCES,
    part: 'judged',
    jobTasks: 1,
    ageMs: 0,
    estimateFollows: undefined,
    priority: undefined,
    requires: undefined,
    attainedMs: undefined,
    avoid: undefined,
    user: undefined,
    gang: undefined,
    lend: undefined,
    ...more,
  };
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
