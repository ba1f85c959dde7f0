import { present } from '@goshawk/core';
import { JobPacker, type PackedJobs } from '../packed-jobs.js';
import { Tally } from '../tally.js';
import { isSeconds, isTaskCount, SECONDS_ADVICE, TASKS_ADVICE } from './fields.js';
import {
  isDocumentWith,
  type JsonDocument,
  type JsonPath,
  readJsonDocument,
  UnreadFields,
} from './json-document.js';
import type { TraceFormat } from './trace-format.js';

/**
 * A workload of the Batsim simulator. A job becomes as many tasks as its number of requested resources, each as long
 * as its profile's delay, limited by its wall time, which is also the estimate.
 */
export const batsim = {
  name: 'batsim',
  sample: 'batsim.json',
  isForeign: true,
  aJob: 'a job has `subtime`, `res` and a profile of type delay',
  endings: ['.json'],
  recognises: (_, head) => isDocumentWith(/"(subtime|nb_res|profiles)"\s*:/, head),
  read: readBatsim,
} as const satisfies TraceFormat;

const JOB_FIELDS = new Set(['id', 'subtime', 'walltime', 'res', 'profile']);

/** @throws WorkloadError with file and line of the first error */
async function* readBatsim(
  file: string,
  tally = new Tally(),
  signal?: AbortSignal,
): AsyncGenerator<PackedJobs> {
  const document = await readJsonDocument(file, signal);
  const workload = document.object(document.value, []);
  const profiles = document.object(workload.profiles, ['profiles']);
  const packer = new JobPacker();
  const unread = new UnreadFields();
  const delays = new Map<string, number | undefined>();
  for (const [i, each] of document.list(workload.jobs, ['jobs']).entries()) {
    const path = ['jobs', i];
    const job = document.object(each, path);
    unread.note(job, JOB_FIELDS);
    const seconds = (key: string): number =>
      document.number(job[key], [...path, key], isSeconds, SECONDS_ADVICE);
    const submit = seconds('subtime');
    const tasks = document.number(job.res, [...path, 'res'], isTaskCount, TASKS_ADVICE);
    const profile = document.text(job.profile, [...path, 'profile']);
    if (!Object.hasOwn(profiles, profile))
      throw document.wrong([...path, 'profile'], profile, 'it must be the name of a profile of this file');
    // -1: none.
    const walltime = [undefined, null, -1, '-1'].includes(job.walltime as null)
      ? undefined
      : seconds('walltime');
    const delay = delayOf(document, profiles, profile, delays);
    if (delay === undefined) {
      tally.add({
        code: 'jobs-without-delay',
        what: 'jobs whose profile is not a delay, so that the run time depends on a platform: omitted',
      });
      continue;
    }
    if (walltime !== undefined && walltime < delay)
      tally.add({
        code: 'jobs-over-walltime',
        what: 'jobs that run longer than their wall time: cut off at that time',
      });
    const duration = Math.min(delay, walltime ?? delay);
    packer.roomFor(tasks).fill(duration);
    const name = job.id === undefined ? undefined : document.text(job.id, [...path, 'id']).slice(0, 256);
    packer.close(submit, duration, tasks, {
      ...present({ name, estimateSeconds: walltime }),
      logicalName: profile.slice(0, 256),
    });
    if (packer.isFull) yield packer.take();
  }
  unread.tally(tally);
  yield packer.take();
}

const DELAYS = ['delay', 'DelayProfile'];
const SEQUENCES = ['composed', 'sequence', 'SequentialCompositionProfile'];
/** Deeper nesting would exhaust the stack. */
const DEPTH_MAX = 1_000;

/**
 * Seconds that a profile takes on any machine; undefined if it depends on the machine, or contains itself.
 *
 * @param delays results by name, because nested sequences may name a profile exponentially often
 */
function delayOf(
  document: JsonDocument,
  profiles: Readonly<Record<string, unknown>>,
  name: string,
  delays: Map<string, number | undefined>,
  depth = 0,
): number | undefined {
  if (depth > DEPTH_MAX)
    throw document.wrong(['profiles', name], name, `profiles may be nested ${DEPTH_MAX} deep`);
  if (!delays.has(name)) {
    delays.set(name, undefined);
    delays.set(name, computedDelayOf(document, profiles, name, delays, depth));
  }
  return delays.get(name);
}

function computedDelayOf(
  document: JsonDocument,
  profiles: Readonly<Record<string, unknown>>,
  name: string,
  delays: Map<string, number | undefined>,
  depth: number,
): number | undefined {
  const path: JsonPath = ['profiles', name];
  const profile = document.object(profiles[name], path);
  const type = document.text(profile.type, [...path, 'type']);
  if (DELAYS.includes(type))
    return document.number(profile.delay, [...path, 'delay'], isSeconds, SECONDS_ADVICE);
  if (!SEQUENCES.includes(type)) return undefined;
  const repeat = document.number(
    profile.repeat ?? profile.nb ?? 1,
    [...path, 'repeat'],
    isTaskCount,
    TASKS_ADVICE,
  );
  let sum = 0;
  for (const [i, each] of document.list(profile.seq, [...path, 'seq']).entries()) {
    const part = document.text(each, [...path, 'seq', i]);
    if (!Object.hasOwn(profiles, part))
      throw document.wrong([...path, 'seq', i], part, 'it must be the name of a profile of this file');
    const seconds = delayOf(document, profiles, part, delays, depth + 1);
    if (seconds === undefined) return undefined;
    sum += seconds;
  }
  return isSeconds(sum * repeat) ? sum * repeat : undefined;
}
