import {
  type Cluster,
  drainJson,
  type JobHandle,
  type LogOptions,
  planJob,
  planJson,
  usageJson,
  workerJson,
  workersJson,
} from '@goshawk/client';
import {
  boundedList,
  LIMITS as CLUSTER_LIMITS,
  type Counters,
  EVENTS_KEPT_MS,
  eventTable,
  GoshawkError,
  givenSpan,
  HELD_JOBS,
  HISTORY_KEPT_MS,
  InputError,
  JOB_STATES,
  type JobInput,
  type JobSummary,
  jobJson,
  jobJsonSchema,
  jobsJson,
  PRIORITIES,
  parseDay,
  parseJobQuery,
  parseJobSpec,
  type Resources,
  summaryJson,
  TASKS_LISTED_MAX,
  type TaskRow,
  taskJson,
  UnreachableError,
  USAGE_GROUPS,
  WORKER_STATES,
  waitingJson,
  whyJson,
} from '@goshawk/core';
import { scoresOf } from '@goshawk/predictor';
import { z } from 'zod';
import { BULK_ACTIONS, bulk } from './bulk.js';
import { jobStream, pageStream, resultStream } from './events.js';
import type { FileAnswer } from './file-answer.js';
import { gangLack, waitsAsGang } from './findings.js';
import { LIMITS } from './limits.js';
import { LogTail } from './log-tail.js';
import { checkPaths } from './paths.js';
import { policyOf } from './policy.js';
import { type Route, route } from './route.js';
import * as shapes from './schemas.js';
import { isoTime, streamJson } from './stream-json.js';
import { usersJson } from './users.js';

/** Time for which the history is kept. */
const DAY_SECONDS = HISTORY_KEPT_MS / 1_000;

const id = z.object({ id: z.string().min(1).max(512) });
const name = z.object({ name: z.string().min(1).max(256) });
/** A number as text. `coerce` would read an empty string as 0 and `0x10` as 16. */
const written = (shape: z.ZodNumber) =>
  z.preprocess(
    (text) => (typeof text === 'string' && /^[+-]?\d+(\.\d+)?$/.test(text) ? Number(text) : text),
    shape,
  );
const task = written(z.number().int().min(0).max(999_999_999));
/** Filters of lists: an empty one, from an unset variable, would match nothing. */
const filter = z.string().min(1).max(256);
const flag = z.enum(['true', 'false']).transform((word) => word === 'true');
/** Comma-separated list of job states. */
const states = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.array(z.enum(JOB_STATES)));
const nothing = z.strictObject({});
const NO_JOB = { 404: 'no scheduler knows the job' };
const NO_WORKER = { 404: 'there is no such worker' };

