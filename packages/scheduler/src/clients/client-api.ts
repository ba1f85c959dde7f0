import {
  type Address,
  type AnswerType,
  type Counters,
  InputError,
  isFinal,
  type JobSpec,
  type JobSummary,
  type KeyHolder,
  LIMITS,
  type Message,
  type MessageOf,
  type Millis,
  type Payload,
  parseJobSpec,
  scopeOf,
} from '@goshawk/core';
import type { Impossible } from '../accepting/admission.js';
import type { Overload, Overloaded } from '../accepting/overload.js';
import { isSameJob } from '../accepting/same-job.js';
import { Submissions } from '../accepting/submissions.js';
import type { SchedulerConfig, SchedulerCounters, SchedulerEnvironment } from '../contract.js';
import { type Job, TaskState } from '../job/job.js';
import type { Members } from '../joining/members.js';
import { isAnswerable, Page, type Weight, weigh } from '../keeping/heap-bytes.js';
import type { JobStore } from '../keeping/job-store.js';
import type { Ledger, Refusal } from '../keeping/ledger.js';
import type { Circumstances } from '../observing/snapshot.js';
import type { Tallies } from '../observing/tallies.js';
import { explain, type Narrator, waitingGroups } from './explaining.js';
import type { JobViews } from './job-views.js';
import { Looks } from './query-budget.js';
import type { Watching } from './watching.js';

/** What the desk asks of the scheduler behind it. */
interface Office {
  readonly counters: SchedulerCounters;
  readonly tallies: Tallies;
  readonly isReady: boolean;
  readonly isDraining: boolean;
  readonly isAdopted: boolean;
  circumstances(now: Millis): Circumstances;
  refusalOf(key: string | undefined): Refusal | undefined;
  submit(spec: JobSpec, key: string | undefined, now: Millis): Job;
  cancel(job: Job, now: Millis): void;
  whyImpossible(spec: JobSpec): Impossible | undefined;
  /** There may be workers that it has not heard of yet. */
  isRosterYoung(now: Millis): boolean;
}

/**
 * Where clients are served: requests in, answers out, and news of the jobs they watch. Everything may be
 * asked twice; the answer is the same.
 */
export class ClientDesk {
  readonly #office: Office;
  readonly #jobs: JobStore;
  readonly #members: Members;
  readonly #ledger: Ledger;
  readonly #env: SchedulerEnvironment;
  readonly #config: SchedulerConfig;
  readonly #overload: Overload;
  readonly #views: JobViews;
  readonly #watching: Watching;
  readonly #lately = new Submissions();
  readonly #looks = new Looks();
  /** The user whose jobs alone the request at hand may be about. */
  #onlyOf: string | undefined;

  constructor(
    office: Office,
    jobs: JobStore,
    members: Members,
    ledger: Ledger,
    env: SchedulerEnvironment,
    config: SchedulerConfig,
    overload: Overload,
    views: JobViews,
    watching: Watching,
  ) {
    this.#office = office;
    this.#jobs = jobs;
    this.#members = members;
    this.#ledger = ledger;
    this.#env = env;
    this.#config = config;
    this.#overload = overload;
    this.#views = views;
    this.#watching = watching;
  }

