import {
  type Address,
  COMPLETED,
  DEFAULT_POLICY,
  isReply,
  LIVE_TIMINGS,
  type Message,
  type MessageOf,
  PRESETS,
  parseJobSpec,
  type Reply,
} from '@goshawk/core';
import { type Job, Scheduler } from '@goshawk/scheduler';
import { Codec, DEFAULT_LIMITS, Directory, FrameWriter } from '@goshawk/transport';
import { expect, test } from 'vitest';

const [CENTRAL, CLIENT, WORKER] = [1, 2, 3] as [Address, Address, Address];
const codec = new Codec(new Directory());

/** A scheduler whose answers are encoded in a frame. */
class Bench {
  readonly #scheduler: Scheduler;
  #answers: Reply[] = [];
  #bound: MessageOf<'run'> | undefined;
  #ask = 0;
  #now = 3;

  constructor() {
    const config = {
      name: 's',
      self: 4 as Address,
      tag: 's',
      endpoint: '',
      central: CENTRAL,
      enlistRetryMs: 1_000,
      wallOffsetMs: 0,
      endedJobsMax: 100_000,
      logBytesMax: 1e9,
    };
    this.#scheduler = new Scheduler(config, {
      random: () => 0.5,
      send: (_to, message) => this.#sent(message),
      setTimer() {},
      clearTimer() {},
      nameOf: (address) => `party ${address}`,
      jobEnded() {},
      drained() {},
    });
    this.#scheduler.start(0);
    const settings = {
      policy: { ...DEFAULT_POLICY, preset: { ...PRESETS.sparrow } },
      timings: LIVE_TIMINGS,
    };
    this.#scheduler.receive(CENTRAL, { type: 'welcome', settings }, 0);
    const worker = { address: WORKER, name: 'w', slots: 1, capacity: {}, row: 0, attributes: [] };
    const changed = [{ ...worker, partition: 'general' as const, draining: false }];
    const others = { left: [], owners: [], ownersVersion: 0, silentMs: undefined };
    this.#scheduler.receive(CENTRAL, { type: 'members', version: 1, since: 0, changed, ...others }, 0);
  }

  #sent(message: Message): void {
    if (message.type === 'run') this.#bound = message;
    if (isReply(message)) this.#answers.push(message);
  }

  submit(spec: unknown): Job {
    return this.#scheduler.submit(parseJobSpec(spec), undefined, 0);
  }

  cancel(job: Job): void {
    this.#scheduler.cancel(job, 0);
  }

  /** A worker runs all tasks of the job; each prints, and returns a value. */
  run(job: Job): void {
    const rest = { outputBytes: 1, runMs: 1, ask: 0 };
    const outcome = { ...COMPLETED, value: 7 };
    for (let task = 0; task < job.taskCount; task++) {
      const of = { job: job.number, stage: 0, again: false, placed: undefined };
      this.#scheduler.receive(WORKER, { type: 'ask', ask: ++this.#ask, ...of }, 1);
      const { attempt } = this.#bound!;
      const output = [{ stream: 'stdout', bytes: new Uint8Array([120]), offset: 0 }] as const;
      const ended = { job: job.number, task, attempt, outcome, output: [...output], ...rest };
      this.#scheduler.receive(WORKER, { type: 'ended', report: this.#ask, ...ended } as Message, 2);
    }
  }

  /** Returns the scheduler's reply after encoding it in a frame. */
  ask(question: Message): Reply {
    this.#answers = [];
    // Later than the budget of queries demands.
    this.#now += 10_000;
    this.#scheduler.receive(CLIENT, question, this.#now);
    const [answer] = this.#answers;
    let bytes = 0;
    const writer = new FrameWriter(null, DEFAULT_LIMITS, (frame) => {
      bytes += frame.bytes.length;
    });
    writer.add('c.1', 0, 0, codec.encode(answer!));
    writer.finish();
    expect(bytes).toBeLessThan(4 * 1024 * 1024);
    return answer!;
  }

  /** All pages of an answer. */
  *pages<Page extends { readonly next: number | undefined }>(
    question: (from: number) => Message,
  ): Iterable<Page> {
    for (let from: number | undefined = 0; from !== undefined; ) {
      const page = (this.ask(question(from)) as unknown as { value: unknown }).value as Page & {
        done?: boolean;
      };
      yield page;
      from = page.done === true ? undefined : page.next;
    }
  }
}

const request = 1;

test('output and results of 310,000 tasks arrive in pages that fit into frames', () => {
  const bench = new Bench();
  const job = bench.submit({ tasks: { count: 310_000, run: { sleep: 0 } } });
  bench.run(job);
  const id = job.id;
  let values = 0;
  for (const page of bench.pages<{ next: number | undefined; values: unknown[] }>((from) => {
    return { type: 'readResults', request, id, from, order: undefined };
  })) {
    values += page.values.length;
  }
  expect(values).toBe(310_000);
  let chunks = 0;
  for (const page of bench.pages<{ next: number; chunks: unknown[] }>((cursor) => {
    return { type: 'readLogs', request, id, task: undefined, failedOnly: false, cursor, attempt: undefined };
  })) {
    chunks += page.chunks.length;
  }
  expect(chunks).toBe(310_000);
}, 60_000);

test('the end of the largest job fits, without the times of its tasks', () => {
  const bench = new Bench();
  const large = bench.submit({ tasks: { count: 1_000_000, run: { sleep: 0 } } });
  const timed = bench.submit({ tasks: { count: 100_000, run: { sleep: 0 } } });
  for (const job of [large, timed]) bench.cancel(job);
  const endOf = ({ id }: Job) => bench.ask({ type: 'watchJob', request, id, detail: true, soon: undefined });
  expect(endOf(large)).toMatchObject({ type: 'jobEnded', value: { starts: undefined, runs: undefined } });
  expect((endOf(timed) as MessageOf<'jobEnded'>).value.runs).toHaveLength(100_000);
});

test('a specification too large for any answer is refused with its size', () => {
  const bench = new Bench();
  const long = bench.submit({ tasks: [{ exec: ['cat'], stdin: 'x'.repeat(15_000_000) }] });
  const many = bench.submit({ tasks: Array.from({ length: 120_000 }, () => ({ exec: ['true', 'x'] })) });
  for (const { id } of [long, many]) {
    expect(bench.ask({ type: 'describeJob', request, id, spec: true })).toMatchObject({
      type: 'refused',
      code: 'spec-too-long',
    });
    expect(bench.ask({ type: 'describeJob', request, id, spec: false })).toMatchObject({ type: 'jobDetail' });
  }
});

test('a list of 50,000 jobs has as many as fit, and the total', () => {
  const bench = new Bench();
  for (let i = 0; i < 50_000; i++) bench.submit({ name: 'n'.repeat(200), tasks: [{ sleep: 1 }] });
  const all = { states: [], user: undefined, where: undefined, endedMax: 100_000, jobsMax: 100_000 };
  const { value } = bench.ask({ type: 'listJobs', request, ...all }) as MessageOf<'jobList'>;
  const { jobs, total } = value;
  expect(total).toBe(50_000);
  expect(jobs.length).toBeGreaterThan(1_000);
});