/** All routes of the API, without the page. */
export const ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    url: '/v1/session',
    role: 'read',
    sdk: null,
    python: null,
    does: 'The cluster, and your role here',
    answer: shapes.session,
    handle: async ({ where: cluster }, { role }) => ({ schema: 'goshawk.session/1' as const, cluster, role }),
  }),
  route({
    method: 'POST',
    url: '/v1/jobs',
    role: 'submit',
    sdk: 'Cluster.submit',
    python: 'Client.submit',
    does: 'Submit a job. Submissions with the same `key` create one job. Paths are absolute paths on the workers',
    // The job schema validates the fields in one pass, later.
    body: z.custom<object>((value) => isFields(value), 'expected the fields of a job'),
    bodySchema: submissionSchema,
    answer: shapes.submitted,
    errors: { 404: 'a job in `after` or `afterOk` does not exist', 409: 'another job has this key' },
    handle: async ({ connect }, { body, traceparent, signal }) => {
      checkPaths(body);
      const input = { ...givenSpan(traceparent), parent: undefined, ...body } as unknown as JobInput;
      const to = await connect();
      await checkPredecessors(to, input, signal);
      return submitted(await to.submit(input, { signal }));
    },
  }),
  route({
    method: 'GET',
    url: '/v1/jobs',
    role: 'read',
    sdk: 'Cluster.jobs',
    python: 'Client.jobs',
    does: 'List jobs: active ones, oldest first, then ended ones, latest first',
    query: z.object({
      state: states.optional(),
      user: filter.optional(),
      q: z
        .string()
        .max(1_000)
        .optional()
        .describe(
          'a query: `name:etl* user:ann state:failed since:2h until:1h worker:w1 exit:3`; a word alone is part of a name',
        ),
      all: flag.optional().describe('list all ended jobs, not only the last ten'),
      from: written(z.number().int().min(0).max(999_999_999)).default(0),
      after: z.string().max(600).optional().describe('`cursor` of the page before'),
      limit: written(z.number().int().min(1).max(1_000)).default(50),
    }),
    answer: shapes.jobs,
    handle: async ({ connect }, { query, signal }) => {
      const { state: states, q, ...asked } = query;
      const { id, ...filters } = q === undefined ? {} : parseJobQuery(q, Date.now());
      if (id !== undefined)
        throw new InputError(
          'bad-query',
          'q: a query cannot contain a job id',
          `GET /v1/jobs/${id} shows the job`,
        );
      const listed = await (await connect()).jobs({ states, ...asked, ...filters, signal });
      return jobsJson(listed, { now: Date.now() });
    },
  }),
  route({
    method: 'GET',
    url: '/v1/jobs/{id}',
    role: 'read',
    sdk: 'JobHandle.describe',
    python: 'Job.describe',
    does: 'Show a job; `wait` delays the answer until the job ends, for at most this many seconds',
    path: id,
    query: z.object({ wait: written(z.number().min(0).max(LIMITS.waitSecondsMax)).default(0) }),
    answer: shapes.job,
    errors: NO_JOB,
    handle: async ({ connect }, { path, query, signal }) => {
      const job = (await connect()).job(path.id);
      if (query.wait > 0) {
        await job.wait({ timeoutMs: query.wait * 1_000, signal }).catch((error: unknown) => {
          if (!(error instanceof GoshawkError && error.code === 'wait-timeout')) throw error;
        });
      }
      return jobJson(await job.describe({ signal }), Date.now());
    },
  }),
  route({
    method: 'GET',
    url: '/v1/jobs/{id}/tasks',
    role: 'read',
    sdk: 'JobHandle.tasks',
    python: null,
    does: 'List the tasks of a job by index; `next` is the `from` of the following page',
    path: id,
    query: z.object({
      state: states.optional(),
      stage: z.string().min(1).max(256).optional(),
      from: written(z.number().int().min(0).max(999_999_999)).default(0),
      limit: written(z.number().int().min(1).max(TASKS_LISTED_MAX)).default(1_000),
      used: flag
        .optional()
        .describe(
          `add the CPU and memory that running tasks use at present, which asks up to ${LIMITS.usedWorkersMax} workers`,
        ),
    }),
    answer: shapes.tasks,
    errors: { 404: 'no scheduler knows the job, or it has no such stage' },
    handle: async ({ connect }, { path, query, signal }) => {
      const { state: states, used: isUsedAsked = false, ...asked } = query;
      const cluster = await connect();
      const page = await cluster.job(path.id).tasksPage({ states, ...asked, signal });
      const { tasks, total, next = null, submittedAt } = page;
      const usedAt = isUsedAsked ? await usedAtWorkersOf(cluster, tasks, signal) : undefined;
      return {
        schema: 'goshawk.tasks/1' as const,
        job: path.id,
        tasks: tasks.map((task) => ({
          ...taskJson(task, submittedAt),
          ...(usedAt === undefined
            ? {}
            : { used: usageOfTask(usedAt[task.worker ?? '']?.used, path.id, task.index) }),
        })),
        total,
        truncated: next !== null,
        next,
      };
    },
  }),
  route({
    method: 'POST',
    url: '/v1/jobs/{id}/tasks',
    role: 'submit',
    sdk: 'JobHandle.append',
    python: 'Job.append',
    does: 'Append tasks to an open job, or close it. A repeated request has no further effect; one without tasks only reports',
    path: id,
    body: z.strictObject({
      first: z
        .number()
        .int()
        .min(0)
        .max(CLUSTER_LIMITS.tasksPerJobMax)
        .default(0)
        .describe('index of the first of these tasks'),
      common: z.record(z.string(), z.unknown()).default({}).describe('fields of all of these tasks'),
      tasks: z.array(z.unknown()).max(10_000).default([]).describe('the tasks, without the common fields'),
      digest: z
        .string()
        .max(64)
        .default('')
        .describe(
          'a digest of all tasks of the job, including these, to recognize them later; default: one of these tasks',
        ),
      close: z.boolean().default(false).describe('no more tasks may be appended'),
      taken: z
        .number()
        .int()
        .min(0)
        .max(CLUSTER_LIMITS.tasksPerJobMax)
        .default(0)
        .describe('the results of the tasks before this index are not needed again'),
    }),
    answer: shapes.appended,
    errors: { ...NO_JOB, 409: 'the job is closed, or has other tasks at these indices' },
    handle: async ({ connect }, { path, body, signal }) => {
      const { tasks, ...rest } = body;
      checkPaths({ tasks: [body.common, ...tasks] });
      const state = await (await connect()).job(path.id).append({ ...rest, each: tasks }, { signal });
      return { schema: 'goshawk.append/1' as const, job: path.id, ...state };
    },
  }),
  route({
    method: 'GET',
    url: '/v1/jobs/{id}/logs',
    role: 'read',
    sdk: 'JobHandle.logs',
    python: 'Job.logs',
    does: 'Output of the tasks so far, in order of arrival; the last MiB of it',
    path: id,
    query: z.object({
      task: task.optional(),
      failed: flag.optional(),
      attempt: z
        .union([z.enum(['last', 'all']), written(z.number().int().min(1).max(999_999_999))])
        .default('last')
        .describe('the output of this attempt of each task; `last`, or `all`'),
    }),
    answer: shapes.logs,
    errors: { 404: 'no scheduler knows the job, or it has no such task' },
    handle: async ({ connect }, { path, query, signal }) => logsOf(await connect(), path.id, query, signal),
  }),
  route({
    method: 'GET',
    url: '/v1/jobs/{id}/output',
    role: 'read',
    sdk: 'JobHandle.output',
    python: null,
    does: 'All output of one task as a file, also after its end; `Range: bytes=N-` continues a download, or follows the task',
    path: id,
    query: z.object({
      task: task,
      attempt: written(z.number().int().min(1).max(999_999_999)).optional().describe('default: the last one'),
      stream: z.enum(['both', 'stdout', 'stderr']).default('both'),
    }),
    answer: 'file',
    errors: {
      404: 'no scheduler knows the job, or it has no such task',
      416: 'the output is shorter than the range',
    },
    handle: async ({ connect }, { path, query, signal }) => outputOf(await connect(), path.id, query, signal),
  }),
  route({
    method: 'GET',
    url: '/v1/jobs/{id}/results',
    role: 'read',
    sdk: 'JobHandle.resultsPage',
    python: 'Job.results',
    does: 'A value or an error per task so far, by index, with any outcome of the job. As a stream (Accept: text/event-stream or application/x-ndjson), results arrive as tasks end',
    path: id,
    query: z.object({
      from: written(z.number().int().min(0).max(999_999_999)).default(0),
      limit: written(z.number().int().min(1).max(LIMITS.resultsMax)).default(LIMITS.resultsMax),
      order: z.enum(['index', 'completed']).default('completed').describe('order of the results in a stream'),
    }),
    answer: shapes.results,
    errors: NO_JOB,
    handle: async ({ connect }, { path, query, signal }) =>
      resultsOf(await connect(), path.id, query, signal),
    stream: ({ connect }, { path, query, signal, turnIn }) =>
      resultStream(connect, path.id, query.order, { signal, turnIn }),
  }),
  route({
    method: 'GET',
    url: '/v1/jobs/{id}/why',
    role: 'read',
    sdk: 'JobHandle.explain',
    python: 'Job.why',
    does: 'Explain why a job or task waits, or where its time went',
    path: id,
    query: z.object({ task: task.optional() }),
    answer: shapes.why,
    errors: { 404: 'no scheduler knows the job, or it has no such task' },
    handle: async ({ connect, watch }, { path, query, signal }) => {
      const cluster = await connect();
      const of = query.task === undefined ? {} : { task: query.task };
      const [explained, settings] = await Promise.all([
        cluster.job(path.id).explain({ ...of, signal }),
        cluster.settings({ signal }),
      ]);
      const now = Date.now();
      if (query.task === undefined) watch.limits.note(explained, now);
      const lack = waitsAsGang(explained) ? await gangLack(cluster, explained, signal) : undefined;
      return whyJson(explained, {
        now,
        cutoff: settings?.policy,
        workers: watch.lastWorkers,
        lack,
        limits: watch.limits.of(path.id),
      });
    },
  }),
  route({
    method: 'GET',
    url: '/v1/jobs/{id}/whatif',
    role: 'submit',
    line: 'predictions',
    sdk: null,
    python: null,
    does: 'Simulate when a waiting job would start and end with no change, and with more workers, another priority or another policy',
    path: id,
    query: z.object({
      workers: written(z.number().int().min(-LIMITS.addedWorkersMax).max(LIMITS.addedWorkersMax))
        .optional()
        .describe('additional workers, like those present; negative: fewer'),
      priority: z.enum(PRIORITIES).optional(),
      policy: z.string().min(1).max(256).optional(),
    }),
    answer: shapes.jobWhatIf,
    errors: NO_JOB,
    handle: async ({ connect, predictions }, { path, query, signal }) => {
      const isChange = Object.values(query).some((value) => value !== undefined);
      return predictions.ask(await connect(), path.id, isChange ? [query] : [], signal);
    },
  }),
  route({
    method: 'GET',
    url: '/v1/jobs/{id}/events',
    role: 'read',
    sdk: 'JobHandle.events',
    python: 'Job.events',
    does: 'Follow a job: `progress` from time to time, `ended` once at the end; reconnecting later yields no event',
    path: id,
    answer: 'events',
    errors: NO_JOB,
    handle: ({ connect }, { path, lastEventId, signal, turnIn }) =>
      jobStream(connect, path.id, lastEventId, { signal, turnIn }),
  }),
  route({
    method: 'POST',
    url: '/v1/jobs/{id}/cancel',
    role: 'submit',
    sdk: 'JobHandle.cancel',
    python: 'Job.cancel',
    does: 'Cancel a job, or tasks of it ("7-20,31", numbered as in the job): waiting tasks never start and running tasks are killed',
    path: id,
    body: z.strictObject({
      tasks: z.string().min(1).max(100_000).optional(),
      stage: z.string().min(1).max(256).optional(),
    }),
    answer: shapes.cancelled,
    errors: { 404: 'no scheduler knows the job, or it has no such task or stage' },
    handle: async ({ connect }, { path, body, signal }) => {
      const job = (await connect()).job(path.id);
      if (body.tasks === undefined && body.stage === undefined) {
        const { state } = await job.cancel({ signal });
        return { schema: 'goshawk.cancel/1' as const, job: path.id, state };
      }
      const { job: now, ...tasks } = await job.cancelTasks(body.tasks, { stage: body.stage, signal });
      const { cancelled, killing, ended } = tasks;
      return {
        schema: 'goshawk.cancel/1' as const,
        job: path.id,
        state: now.state,
        tasks: { cancelled, killing, ended },
      };
    },
  }),
  route({
    method: 'POST',
    url: '/v1/jobs/cancel',
    role: 'submit',
    sdk: 'Cluster.cancelJobs',
    python: 'Client.cancel_jobs',
    does: 'Cancel all jobs that match every given filter: a user, a name with * and ?, states; or all jobs',
    body: z.strictObject({
      user: z.string().min(1).max(256).optional(),
      name: z.string().min(1).max(256).optional(),
      state: states.optional(),
      all: z.boolean().optional(),
      dryRun: z.boolean().optional().describe('only count'),
    }),
    answer: shapes.jobsCancelled,
    handle: async ({ connect }, { body, signal }) => {
      const { state: states, ...rest } = body;
      const done = await (await connect()).cancelJobs({ states, ...rest, signal });
      const { jobs, waiting, running, silent } = done;
      return { schema: 'goshawk.cancelled/1' as const, jobs, tasks: { waiting, running }, silent };
    },
  }),
  route({
    method: 'POST',
    url: '/v1/jobs/bulk',
    role: 'submit',
    line: 'long',
    sdk: null,
    python: null,
    does: 'Cancel, retry, hold or release several jobs: those named, or all that match a query',
    body: z.strictObject({
      action: z.enum(BULK_ACTIONS),
      ids: boundedList(z.string().min(1).max(512)).min(1).max(LIMITS.bulkJobsMax).optional(),
      q: z.string().max(1_000).optional().describe('a query as in GET /v1/jobs; empty: all jobs'),
      dryRun: z.boolean().optional().describe('report what would change, without changing it'),
    }),
    answer: shapes.bulk,
    errors: NO_JOB,
    handle: async ({ connect }, { body, signal }) => bulk(await connect(), body, signal),
  }),
  route({
    method: 'POST',
    url: '/v1/plan',
    role: 'submit',
    line: 'predictions',
    sdk: 'planJob',
    python: null,
    does: 'Predict class, eligible workers, start and end of a job, without submitting it',
    body: z.custom<object>((value) => isFields(value), 'expected the fields of a job'),
    bodySchema: submissionSchema,
    answer: shapes.plan,
    handle: async ({ connect }, { body, signal }) => {
      checkPaths(body);
      const { key: _, ...job } = body as { key?: unknown };
      return planJson(await planJob(await connect(), parseJobSpec(job, 'job'), signal));
    },
  }),
  ...(['hold', 'release'] as const).map((verb) =>
    route({
      method: 'POST',
      url: `/v1/jobs/{id}/${verb}`,
      role: 'submit',
      sdk: `JobHandle.${verb}`,
      python: `Job.${verb}`,
      does:
        verb === 'hold'
          ? 'Start no more tasks of a job until it is released; running tasks continue'
          : 'Release a job on hold, or start a job with a later begin time now',
      path: id,
      body: nothing,
      answer: verb === 'hold' ? shapes.held : shapes.released,
      errors: { ...NO_JOB, 409: 'the job has ended' },
      handle: async ({ connect }, { path, signal }) =>
        changedJson(`goshawk.${verb}/1`, await (await connect()).job(path.id)[verb]({ signal })),
    }),
  ),
  route({
    method: 'POST',
    url: '/v1/jobs/{id}/update',
    role: 'submit',
    sdk: 'JobHandle.update',
    python: null,
    does: 'Change the priority of a job',
    path: id,
    body: z.strictObject({ priority: z.enum(PRIORITIES) }),
    answer: shapes.updated,
    errors: { ...NO_JOB, 409: 'the job has ended' },
    handle: async ({ connect }, { path, body, signal }) => ({
      ...changedJson('goshawk.update/1', await (await connect()).job(path.id).update(body, { signal })),
      ...body,
    }),
  }),
  route({
    method: 'POST',
    url: '/v1/jobs/{id}/retry',
    role: 'submit',
    sdk: 'JobHandle.retry',
    python: 'Job.retry',
    does: 'Run failed and cancelled tasks of an ended job again, as further attempts',
    path: id,
    body: z.strictObject({
      key: z.string().min(1).max(256).optional().describe('requests with the same key make one retry'),
      tasks: z
        .string()
        .min(1)
        .optional()
        .describe('only these tasks, such as 3,7-9; by default all that did not complete'),
      stage: z.string().min(1).max(256).optional().describe('only tasks of this stage'),
      failed: z.boolean().optional().describe('omit cancelled tasks; not together with tasks or stage'),
      asNew: z
        .boolean()
        .optional()
        .describe('run them as a new job that keeps their indices and names this one as `retryOf`'),
    }),
    answer: shapes.retried,
    errors: { ...NO_JOB, 409: 'the job continues, or all chosen tasks have completed' },
    handle: async ({ connect }, { path, body, signal }) => {
      const again = await (await connect()).job(path.id).retry({ ...body, signal });
      const { id: job, acceptedState: state, tasksAgain: tasks, tasksCompleted: completed } = again;
      return { schema: 'goshawk.retry/1' as const, job, state: state!, tasks, completed };
    },
  }),
  route({
    method: 'GET',
    url: '/v1/why',
    role: 'read',
    sdk: 'Cluster.waiting',
    python: null,
    does: 'Waiting tasks by reason',
    answer: shapes.waiting,
    handle: async ({ connect }, { signal }) => waitingJson(await (await connect()).waiting({ signal })),
  }),
  route({
    method: 'GET',
    url: '/v1/workers',
    role: 'read',
    sdk: 'Cluster.describe',
    python: 'Client.workers',
    does: 'List the workers',
    query: z.object({ state: z.enum(WORKER_STATES).optional() }),
    answer: shapes.workers,
    handle: async ({ connect }, { query, signal }) => {
      const view = await (await connect()).describe({ signal });
      const shown = view.workers.filter(({ state }) => query.state === undefined || state === query.state);
      const part = { workers: shown, total: shown.length, truncated: false, next: null };
      return workersJson({ view, ...part, lost: query.state === undefined ? view.lostWorkers : [] });
    },
  }),
  route({
    method: 'GET',
    url: '/v1/workers/{name}',
    role: 'read',
    sdk: 'Cluster.describe',
    python: null,
    does: 'Show a worker with its counters, or why a worker was lost within the last hour',
    path: name,
    answer: shapes.worker,
    errors: NO_WORKER,
    handle: async ({ connect, watch }, { path, signal }) => {
      const cluster = await connect();
      const { workers } = await cluster.describe({ signal });
      const found = workers.find((worker) => worker.name === path.name);
      const events = watch.workers
        .eventsOf(path.name)
        .map(({ at, state, cause }) => ({ at: isoTime(at), state, cause: cause ?? null }));
      if (found === undefined) {
        const lost = watch.workers.rows().get(path.name);
        if (lost?.state !== 'lost') throw unknownWorker(path.name);
        const { cause = null, running = null } = lost.loss ?? {};
        return {
          schema: 'goshawk.worker/1' as const,
          ...workerJson(lost.view),
          state: 'lost' as const,
          used: null,
          lost: { at: events.at(-1)!.at, cause, running },
          counters: null,
          tasks: [],
          events,
        };
      }
      const counters = await cluster
        .counters({ of: (party) => party.kind === 'worker' && party.name === path.name, signal })
        .catch(ignoreUnreachable);
      const { used, ...counted } = counters?.workers[path.name] ?? {};
      return {
        schema: 'goshawk.worker/1' as const,
        ...workerJson(found),
        counters: counters === undefined ? null : counted,
        tasks: watch.stream
          .runningAt(path.name, Date.now())
          .map(({ job, name, user, task, attempt, from, demand }) => ({
            ...{ job, name, user: user ?? null, task, attempt, startedAt: isoTime(from), demand },
            used: usageOfTask(used, job, task),
          })),
        lost: null,
        events,
      };
    },
  }),
  route({
    method: 'POST',
    url: '/v1/workers/{name}/drain',
    role: 'operate',
    sdk: 'Cluster.drain',
    python: null,
    does:
      'Start no new tasks on a worker: queued tasks move to other workers, and running tasks finish. Those that still' +
      ' run after `deadlineSeconds` are stopped and restart elsewhere.',
    path: name,
    body: shapes.drainOrder,
    answer: shapes.drained,
    errors: NO_WORKER,
    handle: async ({ connect }, { path, body: { deadlineSeconds }, signal }) => {
      const deadlineMs = deadlineSeconds === undefined ? undefined : deadlineSeconds * 1_000;
      return drainJson(await (await connect()).drain(path.name, true, { deadlineMs, signal }));
    },
  }),
  route({
    method: 'POST',
    url: '/v1/workers/{name}/undrain',
    role: 'operate',
    sdk: 'Cluster.drain',
    python: null,
    does: 'Let a worker accept tasks again',
    path: name,
    body: nothing,
    answer: shapes.drained,
    errors: NO_WORKER,
    handle: async ({ connect }, { path, signal }) =>
      drainJson(await (await connect()).drain(path.name, false, { signal })),
  }),
  route({
    method: 'GET',
    url: '/v1/users',
    role: 'read',
    sdk: 'Cluster.shares',
    python: null,
    does: 'Users with active jobs: tasks, and their shares of the cluster',
    answer: shapes.users,
    handle: async ({ connect }, { signal }) => {
      const cluster = await connect();
      const [shares, { jobs: held }] = await Promise.all([
        cluster.shares({ signal }),
        cluster.jobs({ ...HELD_JOBS, signal }),
      ]);
      return usersJson(shares, held);
    },
  }),
  route({
    method: 'GET',
    url: '/v1/usage',
    role: 'read',
    sdk: 'Cluster.usage',
    python: null,
    does: 'Usage of ended attempts: requested CPUs, memory and GPUs × run time, waits, and failures',
    query: z.object({
      by: z
        .string()
        .default('user')
        .transform((text) => text.split(',').map((part) => part.trim()))
        .pipe(z.array(z.enum(USAGE_GROUPS)).max(USAGE_GROUPS.length))
        .describe('user, project, name, day; comma-separated'),
      since: z.string().max(64).optional().describe('first day, UTC: 2026-11-26, or 7d ago'),
      until: z.string().max(64).optional().describe('last day'),
      user: filter.optional(),
      project: filter.optional(),
      name: filter.optional().describe('name of the jobs'),
      from: written(z.number().int().min(0).max(999_999_999)).default(0),
      limit: written(z.number().int().min(1).max(10_000)).default(1_000),
    }),
    answer: shapes.usage,
    handle: async ({ connect }, { query, signal }) => {
      const { by, user, project, name, ...part } = query;
      const day = (each: 'since' | 'until') =>
        query[each] === undefined ? undefined : parseDay(query[each], each, Date.now());
      const days = { since: day('since'), until: day('until') };
      const asked = { by, user, project, name, ...days, signal };
      return usageJson(await (await connect()).usage(asked), part);
    },
  }),
  route({
    method: 'GET',
    url: '/v1/policy',
    role: 'read',
    sdk: 'Cluster.settings',
    python: null,
    does: 'Policy of the cluster, and its costs',
    answer: shapes.policy,
    handle: async ({ connect }, { signal }) => policyOf(await connect(), signal),
  }),
  route({
    method: 'GET',
    url: '/v1/predictor',
    role: 'read',
    sdk: 'Cluster.counters',
    python: null,
    does: 'Accuracy of the shadow estimators',
    answer: shapes.predictor,
    handle: async ({ connect }, { signal }) => {
      const asked = { of: ({ kind }: { kind: string }) => kind === 'scheduler', signal };
      const { totals, silent } = await (await connect()).counters(asked);
      return {
        schema: 'goshawk.predictor/1' as const,
        estimators: scoresOf(totals.schedulers.shadow),
        silent,
      };
    },
  }),
  route({
    method: 'GET',
    url: '/v1/overview',
    role: 'read',
    sdk: null,
    python: null,
    does: 'The latest view of the cluster, with alerts',
    answer: shapes.overview,
    handle: async ({ watch }) => watch.overview,
  }),
  route({
    method: 'GET',
    url: '/v1/history',
    role: 'read',
    sdk: null,
    python: null,
    does: 'Throughput, scheduling delay and run time by class: the last hour, or, every two minutes, the last day, as central recorded it',
    query: z.object({
      seconds: written(z.number().min(1).max(DAY_SECONDS)).default(3_600).describe('how far back'),
    }),
    answer: shapes.history,
    handle: async ({ watch }, { query: { seconds } }) => {
      const after = Math.floor(Date.now() / 1_000) - seconds;
      const points = seconds <= 3_600 ? watch.history.points : watch.day.points(after);
      return { schema: 'goshawk.history/1' as const, points: points.filter(({ at }) => at > after) };
    },
  }),
  route({
    method: 'GET',
    url: '/v1/events/past',
    role: 'read',
    sdk: 'Cluster.events',
    python: null,
    does: 'What happened to the cluster within the last seven days: members lost and back, drains, quarantines, takeovers, changes of settings',
    query: z.object({
      seconds: written(
        z
          .number()
          .min(1)
          .max(EVENTS_KEPT_MS / 1_000),
      )
        .default(86_400)
        .describe('how far back'),
      after: written(z.number().int().min(0)).default(0).describe('only events after this number'),
    }),
    answer: shapes.clusterEvents,
    handle: async ({ connect }, { query: { seconds, after }, signal }) => {
      const sinceMs = Date.now() - 1_000 * seconds;
      const { events, next, since } = await (await connect()).events({ after, sinceMs, signal });
      return {
        schema: 'goshawk.events/1' as const,
        events: events.map((event) => eventTable.json(event, undefined)),
        next,
        since: isoTime(since),
      };
    },
  }),
  route({
    method: 'GET',
    url: '/v1/stream',
    role: 'read',
    sdk: null,
    python: null,
    does: 'What ran where: the load of workers within the last day, and a sample of the attempts there within the last hour',
    query: z.object({
      seconds: written(z.number().min(5).max(DAY_SECONDS)).default(300).describe('length of the window'),
      until: written(z.number().min(0)).optional().describe('end of the window, ms since 1970; default: now'),
      worker: z.string().max(256).default('').describe('only workers with this text in their names'),
      from: written(z.number().int().min(0).max(999_999)).default(0).describe('workers to skip'),
      limit: written(z.number().int().min(1).max(LIMITS.streamWorkersMax)).default(40),
    }),
    answer: shapes.stream,
    handle: async ({ watch }, { query }) => streamJson(watch, query, Date.now()),
  }),
  route({
    method: 'GET',
    url: '/v1/events',
    role: 'read',
    sdk: null,
    python: null,
    does: 'Follow the cluster: `overview`, new points of `history`, changes of `workers`; a reconnection with Last-Event-ID gets the changes since',
    answer: 'events',
    handle: ({ watch }, { lastEventId, signal }) => pageStream(watch, lastEventId, signal),
  }),
];