  receive(from: Address, message: Message, now: Millis): void {
    const key = this.#env.clientKeyOf?.(from);
    this.#onlyOf = key === undefined || scopeOf(key, message.type) !== 'own' ? undefined : key.name;
    switch (message.type) {
      case 'submit':
        return this.#submit(from, message, now);
      case 'watchJob':
        return this.#withJob(from, message, (job) => {
          if (!this.#watching.watch(from, message, job, now))
            this.#turnAway(from, message.request, TOO_MANY_WATCH);
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
          this.#answer(from, message.request, 'resultPage', this.#views.results(job, message.from)),
        );
      case 'cancelJob':
        return this.#withJob(from, message, (job) => {
          this.#office.cancel(job, now);
          this.#acknowledge(from, message.request, 'jobSummary', this.#views.summary(job));
        });
      case 'retryJob':
        return this.#withJob(from, message, (job) => this.#retry(from, message, job, now));
      case 'findSchedulers':
        return this.#answer(from, message.request, 'introduction', {
          name: this.#config.name,
          tag: this.#config.tag,
          central: this.#env.nameOf(this.#config.central),
          workers: this.#members.size,
        });
      case 'readCounters':
        return this.#answer(from, message.request, 'counters', {
          ...this.#office.counters,
          ...this.#office.tallies.counted,
          ...this.#env.counted?.(),
        } as Counters);
      default:
        // Meant for another role: nothing here waits for it.
        return;
    }
  }

  /** Whoever brought this job is told of the one that has its key. */
  keyTaken(job: Job, { id, accepted, ended }: KeyHolder): void {
    this.#ledger.reword(job.id, (request) => {
      if (accepted === undefined) return refused(request, KEY_FREED);
      if (isSameJob(accepted.spec, job.spec))
        return { type: 'accepted', request, value: { job: id, state: ended ?? 'running' } };
      const key = accepted.key ?? '';
      return refused(request, keyConflict(key, id));
    });
  }

  // ---- requests

  #submit(from: Address, message: MessageOf<'submit'>, now: Millis): void {
    if (this.#isEarly(from, message.request)) return;
    if (message.key === '') return this.#turnAway(from, message.request, NO_KEY);
    const known = this.#jobs.byKey(message.key);
    if (known === undefined && this.#isTraced(from, message)) return;
    if (known === undefined && this.#refusesNew(from, message.request, message.key)) return;
    if (known !== undefined && this.#lately.isAgain(from, message)) {
      return this.#accepted(from, message.request, known);
    }
    let spec: JobSpec;
    try {
      spec = this.#owned(parseJobSpec(message.spec));
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      return this.#refuse(from, message.request, error.code, error.message, error.hint);
    }
    if (known !== undefined) return this.#known(from, message, known, spec);
    if (this.#refusesMore(from, message.request, spec)) return;
    const impossible = this.#office.whyImpossible(spec);
    if (impossible !== undefined) {
      const { message: line, hint } = impossible;
      // Whoever asks again meanwhile finds the worker, or is refused for good.
      const retryMs = this.#office.isRosterYoung(now) ? YOUNG_RETRY_MS : undefined;
      return this.#refuse(from, message.request, 'impossible-demand', line, hint, retryMs);
    }
    this.#lately.took(from, message);
    this.#accepted(from, message.request, this.#office.submit(spec, message.key, now));
  }

  /** The key was here before: with the same job it is the same job, with another one a mistake. */
  #known(from: Address, { request, key }: { request: number; key: string }, job: Job, spec: JobSpec): void {
    if (isSameJob(job.spec, spec)) return this.#accepted(from, request, job);
    const { code, message, hint } = keyConflict(key, job.id);
    this.#refuse(from, request, code, message, hint);
  }

  /** The job with the key had to make room: that it was here is known. @returns whether it has answered */
  #isTraced(from: Address, { request, key }: { request: number; key: string }): boolean {
    const trace = this.#jobs.traceOf(key);
    if (trace === undefined) return false;
    this.#acknowledge(from, request, 'accepted', { job: this.#jobs.idOf(trace.number), state: trace.state });
    return true;
  }

  #accepted(from: Address, request: number, job: Job): void {
    this.#acknowledge(from, request, 'accepted', { job: job.id, state: job.state });
  }

  #describe(from: Address, { request, spec }: MessageOf<'describeJob'>, job: Job, now: Millis): void {
    const weight = spec ? weigh(job.spec) : NOTHING;
    if (isAnswerable(weight))
      return this.#answer(from, request, 'jobDetail', this.#views.detail(job, now, spec));
    const message = `the specification of ${job.id} is too long for one answer: ${weight.values} values, ${weight.bytes} bytes of text`;
    const hint = `at most ${LIMITS.answerValuesMax} and ${LIMITS.answerBytesMax} are shown; ask without it, or look at what was submitted`;
    this.#refuse(from, request, 'spec-too-long', message, hint);
  }

  /** Active jobs, oldest first, then ended ones, newest first. Filters come before limits. */
  #list(from: Address, message: MessageOf<'listJobs'>): void {
    const wanted = (job: Job) =>
      (message.states.length === 0 || message.states.includes(job.state)) &&
      (message.user === undefined || job.spec.user === message.user) &&
      this.#maySee(job);
    const active = [...this.#jobs.active()].filter(wanted);
    const kept = [...this.#jobs.endedNewestFirst()];
    this.#looks.took(this.#jobs.activeCount + kept.length);
    const ended = kept.filter(wanted);
    const shown = [...active, ...ended.slice(0, message.endedMax)].slice(0, message.jobsMax);
    const page = new Page<JobSummary>();
    // Those that one answer has no room for are among the total.
    shown.every((job) => page.take(this.#views.summary(job)));
    this.#answer(from, message.request, 'jobList', {
      jobs: page.items,
      total: active.length + ended.length,
    });
  }

  #explainWaiting(from: Address, request: number, now: Millis): void {
    this.#looks.took(EXPLAINING_COST * this.#jobs.activeCount);
    const groups = waitingGroups(this.#jobs.active(), this.#office.circumstances(now), now);
    this.#answer(from, request, 'waitingGroups', groups);
  }

  /** Serves a question about all jobs if there is time for it. */
  #looking(from: Address, request: number, now: Millis, serve: () => void): void {
    const waitMs = this.#looks.waitMs(now);
    if (waitMs === 0) return serve();
    this.#refuse(from, request, 'overloaded', TOO_MANY_LOOKS, RETRY, waitMs);
  }

  #readLogs(from: Address, message: MessageOf<'readLogs'>, job: Job): void {
    const { task, failedOnly, cursor } = message;
    const wanted = (of: number) =>
      (task === undefined || of === task) && (!failedOnly || job.tasks.stateOf(of) === TaskState.failed);
    const page = this.#jobs.logs.read(job.number, cursor, wanted, job.hasEnded);
    this.#answer(from, message.request, 'logPage', page);
  }

  /** A new job of the tasks that failed or were cancelled, with everything else as it was. */
  #retry(from: Address, message: MessageOf<'retryJob'>, job: Job, now: Millis): void {
    if (this.#isEarly(from, message.request)) return;
    if (message.key === '') return this.#turnAway(from, message.request, NO_KEY);
    const known = this.#jobs.byKey(message.key);
    if (known === undefined && this.#isTraced(from, message)) return;
    // A retry belongs to whoever has the job, whatever its key.
    if (known === undefined && this.#refusesNew(from, message.request, undefined)) return;
    if (!isFinal(job.state)) {
      return this.#refuse(
        from,
        message.request,
        'not-ended',
        `${job.id} is still ${job.state}`,
        'wait for its end, or cancel it',
      );
    }
    const spec = failedPart(job);
    if (spec === undefined) {
      return this.#refuse(from, message.request, 'nothing-failed', `no task of ${job.id} failed`, '');
    }
    if (known !== undefined) return this.#known(from, message, known, spec);
    if (this.#refusesMore(from, message.request, spec)) return;
    this.#accepted(from, message.request, this.#office.submit(spec, message.key, now));
  }

  #maySee({ spec }: Job): boolean {
    return this.#onlyOf === undefined || spec.user === this.#onlyOf;
  }

  /** Who has a key of its own submits in its own name only. */
  #owned(spec: JobSpec): JobSpec {
    return this.#onlyOf === undefined ? spec : { ...spec, user: this.#onlyOf };
  }

  // ---- answers

  #withJob(from: Address, message: { request: number; id: string }, serve: (job: Job) => void): void {
    const job = this.#jobs.byId(message.id);
    if (job !== undefined) {
      if (this.#maySee(job)) return serve(job);
      const line = `${job.id} is not a job of ${this.#onlyOf}, and this key has a right to no others`;
      return this.#refuse(from, message.request, 'not-allowed', line, '');
    }
    if (this.#jobs.isForgotten(message.id)) {
      const known = this.#jobs.traceOfId(message.id);
      const end = known === undefined ? 'has ended' : `has ended (${known.state})`;
      const line = `${message.id} ${end}, and was forgotten since`;
      return this.#refuse(from, message.request, 'forgotten-job', line, FORGOTTEN_HINT);
    }
    this.#refuse(
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
      return this.#refuse(from, request, 'unknown-task', message, `its tasks are 0 to ${last}`);
    }
    const narrator: Narrator = {
      circumstances: this.#office.circumstances(now),
      owner: this.#env.nameOf(this.#config.self),
      wallOffsetMs: this.#config.wallOffsetMs,
      nameOf: (worker) => this.#views.nameOf(worker),
    };
    this.#answer(from, request, 'jobExplanation', explain(job, task, narrator, now));
  }

  /** Promises nothing: it is how things stand, and need not be durable. */
  #answer<A extends AnswerType>(to: Address, request: number, type: A, value: MessageOf<A>['value']): void {
    this.#ledger.tell(to, { type, request, value } as Message);
  }

  /** Promises that it outlives this process. */
  #acknowledge<A extends AnswerType>(
    to: Address,
    request: number,
    type: A,
    value: MessageOf<A>['value'],
  ): void {
    const { stopped } = this.#ledger;
    if (stopped === undefined) this.#ledger.send(to, { type, request, value } as Message);
    else this.#refuse(to, request, stopped.code, stopped.message, stopped.hint, stopped.retryMs);
  }

  /** A job of an earlier incarnation may be asked about before there is a policy for new ones. @returns whether it has refused */
  #isEarly(to: Address, request: number): boolean {
    if (this.#office.isReady) return false;
    this.#turnAway(to, request, NOT_READY);
    return true;
  }

  /** @returns whether it has refused */
  #refusesNew(to: Address, request: number, key: string | undefined): boolean {
    const { isDraining, isAdopted } = this.#office;
    const refusal =
      isDraining || (isAdopted && key !== undefined)
        ? DRAINING
        : (this.#office.refusalOf(key) ?? this.#overload.refusal());
    if (refusal !== undefined) this.#turnAway(to, request, refusal);
    return refusal !== undefined;
  }

  /** One user may have so many jobs, and a job that is tried again is one. @returns whether it has refused */
  #refusesMore(to: Address, request: number, { user }: JobSpec): boolean {
    const refusal = this.#overload.refusalOf(user);
    if (refusal !== undefined) this.#turnAway(to, request, refusal);
    return refusal !== undefined;
  }

  #turnAway(to: Address, request: number, refusal: Refusal | Overloaded): void {
    const { code, message, hint, retryMs } = refusal;
    if (retryMs !== undefined) this.#office.counters.jobsRefused++;
    this.#refuse(to, request, code, message, hint, retryMs);
  }

  #refuse(
    to: Address,
    request: number,
    code: string,
    message: string,
    hint: string,
    retryMs?: Millis | undefined,
  ): void {
    const lines = { message: clip(message), hint: clip(hint) };
    this.#ledger.tell(to, { type: 'refused', request, code, ...lines, retryMs });
  }
}

