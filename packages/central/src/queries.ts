import {
  type Address,
  type AnswerType,
  type AnswerValue,
  type Counters,
  type Message,
  type MessageOf,
  type Millis,
  ownerFor,
  QUERY_COST,
  QueryBudget,
} from '@goshawk/core';
import type { BookedJob } from '@goshawk/policies';
import { JOBS_COMPARED_MAX, lineOfQueues } from './dispatch/line.js';
import { addressOfScheduler, schedulerList } from './members/scheduler-membership.js';
import { workerPage } from './members/worker-membership.js';
import type { CentralState } from './state.js';

type QueryType =
  | 'findSchedulers'
  | 'describeCluster'
  | 'listWorkers'
  | 'readCounters'
  | 'explainLine'
  | 'explainNeed'
  | 'readEvents'
  | 'readHistory'
  | 'describeShares';
type Query = { [T in QueryType]: MessageOf<T> }[QueryType];

/** Costs in units of listed jobs, as in `QueryBudget`: of a row of the answer, of a point of the history, and of the overview of what waits. */
const ROW_COST = 20;
const POINT_COST = 1_000;
const OVERVIEW_COST = 1_000;

/** Answers clients that ask about the cluster, each within its share of central's time. */
export class Queries {
  readonly #s: CentralState;
  readonly #counters: () => Counters;
  readonly #budget = new QueryBudget();

  /** @param counters returns those of central */
  constructor(s: CentralState, counters: () => Counters) {
    this.#s = s;
    this.#counters = counters;
  }

  receive(from: Address, query: Query, now: Millis): void {
    const client = this.#s.env.clientKeyOf?.(from)?.name ?? '';
    const retryMs = this.#budget.waitMs(client, now);
    if (retryMs > 0)
      return this.#s.env.send(from, {
        type: 'refused',
        request: query.request,
        ...TOO_MANY_QUERIES,
        retryMs,
      });
    this.#budget.charge(client, QUERY_COST + this.#serve(from, query, now));
  }

  /** Answers. @returns the cost */
  #serve(from: Address, query: Query, now: Millis): number {
    const s = this.#s;
    const { request } = query;
    switch (query.type) {
      case 'findSchedulers':
        this.#answer(from, request, 'schedulers', schedulerList(s, now));
        return ROW_COST * s.registry.schedulers.members.size;
      case 'describeCluster':
        this.#answer(from, request, 'cluster', {
          name: s.config.name,
          settings: s.cutoff.settings,
          pendingTasks: s.dispatcher.pendingTasks,
          workers: s.registry.workers.size,
        });
        return 0;
      case 'listWorkers': {
        const loadOf = (worker: Address) => (s.pulls ? s.dispatcher.loadAt(worker) : undefined);
        const page = workerPage(s, query.from, loadOf, now);
        this.#answer(from, request, 'workerPage', page);
        return ROW_COST * (page.workers.length + (page.lost?.length ?? 0));
      }
      case 'readCounters':
        this.#answer(from, request, 'counters', this.#counters());
        return ROW_COST;
      case 'explainLine':
        return this.#explain(from, query, undefined, now);
      case 'explainNeed':
        return this.#explain(from, query, this.#visibleJob(from, query), now);
      case 'readEvents': {
        const none = { events: [], next: query.after, atEnd: true, since: 0 };
        const page = s.env.events?.(query.after, query.since) ?? none;
        this.#answer(from, request, 'eventPage', page);
        return ROW_COST * page.events.length;
      }
      case 'readHistory': {
        const page = s.env.history?.(query.after) ?? { points: [], rosters: [], atEnd: true };
        this.#answer(from, request, 'historyPage', page);
        return POINT_COST * page.points.length;
      }
      case 'describeShares':
        this.#answer(from, request, 'shares', s.dispatcher.shares());
        return ROW_COST * s.dispatcher.books.jobCount;
    }
  }

  /** Returns the job that the query names, unless it belongs to a user whose jobs the client may not see. */
  #visibleJob(from: Address, query: MessageOf<'explainNeed'>): BookedJob | undefined {
    const { dispatcher, env } = this.#s;
    const owner = addressOfScheduler(this.#s, query.owner);
    const job = owner === undefined ? undefined : dispatcher.books.job(owner, query.job);
    const only = ownerFor(env.clientKeyOf?.(from), query.type);
    return only !== undefined && job !== undefined && job.user !== '' && job.user !== only ? undefined : job;
  }

  /**
   * Answers why tasks wait: all, or those of one job.
   *
   * @param job undefined: none was asked for, or it belongs to another user
   * @returns the cost
   */
  #explain(
    from: Address,
    { type, request }: MessageOf<'explainLine' | 'explainNeed'>,
    job: BookedJob | undefined,
    now: Millis,
  ): number {
    const { dispatcher, registry, pulls, env } = this.#s;
    const line = pulls
      ? dispatcher.line(job, now)
      : lineOfQueues(registry.workers.values(), dispatcher.pendingTasks);
    const onlyOwn = ownerFor(env.clientKeyOf?.(from), type) !== undefined;
    const visible = onlyOwn ? { ...line, limited: undefined, onlyOwn } : line;
    this.#answer(from, request, 'centralLine', visible);
    const jobs = Math.min(dispatcher.books.jobCount, JOBS_COMPARED_MAX);
    return registry.workers.size + (job === undefined ? OVERVIEW_COST : line.needs.length * jobs);
  }

  #answer<A extends AnswerType>(to: Address, request: number, type: A, value: AnswerValue<A>): void {
    this.#s.env.send(to, { type, request, value } as Message);
  }
}

const TOO_MANY_QUERIES = {
  code: 'overloaded',
  message: 'central receives too many queries from this client',
  hint: 'try again in a moment',
};