function submitted({ id: job, acceptedState: state, warning }: JobHandle) {
  return {
    schema: 'goshawk.submit/1' as const,
    job,
    state: state!,
    ...(warning === undefined ? {} : { warning }),
  };
}

/**
 * Refuses ids of predecessors that never existed, such as misspelled ones. Those of forgotten jobs, and of schedulers
 * that do not answer, are accepted, as are malformed values, which the schema of jobs refuses.
 */
async function checkPredecessors(
  cluster: Cluster,
  { after, afterOk }: JobInput,
  signal: AbortSignal,
): Promise<void> {
  const ids = new Set([after, afterOk].flatMap((list) => (Array.isArray(list) ? list : [])));
  if (ids.size > 2 * CLUSTER_LIMITS.predecessorsMax) return;
  const check = (id: string) =>
    cluster
      .job(id)
      .describe({ signal })
      .catch((error: unknown) => {
        if (signal.aborted || (error instanceof GoshawkError && error.code === 'unknown-job')) throw error;
      });
  await Promise.all(Array.from(ids, (id) => typeof id === 'string' && check(id)));
}

function changedJson<const S extends string>(schema: S, job: JobSummary) {
  return { schema, job: job.id, ...summaryJson(job, Date.now()) };
}

function submissionSchema(): Record<string, unknown> {
  const { $schema: _, properties, ...schema } = jobJsonSchema() as { properties: object; $schema?: string };
  const description = 'submissions with the same key create one job';
  const key = { type: 'string', minLength: 1, maxLength: 256, description };
  return { ...schema, properties: { ...properties, key } };
}

