import {
  type Address,
  type Counters,
  ignoreForeign,
  LIMITS,
  type MessageFrom,
  type MessageNotTo,
  type MessageOf,
  type Millis,
  matchesGlob,
  ownerFor,
  QUERY_COST,
  QUOTAS_LISTED_MAX,
  QueryBudget,
  type TaskIndex,
  type UserQuota,
} from '@goshawk/core';
import { answerNow, answerWhenDurable, readWhenDurable, refuse } from '../durability/answers.js';
import type { Refusal } from '../durability/ledger.js';
import type { IsOwner } from '../durability/tombstones.js';
import { type HeapSize, isAnswerable, measureHeap } from '../job/heap-bytes.js';
import type { Job } from '../job/job.js';
import { TaskState } from '../job/task-state.js';
import { appendTasks } from '../life/appending.js';
import { cancelJob, cancelTasks } from '../life/cancelling.js';
import { updateJob } from '../life/holds.js';
import { NOT_LOADED, retryJob, submitJob } from '../life/submissions.js';
import type { SchedulerState } from '../state/state.js';
import { cancelJobs, firstNotCancellable } from './bulk-cancelling.js';
import { explain, waitingGroups } from './explaining.js';
import { listJobs } from './job-list.js';
import { isOutputFetched, jobDetail, jobResults, jobSummary } from './job-views.js';
import { waitContextOf } from './snapshot.js';
import { taskPage } from './task-list.js';
import { Watching } from './watching.js';

/** Serves the requests of clients. */
export class ClientApi {
  readonly watching: Watching;
  readonly #s: SchedulerState;
  readonly #budget = new QueryBudget();
  /** The only user whose jobs the current request may access; undefined: any user. */
  #allowedUser: string | undefined;
  /** Name of the key of the current request, to which its queries are charged; empty without individual keys. */
  #client = '';

  constructor(s: SchedulerState) {
    this.#s = s;
    this.watching = new Watching(s);
  }

