import {
  type Address,
  type Counters,
  JOB_STATES,
  type JobSummary,
  LIMITS,
  type Message,
  type MessageOf,
  type Millis,
  QUOTAS_LISTED_MAX,
  scopeOf,
  type UserQuota,
} from '@goshawk/core';
import type { Overload } from '../accepting/overload.js';
import type { Submissions } from '../accepting/submissions.js';
import type { SchedulerConfig, SchedulerEnvironment } from '../contract.js';
import type { Cancelling } from '../ending/cancelling.js';
import { type Job, TaskState } from '../job/job.js';
import type { Enlistment } from '../joining/enlistment.js';
import type { Members } from '../joining/members.js';
import { isAnswerable, Page, type Weight, weigh } from '../keeping/heap-bytes.js';
import type { JobStore } from '../keeping/job-store.js';
import type { Refusal } from '../keeping/ledger.js';
import type { JobEvents } from '../observing/job-events.js';
import { circumstancesOf } from '../observing/snapshot.js';
import type { Recovery } from '../recovering/recovery.js';
import type { Answers } from './answers.js';
import { type ExplainContext, explain, waitingGroups } from './explaining.js';
import type { JobViews } from './job-views.js';
import { QueryBudget } from './query-budget.js';
import type { Watching } from './watching.js';

/** What clients ask of jobs: requests in, answers out. */
export class ClientApi {
  readonly #env: SchedulerEnvironment;
  readonly #config: SchedulerConfig;
  readonly #members: Members;
  readonly #enlistment: Enlistment;
  readonly #recovery: Recovery;
  readonly #jobs: JobStore;
  readonly #submissions: Submissions;
  readonly #cancelling: Cancelling;
  readonly #events: JobEvents;
  readonly #views: JobViews;
  readonly #watching: Watching;
  readonly #answers: Answers;
  readonly #overload: Overload;
  readonly #budget = new QueryBudget();
  /** The user whose jobs alone the request at hand may be about. */
  #onlyOf: string | undefined;

  constructor(
    env: SchedulerEnvironment,
    config: SchedulerConfig,
    members: Members,
    enlistment: Enlistment,
    recovery: Recovery,
    jobs: JobStore,
    submissions: Submissions,
    cancelling: Cancelling,
    events: JobEvents,
    views: JobViews,
    watching: Watching,
    answers: Answers,
    overload: Overload,
  ) {
    this.#env = env;
    this.#config = config;
    this.#members = members;
    this.#enlistment = enlistment;
    this.#recovery = recovery;
    this.#jobs = jobs;
    this.#submissions = submissions;
    this.#cancelling = cancelling;
    this.#events = events;
    this.#views = views;
    this.#watching = watching;
    this.#answers = answers;
    this.#overload = overload;
  }