function refused(request: number, { code, message, hint, retryMs }: Refusal): MessageOf<'refused'> {
  return { type: 'refused', request, code, message: clip(message), hint: clip(hint), retryMs };
}

function keyConflict(key: string, job: string): Refusal {
  return {
    code: 'key-conflict',
    message: `the key ${key} was given to another job before, which is ${job}`,
    hint: 'give another key for another job',
  };
}

/** Lines have a longest length on the wire; what a submitter wrote may be quoted in one. */
function clip(line: string): string {
  return line.length <= 2_000 ? line : `${line.slice(0, 2_000)}…`;
}

const YOUNG_RETRY_MS = 500;

const NOTHING: Weight = { values: 0, bytes: 0 };

const FORGOTTEN_HINT =
  'read results when a job ends; --keep-jobs and --keep-for of its scheduler say how many are kept, and how long';

const RETRY = 'try again in a moment';

const TOO_MANY_LOOKS = 'this scheduler is asked about all of its jobs too often';
/** To find out why a job waits, in jobs that are listed. */
const EXPLAINING_COST = 10;

const NOT_READY: Refusal = {
  code: 'not-ready',
  message: 'this scheduler has not joined its cluster yet',
  hint: RETRY,
};

const KEY_FREED: Refusal = {
  code: 'not-ready',
  message: 'the job that had this key was forgotten just now',
  hint: RETRY,
};

