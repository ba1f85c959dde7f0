import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Cluster, JobHandle, JobSubmission } from '@goshawk/client';
import {
  type Context,
  DetachedError,
  defineCommand,
  ExitCode,
  plain,
  readGivenFile,
  WaitTimeoutError,
} from '@goshawk/command';
import { findCluster, openCluster } from '@goshawk/command/cluster';
import { givenSpan, InputError, isFinal, type JobState, type Output, present } from '@goshawk/core';
import { showLogs } from '../jobs/show-logs.js';
import { endedJson, showResults } from '../jobs/show-results.js';
import { exitCodeOf, leave, waitForJobs } from '../jobs/wait-for-jobs.js';
import { outcomeText } from '../jobs/words.js';
import { buildJob } from '../submission/build-job.js';
import { SUBMIT_OPTIONS, type SubmitOptions } from '../submission/options.js';
import { predecessorsNamed } from '../submission/predecessors.js';
import { lengthOf, type Skipped, skippedText, withoutFinished } from '../submission/resume.js';
import type { Sources } from '../submission/tasks.js';

export const submitCommand = defineCommand({
  name: 'submit',
  words: '[FILE | -- CMD ARG…]',
  describe:
    'submit a job and print its id; the job is a command, a job file or pipeline in JSON or YAML (- for stdin), a function of a module, or a sleep',
  examples: [
    ["goshawk submit --tasks 10 -- sh -c 'echo $GOSHAWK_TASK'", 'run ten tasks that print their numbers'],
    [
      'goshawk submit --array 1-100 --logs -- ./simulate --seed {}',
      'run one task per seed and print the output',
    ],
    [
      'goshawk submit --each-line urls.txt --retries 2 --wait -- wget {}',
      'run one task per line and wait for the job to end',
    ],
    [
      'goshawk submit --param rate=0.1:1:0.1 --param seed=1,2 --resume -- ./sim {rate} {seed}',
      'run one task per combination, except those that an earlier job completed',
    ],
    [
      `goshawk submit --module ./work.js#run --input '{"n": 5}' --results`,
      'call a function and print the result',
    ],
    ['id=$(goshawk submit job.json); goshawk wait $id', 'submit a job file, then wait for the job'],
  ],
  options: SUBMIT_OPTIONS,
  async run(context, options, positionals) {
    const skipped: Skipped = { completed: 0, active: 0, existing: 0 };
    const sources = {
      ...sourcesOf(context),
      skipped: (existing: number) => void Object.assign(skipped, { existing }),
    };
    let job = await buildJob(options, positionals, sources);
    if (lengthOf(job) === 0) return nothingToRun(context, job, skipped);
    const found = await findCluster(context);
    await using cluster = await openCluster(context, { found });
    if (options.resume) {
      const rest = await withoutFinished(cluster, job, context.interrupted);
      job = rest.job;
      Object.assign(skipped, { completed: rest.completed, active: rest.active });
      if (lengthOf(job) === 0) return nothingToRun(context, job, skipped);
    }
    const after = await predecessorsNamed(context, cluster, options, job);
    const handle = await cluster.submit(
      { ...givenSpan(context.environment.TRACEPARENT), ...job, ...after },
      {
        signal: context.interrupted,
        onRefused: ({ message }) =>
          context.note(plain(`waiting for the cluster to accept the job: ${message}`)),
      },
    );
    const willFollow =
      options.wait ||
      options.logs ||
      options.results ||
      options.cancelOnExit ||
      options.waitTimeout !== undefined;
    // The job exists now, so its id is printed before further requests, which may fail.
    const isOutputOnly = options.logs || options.results;
    if (!context.global.json) (isOutputOnly ? context.stderr : context.stdout).write(`${handle.id}\n`);
    else if (!willFollow)
      context.json({ ...submitJson(handle, handle.acceptedState!), ...skippedJson(skipped) });
    const left = skippedText(skipped, lengthOf(job), job.name ?? '');
    if (left !== '') context.note(left);
    if (handle.warning !== undefined) context.note(plain(handle.warning));
    if (found.elsewhere !== undefined)
      context.note(`submitted to the only running cluster, ${found.url} (${found.elsewhere})`);
    if (willFollow) return await follow(context, cluster, handle, options);
    const said = isFinal(handle.acceptedState!)
      ? `the job with this key has already ended: ${handle.acceptedState}; \`goshawk job ${handle.id}\` shows it`
      : `submitted; \`goshawk wait ${handle.id}\` waits for it to end`;
    context.note(said);
    return ExitCode.done;
  },
});

