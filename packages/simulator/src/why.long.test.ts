import {
  type Address,
  type CentralLine,
  countTasks,
  DEFAULT_POLICY,
  type JobExplanation,
  type JobInput,
  type Message,
  type Millis,
  mayRun,
  parseJobSpec,
  parseUsers,
  Random,
  RELIABLE_TIMINGS,
  type Resources,
  type StageSpec,
  withLimits,
} from '@goshawk/core';
import { presetNamed } from '@goshawk/policies';
import { type Job, TaskState } from '@goshawk/scheduler';
import { Worker } from '@goshawk/worker';
import { expect, test } from 'vitest';
import { VirtualCluster } from './virtual-cluster.js';

const SEEDS = 24;
const ASKED_AT: Millis = 5_000;
const DRAINED_AT: Millis = 3_500;
/** Time (ms) that suffices for an answer, and for a task to start after the cause of its wait has gone. */
const REPLY_MS = 5;
const START_MS = 40;
/** A task may have this many causes, one after another. */
const CAUSES_MAX = 8;

const USERS = ['ana', 'ben', 'cleo'] as const;
const LIMITS = '{"ana": {"running": 3}, "ben": {"cpus": 4}}';

const SETTINGS = {
  policy: {
    ...DEFAULT_POLICY,
    policy: 'goshawk',
    preset: presetNamed('goshawk'),
    cutoffMs: 2_000,
    estimator: 'given',
  },
  timings: RELIABLE_TIMINGS,
};

interface WorkerFacts {
  readonly address: Address;
  readonly capacity: Resources;
  readonly attributes: Readonly<Record<string, string>>;
}

/** A small busy cluster of several users, at a time when many tasks wait. */
class Situation {
  readonly cluster: VirtualCluster;
  readonly jobs: Job[] = [];
  readonly workers: WorkerFacts[];
  readonly drained = new Set<WorkerFacts>();
  readonly #client: Address;
  readonly #answers: Message[] = [];
  #requests = 0;

  constructor(seed: number) {
    const random = Random.seeded(`why ${seed}`);
    const more = Random.seeded(`why more ${seed}`);
    // Drained workers, preferences and custom resources leave little room for reservations.
    const extra = (part: number): boolean => seed % 2 === 0 && more.next() < part;
    const workers = 2 + Math.floor(random.next() * 3);
    const slots = 2 + Math.floor(random.next() * 3);
    const capacity = { cpu: slots, memory: 8, gpu: 1, license: 1 };
    const withSlots = { slot: slots, ...capacity };
    this.cluster = new VirtualCluster({
      workers,
      slots,
      capacity,
      schedulers: 2,
      seed,
      // Where CPUs are lent, few tasks wait for the reserve or a reservation.
      settings: { ...SETTINGS, policy: { ...SETTINGS.policy, lend: seed % 4 === 0 ? 'all' : 'none' } },
      users: parseUsers(LIMITS, 'users'),
      attributesOf: (worker) => [{ name: 'rack', value: `r${worker % 2}` }],
      checked: true,
    });
    this.workers = this.cluster.workerAddresses.map((address, worker) => ({
      address,
      capacity: withSlots,
      attributes: { rack: `r${worker % 2}` },
    }));
    this.#client = this.cluster.addOutsider((_, message) => this.#answers.push(message));
    const jobs = 12 + Math.floor(random.next() * 12);
    for (let at = 0; at < jobs; at++) {
      const drawn = { ...parseJobSpec(drawJob(random, slots, extra)), user: USERS[at % USERS.length]! };
      const waitsFor = random.next() < 0.15 ? random.next() : undefined;
      this.cluster.at(1_000 + 300 * at * random.next(), (now) => {
        const before =
          waitsFor === undefined ? undefined : this.jobs[Math.floor(waitsFor * this.jobs.length)];
        const spec = before === undefined ? drawn : { ...drawn, after: [before.id] };
        this.jobs.push(this.cluster.schedulers[at % 2]!.submit(spec, undefined, now));
      });
    }
    if (extra(0.5)) this.#drain(this.workers[1]!);
    this.cluster.run(ASKED_AT);
  }