const NO_KEY: Refusal = {
  code: 'bad-key',
  message: '"" is no key: all jobs with it would be one job',
  hint: `a key is text of 1 to ${LIMITS.nameLengthMax} characters`,
};

const DRAINING: Refusal = {
  code: 'draining',
  message: 'this scheduler is shutting down',
  hint: 'submit to another one',
};

const TOO_MANY_WATCH: Refusal = {
  code: 'overloaded',
  message: `${LIMITS.watchesMax} clients are told of jobs of this scheduler, which is all it tells`,
  hint: 'wait for jobs one after the other, or ask for them now and then',
};

/** The same job with only its tasks that did not complete; undefined when all did. */
function failedPart(job: Job): JobSpec | undefined {
  const kept = job.stages.map((stage) => {
    const each: Payload[] = [];
    for (let task = stage.first; task < stage.first + stage.count; task++) {
      if (job.tasks.stateOf(task) !== TaskState.completed) each.push(job.dag.payloadOf(task));
    }
    return each;
  });
  const place = new Map<number, number>();
  kept.forEach((each, index) => {
    if (each.length > 0) place.set(index, place.size);
  });
  if (place.size === 0) return undefined;
  const stages = [...place.keys()].map((index) => {
    const { spec } = job.stages[index]!;
    const after = spec.after.flatMap((before) => place.get(before) ?? []);
    return { ...spec, after, tasks: { each: kept[index]! } };
  });
  return { ...job.spec, stages };
}
