import {
  type Address,
  COMPLETED,
  type Message,
  type MessageOf,
  parseJobSpec,
  type Right,
  scopeOf,
} from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import type { Job } from '../job/job.js';
import { CENTRAL, CLIENT, joined, loneScheduler, W1, welcome } from '../lone-scheduler.fixture.js';

/** All requests of clients about one job; the type does not compile without a new one. */
type AboutJob = Extract<Message, { readonly request: number; readonly id: string }>;
const REQUESTS: { readonly [T in AboutJob['type']]: Omit<MessageOf<T>, 'type' | 'request' | 'id'> } = {
  watchJob: { detail: true, soon: undefined },
  describeJob: { spec: true },
  readLogs: { task: undefined, failedOnly: false, cursor: 0, attempt: undefined },
  readResults: { from: 0, order: undefined },
  cancelJob: {},
  retryJob: { key: 'again', which: 'failed', stage: undefined, tasks: [], asNew: undefined } as never,
  explainJob: { task: 0 },
  listTasks: { states: [], stage: undefined, from: 0, limit: 10 },
  updateJob: { held: true, priority: 'low' },
  appendTasks: { first: 0, common: undefined, each: [{ sleep: 1 }], digest: '', close: true, taken: 0 },
  cancelTasks: { tasks: [], stage: undefined },
};

const RIGHTS: readonly Right[][] = [['submit', 'read-own'], ['read-own'], ['submit']];

/** A scheduler with jobs of another user in all states, the oldest of which it has deleted. */
function cluster() {
  let sent: { readonly to: Address; readonly message: Message }[] = [];
  let rights: readonly Right[] = [];
  const scheduler = loneScheduler(
    { endedJobsMax: 2 },
    {
      send: (to: Address, message: Message) => sent.push({ to, message }),
      clientKeyOf: (party) => (party === CLIENT ? { name: 'mal', rights } : undefined),
    },
  );
  scheduler.start(0);
  const receive = (from: Address, message: Message) => scheduler.receive(from, message, 0);
  receive(CENTRAL, welcome());
  receive(CENTRAL, joined(1, [W1]));
  let asks = 0;
  const submit = (more: object = {}): Job =>
    scheduler.submit(parseJobSpec({ user: 'ann', tasks: [{ sleep: 1 }], ...more }), undefined, 0);
  const start = (job: Job) =>
    receive(W1, { type: 'ask', ask: ++asks, again: false, job: job.number, stage: 0, placed: undefined });
  const end = (job: Job, outcome: MessageOf<'ended'>['outcome']) => {
    start(job);
    const attempt = job.tasks.attemptOf(0);
    const rest = { runMs: 5, output: [], outputBytes: 0, ask: 0 };
    receive(W1, { type: 'ended', report: ++asks, job: job.number, task: 0, attempt, outcome, ...rest });
  };
  const deleted = submit();
  end(deleted, COMPLETED);
  const jobs: Record<string, Job> = { deleted };
  for (const [state, outcome] of [
    ['failed', { kind: 'failed', error: { code: 'exit-code', message: 'no' } }],
    ['completed', COMPLETED],
  ] as const) {
    jobs[state] = submit();
    end(jobs[state], outcome as MessageOf<'ended'>['outcome']);
  }
  jobs.held = submit({ hold: true });
  jobs.waiting = submit({ tasks: [{ sleep: 1 }, { sleep: 2 }] });
  jobs.running = submit();
  start(jobs.running);
  jobs.open = submit({ open: '1h' });
  const states = Object.fromEntries(Object.entries(jobs).map(([state, job]) => [job.id, state]));
  return {
    states,
    /** The waiting tasks that a client with these rights sees. */
    waiting(of: readonly Right[]): number {
      sent = [];
      rights = of;
      receive(CLIENT, { type: 'explainWaiting', request: 7 });
      const answers = sent.flatMap(({ message }) => (message.type === 'waitingGroups' ? message.value : []));
      return answers.reduce((sum, { tasks }) => sum + tasks, 0);
    },
    /** What all parties get after the request, with the id left out. */
    after(type: AboutJob['type'], id: string, of: readonly Right[]): string {
      sent = [];
      rights = of;
      receive(CLIENT, { type, request: 7, id, ...REQUESTS[type] } as Message);
      return JSON.stringify(sent).replaceAll(id, 'ID');
    },
  };
}

describe.each(RIGHTS.map((given) => [given.join(', '), given] as const))(
  'a client with the rights %s',
  (_, given) => {
    // Hosts refuse requests beyond the rights of a key before the scheduler sees them.
    const permitted = (Object.keys(REQUESTS) as AboutJob['type'][]).filter(
      (type) => scopeOf({ name: 'mal', rights: given }, type) === 'own',
    );

    test.each(permitted)(
      'gets the same answer to %s about another user’s job in any state as about none',
      (type) => {
        const there = cluster();
        const unknown = ['s-999', 's-1000000', 's-0', 'x-1', 'nonsense'].map((id) =>
          there.after(type, id, given),
        );
        expect(unknown[0]).toContain('"to":2');
        for (const [id, state] of Object.entries(there.states))
          expect([state, there.after(type, id, given)]).toEqual([state, unknown[0]]);
      },
    );
  },
);

test('why tasks wait is shown without the jobs of other users', () => {
  const there = cluster();
  expect(there.waiting(['read-all'])).toBeGreaterThan(2);
  expect(there.waiting(['read-own'])).toBe(0);
});