/** Reports that all tasks of a submission are left out. */
function nothingToRun(context: Context, { name = '' }: JobSubmission, skipped: Skipped): number {
  if (context.global.json) context.json({ schema: 'goshawk.submit-skipped/1', job: null, skipped });
  context.note(skippedText(skipped, 0, name) || 'nothing to run: all outputs are up to date');
  return ExitCode.done;
}

function skippedJson(skipped: Skipped): { skipped?: Skipped } {
  return skipped.completed + skipped.active + skipped.existing === 0 ? {} : { skipped };
}

function submitJson({ id: job, warning }: JobHandle, state: JobState): Output<'goshawk.submit/1'> {
  return { schema: 'goshawk.submit/1', job, state, ...present({ warning }) };
}

/** Returns undefined for a file that does not exist or cannot be reached. */
function modifiedMs(path: string): number | undefined {
  try {
    return statSync(path).mtimeMs;
  } catch {
    return undefined;
  }
}

/** Returns access to the files and stdin that a job is built from. */
export function sourcesOf(context: Context): Sources {
  return {
    cwd: context.cwd,
    environment: context.environment,
    modifiedMs,
    note: (line) => context.note(line),
    async read(path, what) {
      if (path === '-') return context.readInput();
      return readGivenFile(resolve(context.cwd, path), context.interrupted, (why, cause) => {
        // A word that names no file may be the start of a command.
        const mayBeCommand =
          what === 'submit' && ['ENOENT', 'EISDIR'].includes((cause as { code?: string }).code ?? '');
        const hint = mayBeCommand ? 'write the command after --: goshawk submit -- CMD ARG…' : '';
        return new InputError('no-file', `${what}: cannot read ${path}: ${why}`, hint, { cause });
      });
    },
  };
}

async function follow(
  context: Context,
  cluster: Cluster,
  handle: JobHandle,
  options: SubmitOptions,
): Promise<number> {
  const stop = new AbortController();
  const signal = AbortSignal.any([context.interrupted, stop.signal]);
  const isLive = options.prefix === 'always' || (options.prefix === 'auto' && context.stdout.isTTY === true);
  const shown = options.logs ? showOutput(context, handle, isLive, signal) : Promise.resolve();
  // Its failure is handled below, after the job's end is known.
  shown.catch(() => {});
  let isPrinted = false;
  try {
    const ended = await waitForJobs(context, [handle], {
      timeoutMs: options.waitTimeout,
      isSilent: options.logs && (isLive || context.stdout.isTTY === true),
      ended: () => {},
    });
    await shown;
    for (const job of ended) {
      if (context.global.json) {
        const detail = await endedJson(context, handle, job, options.results);
        isPrinted = true;
        context.json({ ...submitJson(handle, job.state), ended: detail });
      } else {
        context.note(outcomeText(job, context.errorColor));
        if (options.results) await showResults(context, handle);
      }
    }
    return exitCodeOf(ended);
  } catch (error) {
    stop.abort();
    // One line of JSON is printed even if waiting fails.
    if (context.global.json && !isPrinted) context.json(submitJson(handle, handle.acceptedState!));
    return leave(context, options.cancelOnExit ? await cancelled(cluster, handle.id, error, options) : error);
  }
}

/**
 * Cancels a job after the command stops waiting for it.
 *
 * @returns the error to report
 */
async function cancelled(
  cluster: Cluster,
  id: string,
  error: unknown,
  { waitTimeout }: SubmitOptions,
): Promise<unknown> {
  const isTimeout = error instanceof WaitTimeoutError;
  if (!isTimeout && !(error instanceof DetachedError)) return error;
  await cluster.job(id).cancel();
  return isTimeout
    ? new WaitTimeoutError([id], waitTimeout!, 'cancelled')
    : new DetachedError([id], 'cancelled');
}

/**
 * @param isLive whether lines of several tasks are printed with their task as they arrive, instead of task by
 * task at the end
 */
async function showOutput(
  context: Context,
  handle: JobHandle,
  isLive: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { tasks } = await handle.describe({ signal });
  const isMixed = tasks.total > 1;
  await showLogs(
    context,
    handle,
    {
      failed: false,
      follow: true,
      attempt: 'all',
      isPrefixed: isMixed && isLive,
      isSorted: isMixed && !isLive,
    },
    signal,
  );
}
