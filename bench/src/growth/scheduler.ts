import {
  type Address,
  COMPLETED,
  DEFAULT_POLICY,
  LIVE_TIMINGS,
  type Message,
  type MessageOf,
} from '@goshawk/core';
import { presetNamed } from '@goshawk/policies';
import { Scheduler } from '@goshawk/scheduler';
import { Driven, type EncodedMessage } from './driven.js';

interface Setup {
  readonly workers?: number;
  /** Number of parties that were met before the workers. */
  readonly met?: number;
}

/** A scheduler without a journal, with the default policy. */
export class DrivenScheduler extends Driven {
  readonly scheduler: Scheduler;
  readonly central: Address;
  readonly client: Address;
  readonly workers: Address[] = [];
  readonly #runs: { readonly to: Address; readonly run: MessageOf<'run'> }[] = [];
  #version = 0;
  #requests = 0;
  #matches = 0;
  #reports = 0;

  constructor({ workers = 10, met = 0 }: Setup) {
    super('scheduler');
    this.central = this.party('central');
    this.client = this.party('client');
    this.scheduler = new Scheduler(
      {
        name: 's',
        self: this.party('scheduler'),
        tag: 's',
        endpoint: '',
        central: this.central,
        enlistRetryMs: LIVE_TIMINGS.heartbeatMs,
        wallOffsetMs: 0,
        endedJobsMax: 100,
        logBytesMax: 1e6,
        memoryBytes: 8e9,
        load: {
          activeJobsMax: 1e6,
          activeJobsPerUserMax: 1e6,
          userWaitingTasksMax: 1e7,
          activeBytesMax: 4e9,
        },
      },
      Object.assign(this.environment, { jobEnded() {}, drained() {} }),
    );
    this.onSend((to, message) => {
      if (message.type === 'run') this.#runs.push({ to, run: message });
    });
    this.start(this.scheduler);
    const policy = { ...DEFAULT_POLICY, policy: 'goshawk', preset: presetNamed('goshawk') } as const;
    this.post(this.central, { type: 'welcome', settings: { policy, timings: LIVE_TIMINGS } });
    for (let at = 0; at < met; at++) this.party('client');
    this.deliver([this.membersJoin(workers)]);
  }

  /** Returns central's report that this many workers have joined. */
  membersJoin(count: number): EncodedMessage {
    const changed = Array.from({ length: count }, () => {
      const address = this.party('worker');
      const place = this.workers.push(address) - 1;
      const name = `w${address}`;
      const capacity = { cpu: 1, memory: 4e9 };
      return {
        address,
        name,
        slots: 1,
        capacity,
        partition: 'general',
        draining: false,
        place,
        attributes: [],
      };
    });
    return this.#members({ changed: changed as unknown as MessageOf<'members'>['changed'], left: [] });
  }

  memberLeaves(worker: Address): EncodedMessage {
    return this.#members({ changed: [], left: [worker] });
  }

  #members({ changed, left }: Pick<MessageOf<'members'>, 'changed' | 'left'>): EncodedMessage {
    const since = this.#version++;
    const owners = { owners: [], ownersVersion: 0 };
    const silentMs = left.length === 0 ? undefined : left.map(() => 5_000);
    return this.encoded(this.central, {
      type: 'members',
      version: this.#version,
      since,
      changed,
      left,
      ...owners,
      silentMs,
    });
  }

  /** Returns the submission of a job of so many tasks. */
  submission(tasks = 1): EncodedMessage {
    const request = ++this.#requests;
    const spec = { tasks: { count: tasks, run: { sleep: 100 } }, estimate: '100ms' };
    return this.encoded(this.client, { type: 'submit', request, key: `k${request}`, spec } as Message);
  }

  submissions(jobs: number, tasks = 1): EncodedMessage[] {
    return Array.from({ length: jobs }, () => this.submission(tasks));
  }

  /** Returns central's match of a job's first stage and a worker. */
  match(job: number, worker: Address): EncodedMessage {
    const workers = [{ worker, match: ++this.#matches }];
    const more = { noneWaiting: undefined, newcomers: undefined };
    return this.encoded(this.central, { type: 'matched', job, stage: 0, workers, ...more });
  }

  /** Returns reports that the tasks which the scheduler has sent to workers since the last call have completed. */
  ends(): EncodedMessage[] {
    return this.#runs.splice(0).map(({ to, run }) =>
      this.encoded(to, {
        type: 'ended',
        report: ++this.#reports,
        job: run.job,
        task: run.task,
        attempt: run.attempt,
        outcome: COMPLETED,
        runMs: 100,
        output: [],
        outputBytes: 0,
        ask: 0,
      } as unknown as Message),
    );
  }

  /** Returns the question why tasks wait. */
  question(): EncodedMessage {
    return this.encoded(this.client, { type: 'explainWaiting', request: ++this.#requests });
  }

  acknowledgment(): EncodedMessage {
    return this.encoded(this.central, {
      type: 'heartbeatAck',
      version: this.#version,
      ownersVersion: 0,
      matching: true,
      waiting: undefined,
    });
  }

  /** Lets the time pass while central acknowledges heartbeats. */
  beatFor(seconds: number): void {
    for (let second = 0; second < seconds; second++) {
      this.deliver([this.acknowledgment()]);
      this.runTo(this.now + LIVE_TIMINGS.heartbeatMs);
    }
  }
}