  receive(from: Address, message: Message, now: Millis): void {
    const key = this.#env.clientKeyOf?.(from);
    this.#onlyOf = key === undefined || scopeOf(key, message.type) !== 'own' ? undefined : key.name;
    switch (message.type) {
      case 'submit':
        return this.#submissions.submit(from, message, this.#onlyOf, now);
      case 'watchJob':
        return this.#withJob(from, message, (job) => {
          if (!this.#watching.watch(from, message, job, now))
            this.#answers.turnAway(from, message.request, TOO_MANY_WATCH);
        });
      case 'unwatch':
        return this.#watching.unwatch(from, message.request);
      case 'describeJob':
        return this.#withJob(from, message, (job) => this.#describe(from, message, job, now));
      case 'explainJob':
        return this.#withJob(from, message, (job) => this.#explain(from, message, job, now));
      case 'explainWaiting':
        return this.#looking(from, message.request, now, () =>
          this.#explainWaiting(from, message.request, now),
        );
      case 'listJobs':
        return this.#looking(from, message.request, now, () => this.#list(from, message));
      case 'readLogs':
        return this.#withJob(from, message, (job) => this.#readLogs(from, message, job));
      case 'readResults':
        return this.#withJob(from, message, (job) =>
          this.#answers.answer(from, message.request, 'resultPage', this.#views.results(job, message.from)),
        );
      case 'cancelJob':
        return this.#withJob(from, message, (job) => {
          this.#cancelling.cancel(job, now);
          this.#answers.acknowledge(from, message.request, 'jobSummary', this.#views.summary(job));
        });
      case 'retryJob':
        return this.#withJob(from, message, (job) => this.#submissions.retry(from, message, job, now));
      case 'findSchedulers':
        return this.#answers.answer(from, message.request, 'introduction', {
          name: this.#config.name,
          tag: this.#config.tag,
          central: this.#env.nameOf(this.#config.central),
          workers: this.#members.size,
        });
      case 'readCounters':
        return this.#answers.answer(from, message.request, 'counters', {
          ...this.#events.counted,
          ...this.#env.counted?.(),
        } as Counters);
      default:
        // Meant for another role: nothing here waits for it.
        return;
    }
  }

  // ---- requests

  #describe(from: Address, { request, spec }: MessageOf<'describeJob'>, job: Job, now: Millis): void {
    const weight = spec ? weigh(job.spec) : NOTHING;
    if (isAnswerable(weight))
      return this.#answers.answer(from, request, 'jobDetail', this.#views.detail(job, now, spec));
    const message = `the specification of ${job.id} is too long for one answer: ${weight.values} values, ${weight.bytes} bytes of text`;
    const hint = `at most ${LIMITS.answerValuesMax} and ${LIMITS.answerBytesMax} are shown; ask without it, or look at what was submitted`;
    this.#answers.refuse(from, request, 'spec-too-long', message, hint);
  }

  /** Active jobs, oldest first, then ended ones, newest first. Filters come before limits. */
  #list(from: Address, message: MessageOf<'listJobs'>): void {
    const states = JOB_STATES.filter(
      (state) => message.states.length === 0 || message.states.includes(state),
    );
    const owners = [message.user, this.#onlyOf].filter((user) => user !== undefined);
    const isOwner =
      owners.length === 0 ? undefined : (user?: string) => owners.every((each) => each === user);
    const active = [...this.#jobs.active()].filter(
      ({ state, spec }) => states.includes(state) && isOwner?.(spec.user) !== false,
    );
    const room = Math.max(0, Math.min(message.endedMax, message.jobsMax - active.length));
    const ended = this.#jobs.endedNewestFirst(states, isOwner, room);
    const away = this.#jobs.awayNewestFirst(states, isOwner, room - ended.jobs.length);
    this.#budget.took(this.#jobs.count + READING_COST * away.jobs.length);
    const shown = [...active.slice(0, message.jobsMax), ...ended.jobs, ...away.jobs];
    const page = new Page<JobSummary>();
    // Those that one answer has no room for are among the total.
    shown.every((job) => page.take(this.#views.summary(job)));
    this.#answers.answer(from, message.request, 'jobList', {
      jobs: page.items,
      total: active.length + ended.total + away.total,
      ...this.#quotas(message.user),
    });
  }

  /** Who has how much of what one user may have waiting, most first; nothing where any number may wait. */
  #quotas(user: string | undefined): { quotas?: readonly UserQuota[] } {
    const max = this.#overload.userWaitingTasksMax;
    if (max === Number.POSITIVE_INFINITY) return {};
    const { name: scheduler } = this.#config;
    const held = Array.from(this.#jobs.activeByUser, ([name, { waiting }]) => ({ user: name, waiting }));
    const seen = held.filter(
      (each) =>
        each.waiting > 0 &&
        (user === undefined || each.user === user) &&
        (this.#onlyOf === undefined || each.user === this.#onlyOf),
    );
    seen.sort((one, other) => other.waiting - one.waiting);
    return { quotas: seen.slice(0, QUOTAS_LISTED_MAX).map((each) => ({ ...each, max, scheduler })) };
  }

  #explainWaiting(from: Address, request: number, now: Millis): void {
    this.#budget.took(EXPLAINING_COST * this.#jobs.activeCount);
    const groups = waitingGroups(
      this.#jobs.active(),
      circumstancesOf(this.#members, this.#enlistment, this.#recovery, now),
      now,
    );
    this.#answers.answer(from, request, 'waitingGroups', groups);
  }

  /** Serves a question about all jobs if there is time for it. */
  #looking(from: Address, request: number, now: Millis, serve: () => void): void {
    const waitMs = this.#budget.waitMs(now);
    if (waitMs === 0) return serve();
    this.#answers.refuse(from, request, 'overloaded', TOO_MANY_LOOKS, 'try again in a moment', waitMs);
  }

  #readLogs(from: Address, message: MessageOf<'readLogs'>, job: Job): void {
    const { task, failedOnly, cursor } = message;
    const wanted = (of: number) =>
      (task === undefined || of === task) && (!failedOnly || job.tasks.stateOf(of) === TaskState.failed);
    const page = this.#jobs.logs.read(job.number, cursor, wanted, job.hasEnded);
    this.#answers.answer(from, message.request, 'logPage', page);
  }

  #maySee({ spec }: Job): boolean {
    return this.#onlyOf === undefined || spec.user === this.#onlyOf;
  }

  // ---- answers

  #withJob(from: Address, message: { request: number; id: string }, serve: (job: Job) => void): void {
    const job = this.#jobs.byId(message.id);
    if (job !== undefined) {
      if (this.#maySee(job)) return serve(job);
      const line = `${job.id} is not a job of ${this.#onlyOf}, and this key has a right to no others`;
      return this.#answers.refuse(from, message.request, 'not-allowed', line, '');
    }
    if (this.#jobs.isForgotten(message.id)) {
      const known = this.#jobs.traceOfId(message.id);
      const end = known === undefined ? 'has ended' : `has ended (${known.state})`;
      const line = `${message.id} ${end}, and was forgotten since`;
      return this.#answers.refuse(from, message.request, 'forgotten-job', line, FORGOTTEN_HINT);
    }
    this.#answers.refuse(
      from,
      message.request,
      'unknown-job',
      `there is no job ${message.id}`,
      '`goshawk jobs --all` lists those there are',
    );
  }

  #explain(from: Address, { request, task }: MessageOf<'explainJob'>, job: Job, now: Millis): void {
    if (task !== undefined && task >= job.taskCount) {
      const last = job.taskCount - 1;
      const message = `${job.id} has no task ${task}`;
      return this.#answers.refuse(from, request, 'unknown-task', message, `its tasks are 0 to ${last}`);
    }
    const context: ExplainContext = {
      circumstances: circumstancesOf(this.#members, this.#enlistment, this.#recovery, now),
      owner: this.#env.nameOf(this.#config.self),
      wallOffsetMs: this.#config.wallOffsetMs,
      nameOf: (worker) => this.#views.nameOf(worker),
      predecessorsOf: (of) => this.#views.predecessorsOf(of),
    };
    this.#answers.answer(from, request, 'jobExplanation', explain(job, task, context, now));
  }
}

const NOTHING: Weight = { values: 0, bytes: 0 };

const FORGOTTEN_HINT =
  'read results when a job ends; --keep-jobs and --keep-for of its scheduler say how many are kept, and how long';

const TOO_MANY_LOOKS = 'this scheduler is asked about all of its jobs too often';

/** To read a job back, in jobs that are listed. */
const READING_COST = 50;

/** To find out why a job waits, in jobs that are listed. */
const EXPLAINING_COST = 10;

const TOO_MANY_WATCH: Refusal = {
  code: 'overloaded',
  message: `${LIMITS.watchesMax} clients are told of jobs of this scheduler, which is all it tells`,
  hint: 'wait for jobs one after the other, or ask for them now and then',
};