function ignoreUnreachable(error: unknown): undefined {
  if (error instanceof UnreachableError) return undefined;
  throw error;
}

/** Resource use at the workers of these tasks, by name of the worker. */
async function usedAtWorkersOf(
  cluster: Cluster,
  tasks: readonly TaskRow[],
  signal: AbortSignal,
): Promise<Readonly<Record<string, Counters>>> {
  const running = tasks.flatMap(({ state, worker }) => (state === 'running' && worker ? [worker] : []));
  const names = new Set([...new Set(running)].slice(0, LIMITS.usedWorkersMax));
  if (names.size === 0) return {};
  const of = (party: { readonly kind: string; readonly name: string }) =>
    party.kind === 'worker' && names.has(party.name);
  return (await cluster.counters({ of, signal }).catch(ignoreUnreachable))?.workers ?? {};
}

/** CPU and memory of a running task, from the counters of its worker; null: unknown. */
function usageOfTask(used: Counters[string] | undefined, job: string, task: number): Resources | null {
  if (typeof used !== 'object') return null;
  const key = `${job}/${task}`;
  const { cpu, memory } = (Object.hasOwn(used, key) ? used[key] : {}) as Counters;
  return typeof cpu === 'number' && typeof memory === 'number' ? { cpu, memory } : null;
}