  /** Drains the worker shortly before the question. */
  #drain(worker: WorkerFacts): void {
    this.cluster.at(DRAINED_AT, () => {
      const request = ++this.#requests;
      const of = { worker: this.cluster.nameOf(worker.address), on: true, deadlineMs: undefined };
      this.cluster.post(this.#client, this.cluster.centralAddress, { type: 'drainWorker', request, ...of });
    });
    this.drained.add(worker);
  }

  ownerOf(job: Job): number {
    return Number(job.id.slice(1, job.id.indexOf('-')));
  }

  /** Asks the job's scheduler and central at the same time. */
  why(job: Job): { readonly explained: JobExplanation; readonly line: CentralLine } {
    const { cluster } = this;
    const owner = cluster.schedulerAddresses[this.ownerOf(job)]!;
    const request = ++this.#requests;
    this.#answers.length = 0;
    cluster.post(this.#client, owner, { type: 'explainJob', request, id: job.id, task: undefined });
    const need = { request, owner: cluster.nameOf(owner), job: job.number } as const;
    cluster.post(this.#client, cluster.centralAddress, { type: 'explainNeed', ...need });
    cluster.run(cluster.now + REPLY_MS);
    const of = <T extends Message['type']>(type: T) =>
      this.#answers.find((each): each is Extract<Message, { type: T }> => each.type === type)!;
    return { explained: of('jobExplanation').value, line: of('centralLine').value };
  }

  cancel(which: (job: Job) => boolean): void {
    for (const job of this.jobs)
      if (job.times.endedAt === undefined && which(job))
        this.cluster.schedulers[this.ownerOf(job)]!.cancel(job, this.cluster.now);
  }

  release({ id }: Job): void {
    const owner = this.cluster.schedulerAddresses[Number(id.slice(1, id.indexOf('-')))]!;
    const change = { request: ++this.#requests, id, held: false, priority: undefined } as const;
    this.cluster.post(this.#client, owner, { type: 'updateJob', ...change });
  }

  /** Adds a worker on which any task fits. */
  addWorker(attributes: Readonly<Record<string, string>>): void {
    const capacity = { cpu: 64, memory: 64, gpu: 16, license: 16 };
    const address = this.cluster.addWorker(`more-${this.workers.length}`, 64, (self, environment) => {
      const central = this.cluster.centralAddress;
      const listed = Object.entries(attributes).map(([name, value]) => ({ name, value }));
      const name = `more-${self}`;
      const more = { slots: 64, capacity, attributes: listed, registerRetryMs: 1_000 };
      return new Worker({ name, self, central, ...more }, environment);
    });
    this.workers.push({ address, capacity: { slot: 64, ...capacity }, attributes });
  }

  /** Amounts that no running task of any job takes. */
  freeAt({ address, capacity }: WorkerFacts, resource: string): number {
    let free = capacity[resource] ?? 0;
    for (const job of this.jobs)
      for (const task of job.tasks.inStates(TaskState.running))
        if (job.tasks.workerOf(task) === address)
          free -= amountOf(job.dag.stageOf(task).spec.demand, resource);
    return free;
  }

  runningOf(which: (job: Job) => boolean): number {
    return this.jobs.filter(which).reduce((sum, job) => sum + job.runningCount, 0);
  }
}

/** A task takes a slot, and one CPU if it requests nothing. */
function amountOf(demand: Resources, resource: string): number {
  if (resource === 'slot') return 1;
  return demand[resource] ?? (resource === 'cpu' ? 1 : 0);
}

/** @param extra whether to add a kind that only some clusters have, with a probability */
function drawJob(random: Random, slots: number, extra: (part: number) => boolean): JobInput {
  const chance = (part: number): boolean => random.next() < part;
  const int = (from: number, to: number): number => from + Math.floor(random.next() * (to - from + 1));
  const long = chance(0.4);
  const sleep = long ? int(2_500, 9_000) : int(100, 1_500);
  const tasks = { count: int(1, 5), run: { sleep } };
  const demand = {
    ...(chance(0.5) ? { cpu: chance(0.08) ? slots + 1 : int(1, Math.min(3, slots)) } : {}),
    ...(chance(0.3) ? { memory: int(1, 6) } : {}),
    ...(chance(0.2) ? { gpu: 1 } : {}),
    ...(extra(0.25) ? { license: 1 } : {}),
  };
  const { deadline, ...others } = {
    estimate: sleep,
    ...(chance(0.2) ? { gang: true } : {}),
    ...(chance(0.2) ? { deadline: int(2_000, 20_000) } : {}),
    ...(chance(0.2) ? { preemptible: true } : {}),
    ...(chance(0.1) ? { hold: true } : {}),
    ...(chance(0.1) ? { begin: 60_000 } : {}),
    ...(chance(0.15) ? { require: { rack: chance(0.3) ? 'r9' : 'r1' } } : {}),
    ...(extra(0.3) ? { prefer: { rack: 'r1' } } : {}),
  };
  // A job that begins after its deadline is refused.
  const more = deadline === undefined || 'begin' in others ? others : { deadline, ...others };
  if (chance(0.15) && !('gang' in more)) {
    const stages = [
      { name: 'one', tasks, demand },
      { name: 'two', after: ['one'], tasks, demand },
    ];
    return { ...more, stages } as JobInput;
  }
  return {
    ...more,
    tasks,
    demand,
    ...(chance(0.1) && !('gang' in more) ? { maxRunning: 1 } : {}),
  } as JobInput;
}

function startsOf({ tasks, spec }: Job): number {
  let starts = 0;
  const count = spec.stages.reduce((sum, { tasks: listed }) => sum + countTasks(listed), 0);
  for (let task = 0; task < count; task++) starts += tasks.executionsOf(task);
  return starts;
}

/** The stated cause, as one text to compare: a reason, and its sentence. */
function causeIn({ explained, line }: ReturnType<Situation['why']>): string | undefined {
  const first = withLimits(explained.waiting, line.needs).find(({ reason }) => reason !== 'stage');
  if (first === undefined) return undefined;
  const { reason, missing } = first;
  if (reason === 'other-job') return `other-job ${explained.after!.map(({ id }) => id).join()}`;
  const need = line.needs.find(({ stage }) => stage === first.index);
  const sentence = missing ?? need?.why;
  // Without a limit, other jobs come first, or no CPU is free.
  return sentence === undefined && reason === 'matching' ? 'order' : `${reason} ${sentence ?? ''}`.trim();
}

/** Checks the sentence against what runs, and removes the cause. */
function remove(there: Situation, job: Job, cause: string, situation: string): void {
  const stage = job.stages.find(({ unfinished, blockers }) => unfinished > 0 && blockers === 0)!.spec;
  const others = (other: Job): boolean => other !== job;
  const user = job.spec.user!;
  if (cause.startsWith('other-job')) {
    const before = there.jobs.filter(({ id, hasEnded }) => job.spec.after!.includes(id) && !hasEnded);
    expect(before.map(({ id }) => id).join(), situation).toBe(cause.slice('other-job '.length));
    return there.cancel((other) => before.includes(other));
  }
  if (cause === 'held' || cause === 'begin') return there.release(job);
  if (cause.startsWith('required')) return there.addWorker({ rack: 'r1', ...stage.requires });
  if (cause.startsWith('user-limit')) {
    const running = there.runningOf(({ spec }) => spec.user === user);
    expect(cause, situation).toMatch(
      /has \d+ (running tasks?|CPUs) of the \d+ that --users allows|--users allows user \w+ \d+ (running tasks|CPUs)/,
    );
    expect(running > 0 || cause.includes('start first') || isTooLarge(stage, user), situation).toBe(true);
    there.cluster.central.grant(new Map());
    return there.cluster.central.settle(there.cluster.now);
  }
  if (cause.startsWith('job-limit')) {
    expect(job.runningCount, situation).toBeGreaterThan(0);
    return there.cluster.run(there.cluster.now + 10_000);
  }
  checkResources(there, stage, cause, situation);
  const reserved = /^reserved .* reserved for job (\S+), which starts/.exec(cause)?.[1];
  if (cause.startsWith('reserved')) {
    expect(
      there.jobs.filter(({ id }) => id === reserved),
      situation,
    ).toHaveLength(1);
    expect(reserved, situation).not.toBe(job.id);
    return there.cancel(({ id }) => id === reserved);
  }
  const [, running, most] =
    /long tasks use (\d+) (?:of at most|CPUs, and the limit is now) (\d+)/.exec(cause) ?? [];
  if (running !== undefined) expect(Number(running), situation).toBeGreaterThanOrEqual(Number(most));
  if (cause.startsWith('reserve ')) {
    expect(job.class, situation).toBe('long');
    // Other long tasks that wait would take their places.
    there.cancel((other) => others(other) && other.class === 'long');
    return job.runningCount > 0 ? there.cluster.run(there.cluster.now + 10_000) : undefined;
  }
  there.cancel(others);
  there.addWorker({ rack: 'r1', ...stage.requires });
}

/** A limit may be smaller than what one task or gang takes. */
function isTooLarge({ demand, gang, tasks }: StageSpec, user: string): boolean {
  const count = gang && 'count' in tasks ? tasks.count : 1;
  return user === 'ana' ? count > 3 : count * amountOf(demand, 'cpu') > 4;
}

/** No worker that is large enough and has the attributes has the named amounts free. */
function checkResources(
  there: Situation,
  { demand, requires }: StageSpec,
  cause: string,
  situation: string,
): void {
  const named = /no worker has (.*\)) free/.exec(cause)?.[1]?.split(' and ') ?? [];
  const large = there.workers
    .filter((worker) => !there.drained.has(worker))
    .filter(
      ({ capacity, attributes }) =>
        mayRun({ attributes }, { requires }) &&
        Object.entries(demand).every(([name, amount]) => amount <= (capacity[name] ?? 0)),
    );
  for (const part of named.filter((each) => each !== 'a place for another task')) {
    const [, name, needed, most] = /^(\S+) (.*) \(at most (.*)\)$/.exec(part)!;
    const free = large.map((worker) => there.freeAt(worker, name!));
    expect(parseAmount(needed!), situation).toBe(amountOf(demand, name!));
    expect(Math.max(...free), `${situation}: ${name} is free`).toBeLessThan(amountOf(demand, name!));
    // Central counts slots whose tasks are about to end as free.
    expect(parseAmount(most!), situation).toBeLessThan(amountOf(demand, name!));
  }
}

/** Amounts of memory have a unit. */
function parseAmount(written: string): number {
  return Number(written.replace(/ B$/, ''));
}

test(`removing the causes that why states, one after another, starts a task, in ${SEEDS} clusters`, () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= SEEDS; seed++) {
    const waiting = new Situation(seed).jobs.flatMap((job, place) =>
      job.times.endedAt === undefined &&
      (job.hasPendingPredecessors || job.tasks.countOf(TaskState.waiting) > 0)
        ? [place]
        : [],
    );
    for (const place of waiting) {
      const there = new Situation(seed);
      const job = there.jobs[place]!;
      const before = startsOf(job);
      const causes: string[] = [];
      while (startsOf(job) === before && job.times.endedAt === undefined) {
        const cause = causeIn(there.why(job));
        const situation = `seed ${seed}, job ${job.id}: ${[...causes, cause].join('; then ')}`;
        expect(cause, situation).toBeDefined();
        expect(causes, situation).not.toContain(cause);
        expect(causes.length, situation).toBeLessThan(CAUSES_MAX);
        causes.push(cause!);
        seen.add(cause!.replaceAll(/\d+/g, 'N'));
        remove(there, job, cause!, situation);
        there.cluster.run(there.cluster.now + START_MS);
      }
    }
  }
  const kinds = [
    ...[/^held$/, /^begin$/, /^required/, /^other-job/, /^user-limit/, /^reserve /, /^reserved/],
    ...[/^resources all N tasks of a gang/, /^resources no worker has/, /^order$/],
  ];
  for (const kind of kinds)
    expect(
      [...seen].filter((cause) => kind.test(cause)),
      `${kind}`,
    ).not.toEqual([]);
});
