import {
  type Address,
  type JobInput,
  type JobRecord,
  type JournalState,
  type Message,
  PENDING_CODE,
} from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { CENTRAL, CLIENT, joined, W1, welcome } from '../lone-scheduler.fixture.js';

const RIVAL = 4 as Address;
const REQUEST = 100;

/** s-1 waits, s-2 has failed, s-3 is on hold, s-4 is open. */
const JOBS: readonly JobInput[] = [
  { user: 'ann', tasks: [{ sleep: 1 }, { sleep: 1 }] },
  { user: 'ann', tasks: [{ sleep: 1 }] },
  { user: 'ann', tasks: [{ sleep: 1 }], hold: true },
  { user: 'ann', tasks: [{ sleep: 1 }], open: 3_600_000 },
];

type Build = (request: number) => Message;
const append = (each: readonly object[], digest: string, close: boolean): Build => {
  return (request) => ({
    ...{ type: 'appendTasks', request, id: 's-4', first: 1, common: {}, each, digest, close },
    taken: 0,
  });
};
const retry = (id: string, key: string, asNew?: true): Build => {
  const choice = { failedOnly: undefined, tasks: undefined, asNew };
  return (request) => ({ type: 'retryJob', request, key, id, ...choice });
};
const submit = (key: string, name: string): Build => {
  const spec = { name, user: 'ann', tasks: [{ sleep: 1 }] };
  return (request) => ({ type: 'submit', request, key, spec });
};
const update = (id: string, change: { held?: boolean; priority?: 'high' | 'low' }): Build => {
  const { held, priority } = change;
  return (request) => ({ type: 'updateJob', request, id, held, priority });
};

interface Change {
  readonly request: Build;
  /** Requests of another client that this one contradicts. */
  readonly rivals: readonly Build[];
  /** Whether the record is an effect of the request, and not of a rival. */
  readonly isEffect: (record: JobRecord) => boolean;
}

const isNew = (key: string, name: string) => (record: JobRecord) =>
  record.kind === 'accepted' && record.key === key && record.spec.name === name;

/** A request of each kind that changes something, by name. */
const CHANGES: Readonly<Record<string, Change>> = {
  submit: {
    request: submit('new', 'mine'),
    rivals: [submit('new', 'other'), submit('more', 'other')],
    isEffect: isNew('new', 'mine'),
  },
  retry: {
    request: retry('s-2', 'r'),
    rivals: [retry('s-2', 'other'), submit('r', 'other'), submit('more', 'other')],
    isEffect: (record) => record.kind === 'retried' && record.key === 'r',
  },
  'retry --as-new': {
    request: retry('s-2', 'n', true),
    rivals: [retry('s-2', 'other'), submit('n', 'other'), submit('more', 'other')],
    isEffect: (record) =>
      record.kind === 'accepted' && record.key === 'n' && record.spec.retryOf !== undefined,
  },
  cancel: {
    request: (request) => ({ type: 'cancelJob', request, id: 's-1' }),
    rivals: [update('s-1', { held: true })],
    isEffect: ({ kind, job }) => kind === 'cancelled' && job === 1,
  },
  'cancel of many': {
    request: (request) => ({
      ...{ type: 'cancelJobs', request, states: [], user: 'ann', name: undefined, from: 0 },
      ...{ dryRun: false, ids: undefined },
    }),
    rivals: [update('s-1', { held: true })],
    isEffect: ({ kind, job }) => kind === 'cancelled' && job === 1,
  },
  'cancel of tasks': {
    request: (request) => {
      const tasks = [{ first: 1, last: 1 }];
      return { type: 'cancelTasks', request, id: 's-1', tasks, stage: undefined };
    },
    rivals: [update('s-1', { held: true })],
    isEffect: ({ kind, job }) => kind === 'tasksCancelled' && job === 1,
  },
  hold: {
    request: update('s-1', { held: true }),
    rivals: [(request) => ({ type: 'cancelJob', request, id: 's-1' }), retry('s-1', 'again')],
    isEffect: (record) => record.kind === 'updated' && record.job === 1 && record.held === true,
  },
  release: {
    request: update('s-3', { held: false }),
    rivals: [(request) => ({ type: 'cancelJob', request, id: 's-3' }), retry('s-3', 'again')],
    isEffect: (record) => record.kind === 'updated' && record.job === 3 && record.held === false,
  },
  update: {
    request: update('s-1', { priority: 'high' }),
    rivals: [(request) => ({ type: 'cancelJob', request, id: 's-1' }), retry('s-1', 'again')],
    isEffect: (record) => record.kind === 'updated' && record.job === 1 && record.priority === 'high',
  },
  append: {
    request: append([{ sleep: 2 }], 'mine', false),
    rivals: [append([{ sleep: 3 }], 'other', false), append([], '', true)],
    isEffect: (record) => record.kind === 'appended' && record.digest === 'mine',
  },
  close: {
    request: append([], 'mine', true),
    rivals: [append([{ sleep: 3 }], 'other', false), submit('more', 'other')],
    isEffect: (record) => record.kind === 'appended' && record.close,
  },
};