async function resultsOf(
  cluster: Cluster,
  id: string,
  { from, limit }: { readonly from: number; readonly limit: number },
  signal: AbortSignal,
) {
  const job = cluster.job(id);
  const { state, tasks } = await job.describe({ signal });
  const pages = LIMITS.resultPagesMax;
  const { results, next = null } = await job.resultsPage({ from, max: limit, pages, signal });
  return {
    schema: 'goshawk.results/2' as const,
    job: id,
    state,
    total: tasks.total,
    results,
    truncated: next !== null,
    next,
  };
}

async function logsOf(
  cluster: Cluster,
  job: string,
  query: Pick<LogOptions, 'task' | 'failed' | 'attempt'>,
  signal: AbortSignal,
) {
  const tail = new LogTail(LIMITS.logBytesMax);
  let missing: string | null = null;
  const onDropped = (_: unknown, why: string | undefined): void => {
    tail.isTruncated = true;
    missing ??= why ?? null;
  };
  let earlierAttempts = false;
  const onEarlierAttempts = (): void => {
    earlierAttempts = true;
  };
  const chunks = cluster.job(job).logs({ ...query, signal, onDropped, onEarlierAttempts });
  for await (const chunk of chunks) tail.add(chunk);
  return {
    schema: 'goshawk.logs/1' as const,
    job,
    chunks: tail.end(),
    truncated: tail.isTruncated,
    missing,
    earlierAttempts,
  };
}

/** A task keeps at most a few MiB of output. */
async function outputOf(
  cluster: Cluster,
  job: string,
  {
    task: index,
    attempt = 'last',
    stream,
  }: { task: number; attempt?: number | 'last' | undefined; stream: string },
  signal: AbortSignal,
): Promise<FileAnswer> {
  let missing: string | null = null;
  const onDropped = (_: unknown, why: string | undefined): void => {
    missing ??= why ?? 'a part of the output was discarded';
  };
  const parts: Uint8Array[] = [];
  for await (const chunk of cluster.job(job).logs({ task: index, attempt, signal, onDropped }))
    if (stream === 'both' || chunk.stream === stream) parts.push(chunk.bytes);
  return { bytes: Buffer.concat(parts), name: `${job}-${index}.log`, missing };
}

function unknownWorker(worker: string): InputError {
  return new InputError(
    'unknown-worker',
    `there is no worker ${worker}`,
    '`goshawk workers` lists all workers',
  );
}

function isFields(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