  receive(from: Address, message: MessageFrom<'client'> | MessageNotTo<'scheduler'>, now: Millis): void {
    const s = this.#s;
    const key = s.env.clientKeyOf?.(from);
    this.#allowedUser = ownerFor(key, message.type);
    this.#client = key?.name ?? '';
    switch (message.type) {
      case 'submit':
        return submitJob(s, from, message, this.#allowedUser, now);
      case 'watchJob':
        return this.#readJob(from, message, now, (job) => {
          if (!this.watching.watch(from, message, job, now))
            refuse(s, from, message.request, TOO_MANY_WATCHES);
          return message.detail ? STAGE_COST * job.stages.length : 1;
        });
      case 'unwatch':
        return this.watching.unwatch(from, message.request);
      case 'describeJob':
        return this.#readJob(from, message, now, (job) => {
          return STAGE_COST * job.stages.length + this.#describe(from, message, job, now);
        });
      case 'explainJob':
        return this.#readJob(from, message, now, (job) => {
          this.#explain(from, message, job, now);
          return 2 * STAGE_COST * job.stages.length;
        });
      case 'explainWaiting':
        return this.#serveWithinBudget(from, message.request, now, () =>
          this.#explainWaiting(from, message.request, now),
        );
      case 'listJobs':
        return this.#serveWithinBudget(from, message.request, now, () => this.#list(from, message, now));
      case 'readUsage':
        return this.#serveWithinBudget(from, message.request, now, () => {
          const books = s.accounting.report(message, this.#allowedUser, now);
          this.#budget.charge(this.#client, USAGE_REPORT_COST);
          answerNow(s, from, message.request, 'usageBooks', books);
        });
      case 'listTasks':
        return this.#readJob(from, message, now, (job) => {
          const page = taskPage(s, job, message, now);
          const scan = STATE_COST * job.taskCount;
          if ('code' in page) refuse(s, from, message.request, page);
          else answerNow(s, from, message.request, 'taskPage', page);
          const rows = 'code' in page ? 0 : page.tasks.length;
          return ROW_COST * rows + textCost(page) + (message.states.length > 0 ? scan : 0);
        });
      case 'readLogs':
        return this.#readJob(from, message, now, (job) => {
          return STATE_COST * job.taskCount + this.#readLogs(from, message, job);
        });
      case 'readResults':
        return this.#readJob(from, message, now, (job) => this.#readResults(from, message, job));
      case 'appendTasks':
        return this.#withJob(from, message, now, (job) => appendTasks(s, from, message, job, now));
      case 'cancelJob':
        return this.#withJob(from, message, now, (job) => {
          cancelJob(s, job, now);
          answerWhenDurable(s, from, message.request, 'jobSummary', jobSummary(s, job));
        });
      case 'cancelTasks':
        return this.#withJob(from, message, now, (job) => {
          const outcome = cancelTasks(s, job, message, now);
          if ('code' in outcome) return refuse(s, from, message.request, outcome);
          answerWhenDurable(s, from, message.request, 'tasksCancelled', {
            job: jobSummary(s, job),
            ...outcome,
          });
        });
      case 'cancelJobs':
        return this.#cancelJobs(from, message, now);
      case 'updateJob':
        return this.#withJob(from, message, now, (job) => {
          const copy = { request: message.request, key: job.id };
          const refusal = s.refused.of(from, copy) ?? updateJob(this.#s, from, message, job, now);
          if (refusal === undefined)
            return answerWhenDurable(s, from, message.request, 'jobSummary', jobSummary(s, job));
          s.refused.add(from, copy, refusal);
          refuse(s, from, message.request, refusal);
        });
      case 'retryJob':
        return this.#withJob(from, message, now, (job) => retryJob(s, from, message, job, now));
      case 'findSchedulers':
        return this.#serveWithinBudget(from, message.request, now, () =>
          answerNow(s, from, message.request, 'introduction', {
            name: s.config.name,
            tag: s.config.tag,
            central: s.env.nameOf(s.config.central),
            workers: s.cluster.members.size,
            others: s.keys.others,
          }),
        );
      case 'readCounters':
        return this.#serveWithinBudget(from, message.request, now, () =>
          answerNow(s, from, message.request, 'counters', {
            ...s.events.counted,
            ...s.ledger.counted,
            ...s.env.counted?.(),
          } as Counters),
        );
      default:
        return ignoreForeign<'scheduler'>(message);
    }
  }

  // ---- requests about one job

  /**
   * Serves a request about an existing job that the client may see. A job in the journal is read if the query budget permits.
   *
   * @param isQuery whether the request counts as a query already
   */
  #withJob(
    from: Address,
    { request, id }: { request: number; id: string },
    now: Millis,
    serve: (job: Job) => void,
    isQuery = false,
  ): void {
    const { jobs } = this.#s;
    const allowed = this.#allowedUser;
    const tombstone = jobs.tombstoneOfId(id);
    // Another user's job is refused as unknown, without reading it from the journal.
    const mayBeVisible = allowed === undefined || tombstone === undefined || tombstone.user === allowed;
    const serveFound = (): void => {
      const job = mayBeVisible ? jobs.byId(id) : undefined;
      if (job !== undefined && (allowed === undefined || job.spec.user === allowed)) return serve(job);
      refuse(this.#s, from, request, this.#refusalFor(id));
    };
    if (tombstone?.kind !== 'archived' || !mayBeVisible) return serveFound();
    const read = (): void => {
      this.#budget.charge(this.#client, READING_COST + tombstone.bytes / BYTES_PER_JOB);
      serveFound();
    };
    if (isQuery) read();
    else this.#serveWithinBudget(from, request, now, read);
  }

  /** Serves a reading request about one job if the query budget permits. @param serve returns its cost, in listed jobs */
  #readJob(
    from: Address,
    message: { request: number; id: string },
    now: Millis,
    serve: (job: Job) => number,
  ): void {
    this.#serveWithinBudget(from, message.request, now, () =>
      this.#withJob(from, message, now, (job) => this.#budget.charge(this.#client, serve(job)), true),
    );
  }

  #refusalFor(id: string): Refusal {
    const { jobs } = this.#s;
    const known = jobs.tombstoneOfId(id);
    const isVisible = this.#allowedUser === undefined || known?.user === this.#allowedUser;
    if (isVisible && jobs.isNotLoaded(id)) return { ...NOT_LOADED, message: `${id} ${NOT_LOADED.message}` };
    if (!isVisible || known === undefined) {
      // Numbers are skipped at each start, and a journal may have lost jobs, so an unknown job need not have ended.
      const mayBeDeleted = isVisible && jobs.isDeleted(id);
      const why = mayBeDeleted ? ': it was deleted after its end, or never recorded here' : '';
      const hint = mayBeDeleted ? DELETED_HINT : '`goshawk jobs --all` lists the existing jobs';
      return { code: 'unknown-job', message: `there is no job ${id}${why}`, hint };
    }
    const end = `has ended (${known.state})`;
    if (known.droppedAt !== undefined) {
      const seconds = Math.round((known.droppedAt - known.endedAt) / 1_000);
      const message = `${id} ${end}; its results were dropped ${seconds} s later, because jobs take more memory than this scheduler has for them`;
      return { code: 'forgotten-job', message, hint: DROPPED_HINT };
    }
    return {
      code: 'forgotten-job',
      message: `${id} ${end} and was deleted later`,
      hint: DELETED_HINT,
    };
  }

  /** @returns the cost of the specification */
  #describe(from: Address, { request, spec }: MessageOf<'describeJob'>, job: Job, now: Millis): number {
    const weight = spec ? measureHeap(job.spec) : EMPTY;
    const cost = weight.values / VALUES_PER_JOB + weight.bytes / BYTES_PER_JOB;
    if (!isOutputFetched(this.#s, job)) refuse(this.#s, from, request, OUTPUT_NOT_FETCHED);
    else if (isAnswerable(weight))
      answerNow(this.#s, from, request, 'jobDetail', jobDetail(this.#s, job, now, spec));
    else refuse(this.#s, from, request, specTooLong(job, weight));
    return cost;
  }

  #explain(from: Address, { request, task }: MessageOf<'explainJob'>, job: Job, now: Millis): void {
    if (task !== undefined && !job.has(task)) return refuse(this.#s, from, request, noSuchTask(job, task));
    answerNow(this.#s, from, request, 'jobExplanation', explain(this.#s, job, task, now));
  }

  /** Sends results once they are durable, so that a restart never revokes a result that a client has read. */
  #readResults(from: Address, { request, from: first, order }: MessageOf<'readResults'>, job: Job): number {
    const { ledger } = this.#s;
    const page = jobResults(this.#s, job, first, order);
    if (ledger.isEndDurable(job)) answerNow(this.#s, from, request, 'resultPage', page);
    else readWhenDurable(this.#s, from, request, 'resultPage', page);
    const scanned = order === undefined ? STATE_COST * (job.taskCount - first) : 0;
    const rows = Math.max(page.values.length, page.tasks?.length ?? 0);
    return ROW_COST * rows + textCost(page.values) + Math.max(0, scanned);
  }

  /** @returns the cost of the output */
  #readLogs(from: Address, message: MessageOf<'readLogs'>, job: Job): number {
    const { jobs } = this.#s;
    const { task, failedOnly, cursor, attempt } = message;
    // A task may still be appended to an open job.
    if (task !== undefined && !job.has(task) && !job.isOpen) {
      refuse(this.#s, from, message.request, noSuchTask(job, task));
      return 0;
    }
    const isWanted = (of: number) =>
      (task === undefined || of === task) && (!failedOnly || job.tasks.stateOf(of) === TaskState.failed);
    const attemptOf =
      attempt === undefined ? undefined : (of: number) => attempt || job.tasks.executionsOf(of);
    const page = jobs.logs.read(job.number, cursor, isWanted, job.hasEnded, attemptOf);
    if (page === undefined) {
      refuse(this.#s, from, message.request, OUTPUT_NOT_FETCHED);
      return 0;
    }
    const hasEarlier = attempt === 0 ? page.hasEarlier : undefined;
    answerNow(this.#s, from, message.request, 'logPage', { ...page, hasEarlier });
    return textCost(page.chunks);
  }

  // ---- requests about all jobs

  /** Serves a request if the query budget permits. */
  #serveWithinBudget(from: Address, request: number, now: Millis, serve: () => void): void {
    const retryMs = this.#budget.waitMs(this.#client, now);
    if (retryMs > 0) return refuse(this.#s, from, request, { ...TOO_MANY_QUERIES, retryMs });
    this.#budget.charge(this.#client, QUERY_COST);
    serve();
  }

  /** Lists the jobs that match the request, and quotas. */
  #list(from: Address, message: MessageOf<'listJobs'>, now: Millis): void {
    const { jobs } = this.#s;
    const { user, where: { userLike } = {} } = message;
    const owners = [user, this.#allowedUser].filter((each) => each !== undefined);
    const isOwner =
      owners.length === 0 && userLike === undefined
        ? undefined
        : (of?: string) =>
            owners.every((each) => each === of) &&
            (userLike === undefined || matchesGlob(userLike, of ?? ''));
    const { archivedReads, tasksRead, ...listing } = listJobs(
      this.#s,
      (job) => jobSummary(this.#s, job),
      message,
      isOwner,
      now,
    );
    this.#budget.charge(this.#client, jobs.count + READING_COST * archivedReads + tasksRead / TASKS_PER_JOB);
    answerNow(this.#s, from, message.request, 'jobList', { ...listing, ...this.#quotas(isOwner) });
  }

  /** Waiting tasks per user and their limit, largest first; empty without a limit. */
  #quotas(isOwner: IsOwner | undefined): { quotas?: readonly UserQuota[] } {
    const { jobs, config, overload } = this.#s;
    const max = overload.userWaitingTasksMax;
    if (max === Number.POSITIVE_INFINITY) return {};
    const used = Array.from(jobs.activeByUser, ([user, { waiting }]) => ({ user, waiting }))
      .filter(({ user, waiting }) => waiting > 0 && isOwner?.(user) !== false)
      .sort((one, other) => other.waiting - one.waiting);
    const { name: scheduler } = config;
    return { quotas: used.slice(0, QUOTAS_LISTED_MAX).map((each) => ({ ...each, max, scheduler })) };
  }

  #cancelJobs(from: Address, message: MessageOf<'cancelJobs'>, now: Millis): void {
    const { jobs } = this.#s;
    const wrong = firstNotCancellable(message.states);
    if (wrong !== undefined)
      return refuse(this.#s, from, message.request, {
        code: 'bad-state',
        message: `jobs that are ${wrong} cannot be cancelled`,
        hint: 'only waiting and running jobs can be cancelled',
      });
    this.#serveWithinBudget(from, message.request, now, () => {
      this.#budget.charge(this.#client, jobs.activeCount);
      const answer = cancelJobs(this.#s, from, message, this.#allowedUser, now);
      answerWhenDurable(this.#s, from, message.request, 'jobsCancelled', answer);
    });
  }

  #explainWaiting(from: Address, request: number, now: Millis): void {
    const { jobs } = this.#s;
    this.#budget.charge(this.#client, EXPLAINING_COST * jobs.activeCount);
    const allowed = this.#allowedUser;
    const visible =
      allowed === undefined ? jobs.active() : [...jobs.active()].filter(({ spec }) => spec.user === allowed);
    const groups = waitingGroups(visible, waitContextOf(this.#s, now), now);
    answerNow(this.#s, from, request, 'waitingGroups', groups);
  }
}

function specTooLong({ id }: Job, { values, bytes }: HeapSize): Refusal {
  return {
    code: 'spec-too-long',
    message: `the specification of ${id} is too long for one answer: ${values} values, ${bytes} bytes of text`,
    hint: `the limits are ${LIMITS.answerValuesMax} values and ${LIMITS.answerBytesMax} bytes; request the job without its specification, or read the submitted job file`,
  };
}

/** Returns the cost of the text, bytes and values in an answer. */
function textCost(value: unknown): number {
  const { values, bytes } = measureHeap(value);
  return values / VALUES_PER_JOB + bytes / BYTES_PER_JOB;
}

function noSuchTask(job: Job, task: TaskIndex): Refusal {
  const hint =
    task < job.taskCount ? '`goshawk tasks` lists its tasks' : `its tasks are 0 to ${job.taskCount - 1}`;
  return { code: 'unknown-task', message: `${job.id} has no task ${task}`, hint };
}

const OUTPUT_NOT_FETCHED = {
  code: 'not-ready',
  message: 'the output of this job is being read from its journal',
  hint: 'try again in a moment',
  retryMs: 50,
} as const;
const EMPTY: HeapSize = { values: 0, bytes: 0 };

const DELETED_HINT =
  "read results when a job ends; the scheduler's --keep-jobs and --keep limit how many ended jobs it keeps, and for how long";

const DROPPED_HINT =
  'read results when a job ends; with a larger heap (--max-old-space-size) or a journal (--data-folder), a scheduler keeps more of them';

const TOO_MANY_QUERIES = {
  code: 'overloaded',
  message: 'this scheduler receives too many queries about many jobs, stages or tasks',
  hint: 'try again in a moment',
};

/** Values and bytes of an answer, or of a job in the journal, that cost as much as one listed job. */
const VALUES_PER_JOB = 10;
const BYTES_PER_JOB = 300;

/** Costs of describing a stage, of listing a task or its result, and of looking at the state of a task, in units of listed jobs. */
const STAGE_COST = 40;
const ROW_COST = 3;
const STATE_COST = 1 / 24;

/** Number of tasks whose workers are read in the time of one listed job. */
const TASKS_PER_JOB = 10;
/** Cost of reading a job from the journal, in units of listed jobs. */
const READING_COST = 50;

/** Cost of a usage report, in units of listed jobs. */
const USAGE_REPORT_COST = 6_000;

/** Cost of explaining why a job waits, in units of listed jobs. */
const EXPLAINING_COST = 4;

const TOO_MANY_WATCHES: Refusal = {
  code: 'overloaded',
  message: `clients with this key already watch as many jobs of this scheduler as they may at present; ${LIMITS.watchesMax} is the limit for all`,
  hint: 'wait for jobs one after another, or poll them',
};
