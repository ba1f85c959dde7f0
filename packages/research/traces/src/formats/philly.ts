import { present } from '@goshawk/core';
import { JobPacker, type PackedJobs } from '../packed-jobs.js';
import { Tally } from '../tally.js';
import { sinceTheFirst } from './clock-time.js';
import { instantOf } from './fields.js';
import {
  isDocumentWith,
  type JsonDocument,
  type JsonPath,
  readJsonElements,
  UnreadFields,
} from './json-document.js';
import { EARLY_STARTS, isTaken, isUnfinished, neverRan } from './outcomes.js';
import type { TraceFormat } from './trace-format.js';

/**
 * `cluster_job_log` of Microsoft's Philly traces. A job becomes a task on each GPU of its last attempt, as long as
 * that attempt; earlier attempts are counted and omitted.
 */
export const philly = {
  name: 'philly',
  sample: 'philly.json',
  isForeign: true,
  aJob: 'no job of the log has run',
  endings: ['.json'],
  recognises: (_, head) => isDocumentWith(/"(submitted_time|attempts)"\s*:/, head),
  read: (file, tally, signal) => sinceTheFirst((own) => readPhilly(file, own, signal), tally),
} as const satisfies TraceFormat;

const JOB_FIELDS = new Set(['status', 'jobid', 'user', 'submitted_time', 'attempts']);
const ATTEMPT_FIELDS = new Set(['start_time', 'end_time', 'detail']);

/** @throws WorkloadError with file and line of the first error */
async function* readPhilly(
  file: string,
  tally = new Tally(),
  signal?: AbortSignal,
): AsyncGenerator<PackedJobs> {
  const packer = new JobPacker();
  const unread = new UnreadFields();
  const instantAt = (document: JsonDocument, value: unknown, path: JsonPath): number | undefined => {
    if (value === null || value === undefined || value === 'None' || value === '') return undefined;
    // Some times end with the name of a time zone.
    const seconds = typeof value === 'string' ? instantOf(value.replace(/\s+[A-Z]{3,4}$/, '')) : undefined;
    if (seconds !== undefined) return seconds;
    throw document.wrong(path, value, 'it must be a date and a time such as 2017-10-07 00:03:33, or null');
  };
  for await (const document of readJsonElements(file, true, signal)) {
    const [i] = document.path;
    if (i === undefined) throw document.wrong([], document.value, 'it must be a list');
    const job = document.object(document.value, [i]);
    unread.note(job, JOB_FIELDS);
    const instant = (value: unknown, path: JsonPath) => instantAt(document, value, path);
    const attempts = document.list(job.attempts ?? [], [i, 'attempts']);
    const last = attempts.length - 1;
    const lastPath = [i, 'attempts', last];
    const attempt = last < 0 ? {} : document.object(attempts[last], lastPath);
    unread.note(attempt, ATTEMPT_FIELDS);
    const start = instant(attempt.start_time, [...lastPath, 'start_time']);
    const end = instant(attempt.end_time, [...lastPath, 'end_time']);
    const hasRun = start !== undefined && end !== undefined && end >= start;
    const state = job.status === undefined ? '' : document.text(job.status, [i, 'status']);
    if (last >= 0 && !hasRun && !isUnfinished(state)) {
      tally.add({
        code: 'attempts-without-times',
        what: 'jobs whose last attempt lacks a start or an end, or ends before it: omitted',
      });
      continue;
    }
    if (!isTaken(state, hasRun, tally) || !hasRun) continue;
    const submit = instant(job.submitted_time, [i, 'submitted_time']);
    if (submit === undefined)
      throw document.wrong([i, 'submitted_time'], job.submitted_time, 'it must be a date and a time');
    const machines = document.list(attempt.detail ?? [], [...lastPath, 'detail']).map((machine, place) => {
      const path = [...lastPath, 'detail', place];
      return document.list(document.object(machine, path).gpus, [...path, 'gpus']).length;
    });
    const gpus = machines.reduce((sum, own) => sum + own, 0);
    if (gpus === 0) {
      neverRan(tally);
      continue;
    }
    tally.add({ code: 'attempts-before-last', what: 'attempts before the last of a job: omitted' }, last);
    if (gpus > 1)
      tally.add({ code: 'gangs', what: 'jobs with several GPUs: read as tasks that may start one by one' });
    packer.roomFor(gpus).fill(end - start);
    if (start < submit) tally.add(EARLY_STARTS);
    const text = (key: string): string | undefined =>
      job[key] === undefined || job[key] === null
        ? undefined
        : document.text(job[key], [i, key]).slice(0, 256);
    packer.close(submit, end - start, gpus, {
      ...present({ name: text('jobid'), user: text('user'), demand: { gpu: 1 } }),
      ...(start < submit ? {} : { waitSeconds: start - submit }),
    });
    if (packer.isFull) yield packer.take();
  }
  unread.tally(tally);
  yield packer.take();
}
