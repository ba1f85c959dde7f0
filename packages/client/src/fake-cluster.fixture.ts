import {
  DEFAULT_POLICY,
  type JobDetail,
  type JobState,
  LIVE_TIMINGS,
  type Message,
  type MissingScheduler,
} from '@goshawk/core';
import type { Cluster } from './cluster.js';
import { connect } from './connect.js';
import type { ConnectOptions } from './options.js';
import { type Replies, type Script, ScriptedPeer } from './scripted-peer.fixture.js';

/** Retries soon, for tests in which a peer is silent at first; patient enough for a busy machine. */
export const FAST: ConnectOptions = {
  connectTimeoutMs: 10_000,
  requestTimeoutMs: 10_000,
  pollTimeoutMs: 5_000,
  retryMs: 20,
  retryMaxMs: 40,
  renewMs: 50,
  rosterPauseMs: 1,
  logPollMs: 5,
  logPollMaxMs: 10,
  user: 'ada',
};

/** Asks once, so that a test can count the received messages. */
export const PATIENT: ConnectOptions = { ...FAST, retryMs: 5_000, retryMaxMs: 5_000, renewMs: 60_000 };

/** For tests without any answer. */
export const IMPATIENT: ConnectOptions = {
  ...FAST,
  connectTimeoutMs: 150,
  requestTimeoutMs: 150,
  pollTimeoutMs: 100,
};

export function summary(id: string, state: JobState = 'running', more: object = {}) {
  return {
    id,
    name: 'job',
    class: 'short',
    classifiedBy: 'estimate',
    state,
    tasks: { total: 3, waiting: 0, running: 0, completed: 3, failed: 0, cancelled: 0 },
    submittedAt: 0,
    ...more,
  };
}

export function detail(id: string, state: JobState = 'completed', more: object = {}): JobDetail {
  const extra = {
    attempts: { total: 3, failed: 0, lost: 0 },
    attemptList: [],
    failures: [],
    failuresTruncated: false,
    stages: [],
  };
  return {
    ...summary(id, state),
    ...extra,
    wastedMs: 0,
    running: [],
    priority: 'normal',
    ...more,
  } as unknown as JobDetail;
}

/** A scheduler that accepts every job, with ids `<tag>-1`, `<tag>-2`, … by key, and reports its end immediately. */
export function acceptingScheduler(tag: string, more: Script = () => {}): Script {
  const keys: string[] = [];
  return (message, replies, times) => {
    if (message.type === 'submit') {
      if (!keys.includes(message.key)) keys.push(message.key);
      replies.answer({ job: `${tag}-${keys.indexOf(message.key) + 1}`, state: 'waiting' });
    } else if (message.type === 'watchJob') {
      replies.event({ kind: 'ended', job: detail(message.id), starts: [1, 2, 3], runs: [4, 5, 6] });
    } else more(message, replies, times);
  };
}

/** Central and schedulers s0, s1, … with tags t0, t1, …; the test chooses which are listed and how they answer. */
export class FakeCluster implements AsyncDisposable {
  readonly central: ScriptedPeer;
  readonly schedulers: ScriptedPeer[];
  /** Indices of the schedulers that central lists. */
  listed: number[];
  /** Indices of the schedulers that central reports as disconnected. */
  away: number[] = [];
  /** Expected schedulers that central reports as missing. */
  missing: MissingScheduler[] = [];
  /** Whether central reports that all members have registered. */
  complete = true;

  static async start(count: number, script = (index: number) => acceptingScheduler(`t${index}`)) {
    const schedulers = await Promise.all(
      Array.from({ length: count }, (_, index) => ScriptedPeer.start(script(index))),
    );
    return new FakeCluster(await ScriptedPeer.start(), schedulers);
  }

  private constructor(central: ScriptedPeer, schedulers: ScriptedPeer[]) {
    this.central = central;
    this.schedulers = schedulers;
    this.listed = schedulers.map((_, index) => index);
    central.script = (message, replies) => this.tell(message, replies);
  }

  /** Central's announcement of members. */
  tell(message: Message, { answer }: Replies, name = 'central', workers: readonly object[] = []): void {
    if (message.type === 'findSchedulers') answer(this.view());
    if (message.type === 'listWorkers') answer({ workers, next: undefined });
    if (message.type === 'describeCluster') {
      const settings = { policy: DEFAULT_POLICY, timings: LIVE_TIMINGS };
      answer({ name, settings, pendingTasks: 0, workers: workers.length });
    }
  }

  view() {
    return {
      present: this.listed.map((index) => this.#described(index)),
      away: this.away.map((index) => this.#described(index)),
      missing: this.missing,
      complete: this.complete,
      warnings: [],
    };
  }

  #described(index: number) {
    const { endpoint, party } = this.schedulers[index]!;
    const counts = { jobs: 0, waiting: 0, heardMsAgo: 0, epoch: 0, adopted: false };
    return { name: `s${index}`, address: party, tag: `t${index}`, endpoint, ...counts };
  }

  connect(options: ConnectOptions = {}): Promise<Cluster> {
    return connect(this.central.endpoint, { ...PATIENT, ...options });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.central, ...this.schedulers].map((peer) => peer.close()));
  }
}