/** A late copy of a refused request arrives after another client has removed the reason. */
const LATE_COPY: readonly Step[] = (['rival', 'ask', 'ask', 'deliver', 'rival'] as const).map((kind) => ({
  kind,
}));

const STALLS: readonly JournalState[] = [
  { kind: 'away', message: 'postgres does not answer' },
  { kind: 'stopped', message: 'the disk is full' },
  { kind: 'full', message: 'the disk is almost full' },
];

type Step =
  | {
      readonly kind:
        | 'ask'
        | 'deliver'
        | 'loseRequest'
        | 'answer'
        | 'loseAnswer'
        | 'rival'
        | 'central'
        | 'open';
    }
  | { readonly kind: 'commit'; readonly part: number }
  | { readonly kind: 'restart'; readonly part: number; readonly joins: boolean }
  | { readonly kind: 'stall'; readonly how: number };

/** How much of what is not written yet gets written. */
const part = fc.constantFrom(0, 0.5, 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('ask' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('deliver' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('answer' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('loseRequest', 'loseAnswer', 'rival', 'central', 'open'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.oneof(
      fc.record({ kind: fc.constant('commit' as const), part }),
      fc.record({ kind: fc.constant('restart' as const), part, joins: fc.boolean() }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('stall' as const), how: fc.nat(STALLS.length - 1) }),
  },
);

/** Keeps what the client of a request believes about it, by the rules of the SDK's requests. */
class Believer {
  verdict: 'open' | 'accepted' | 'refused' | 'unknown' = 'open';
  /** Number of copies without an answer, by the incarnation to which they were sent. */
  readonly #unanswered = new Map<number, number>();

  sent(to: number): void {
    this.#count(to, 1);
  }

  heard({ from, message }: Answer): void {
    if (this.verdict !== 'open') return;
    if (message.type !== 'refused') {
      this.verdict = 'accepted';
      return;
    }
    const isPending = message.code === PENDING_CODE;
    if (!isPending) this.#count(from, -1);
    if (message.code === 'not-ready' || message.retryMs !== undefined) return;
    // An incarnation gives all copies the same answer, but another one may not.
    this.#unanswered.delete(from);
    this.verdict = isPending || this.#unanswered.size > 0 ? 'unknown' : 'refused';
  }

  givesUp(): void {
    if (this.verdict === 'open') this.verdict = this.#unanswered.size > 0 ? 'unknown' : 'refused';
  }

  #count(of: number, change: 1 | -1): void {
    const count = (this.#unanswered.get(of) ?? 0) + change;
    if (count > 0) this.#unanswered.set(of, count);
    else this.#unanswered.delete(of);
  }
}

interface Answer {
  /** Number of the incarnation. */
  readonly from: number;
  readonly message: Message;
}

/** One request, a network that delays and loses, and a scheduler whose journal and process fail. */
class World {
  readonly believer = new Believer();
  readonly #change: Change;
  readonly #isShared: boolean;
  #bench: DurableBench;
  #written = 0;
  #stall: JournalState | undefined;
  #copies = 0;
  #answers: Answer[] = [];
  #incarnation = 0;
  #rivals = 0;

  constructor(change: Change, isShared: boolean) {
    this.#change = change;
    this.#isShared = isShared;
    const bench = new DurableBench(undefined, 0, true, this.#config);
    this.#bench = bench;
    this.#welcomed();
    for (const [index, spec] of JOBS.entries()) bench.submit(spec, `k${index}`, index + 1);
    bench.commit();
    bench.end(W1, bench.ask(W1, 2)!, FAILED);
    this.#commit(1);
    bench.take();
  }

  get #config() {
    return this.#isShared ? { epoch: 1 } : {};
  }

  do(step: Step): void {
    this.#bench.now += 400;
    switch (step.kind) {
      case 'ask':
        if (this.believer.verdict !== 'open') return;
        this.believer.sent(this.#incarnation);
        this.#copies++;
        return;
      case 'deliver':
        if (this.#copies === 0) return;
        this.#copies--;
        this.#bench.receive(CLIENT, this.#change.request(REQUEST));
        return this.#hear();
      case 'loseRequest':
        this.#copies = Math.max(0, this.#copies - 1);
        return;
      case 'answer': {
        const answer = this.#answers.shift();
        if (answer !== undefined) this.believer.heard(answer);
        return;
      }
      case 'loseAnswer':
        this.#answers.shift();
        return;
      case 'rival': {
        const { rivals } = this.#change;
        this.#bench.receive(RIVAL, rivals[this.#rivals++ % rivals.length]!(this.#rivals));
        return this.#hear();
      }
      case 'central':
        return this.#welcomed();
      case 'open':
        return this.#journalChanged(undefined);
      case 'stall':
        return this.#journalChanged(STALLS[step.how]);
      case 'commit':
        if (this.#stall === undefined || this.#stall.kind === 'full') this.#commit(step.part);
        return;
      case 'restart':
        this.#restart(step.part);
        if (step.joins) this.#welcomed();
        return;
    }
  }

  /** Everything works again, and what is on the way arrives. */
  heal(): void {
    this.#journalChanged(undefined);
    this.#welcomed();
    this.#commit(1);
    while (this.#copies > 0) this.do({ kind: 'deliver' });
    this.#commit(1);
    while (this.#answers.length > 0) this.do({ kind: 'answer' });
    this.believer.givesUp();
    this.#restart(0);
  }

  /** Whether another client has changed the same things, so that an accepted request may find nothing to change. */
  get isContested(): boolean {
    return this.#rivals > 0;
  }

  get hasEffect(): boolean {
    return [...this.#bench.inheritance().entries].some(([, record]) => this.#change.isEffect(record));
  }

  /** Central, or its next incarnation, welcomes the scheduler and lists the workers. */
  #welcomed(): void {
    this.#bench.receive(CENTRAL, welcome());
    this.#bench.receive(CENTRAL, joined(1, [W1], 4));
    this.#bench.receive(CENTRAL, {
      ...{ type: 'limits', elsewhere: [], projectsElsewhere: [], part: undefined },
      holders: [{ holder: 'ann', waiting: 7 }],
    });
    this.#hear();
  }

  #journalChanged(stall: JournalState | undefined): void {
    this.#stall = stall;
    this.#bench.scheduler.journalChanged(stall ?? { kind: 'open' }, this.#bench.now);
    this.#hear();
  }

  #commit(part: number): void {
    const { records, scheduler, now } = this.#bench;
    this.#written += Math.ceil(part * (records.length - this.#written));
    scheduler.recorded(this.#written, now);
    this.#hear();
  }

  /** The process dies; a part of what it had not confirmed is in its journal. */
  #restart(part: number): void {
    const { records, now } = this.#bench;
    records.length = this.#written + Math.floor(part * (records.length - this.#written));
    this.#bench = new DurableBench(this.#bench.inheritance(), now, false, this.#config);
    this.#written = 0;
    this.#stall = undefined;
    this.#incarnation++;
    // Messages name the incarnation that they are for.
    this.#copies = 0;
    this.#hear();
  }

  #hear(): void {
    const mine = (message: Message) => 'request' in message && message.request === REQUEST;
    for (const message of this.#bench.take().filter(mine))
      this.#answers.push({ from: this.#incarnation, message });
  }
}

describe.each([true, false])('with lost messages, stalls and restarts (shared journal: %s)', (isShared) => {
  test.each(Object.entries(CHANGES))(
    '%s takes effect if it is accepted, and never if it is refused',
    (_, change) => {
      fc.assert(
        fc.property(fc.array<Step>(step, { maxLength: 25 }), (steps) => {
          const world = new World(change, isShared);
          for (const each of steps) world.do(each);
          world.heal();
          const { verdict } = world.believer;
          if (verdict === 'accepted' && !world.isContested) expect(world.hasEffect).toBe(true);
          if (verdict === 'refused') expect(world.hasEffect).toBe(false);
        }),
        { numRuns: 50, examples: [[LATE_COPY]] },
      );
    },
  );
});
