import { type Address, type Message, type MessageOf, parseJobSpec } from '@goshawk/core';
import { expect, test } from 'vitest';
import type { JournalEntry } from '../contract.js';
import { DurableBench } from '../durable.fixture.js';
import { CENTRAL, CLIENT, joined, loneScheduler, W1, welcome } from '../lone-scheduler.fixture.js';

const OTHER = (CLIENT + 1_000) as Address;
const stage = (index: number, tasks: object) => ({ name: `s${index}`, tasks });
const SMALL = { count: 2, run: { sleep: 1 } };

/** Held jobs, of which some request is expensive. */
const JOBS = {
  'many stages': { stages: Array.from({ length: 1_000 }, (_, index) => stage(index, SMALL)) },
  'many tasks': { tasks: { count: 1_000_000, run: { sleep: 1 } } },
};

type Reading = Extract<Message, { readonly request: number; readonly id: string }>;
const ASKED: readonly {
  readonly [T in Reading['type']]: Omit<MessageOf<T>, 'request' | 'id'>;
}[Reading['type']][] = [
  { type: 'describeJob', spec: true },
  { type: 'explainJob', task: undefined },
  { type: 'listTasks', states: ['failed'], stage: undefined, from: 0, limit: 1 },
  { type: 'listTasks', states: [], stage: undefined, from: 0, limit: 2_000 },
  { type: 'readLogs', task: undefined, failedOnly: true, cursor: 0, attempt: undefined },
  { type: 'readResults', from: 0, order: undefined },
  { type: 'readResults', from: 0, order: 'index' },
  { type: 'watchJob', detail: true, soon: undefined },
];

const FLOOD = 6_000;

test.each(
  Object.entries(JOBS).flatMap(([name, job]) =>
    ASKED.map((asked) => ({ name, job, asked, type: asked.type })),
  ),
)('a flood of $type about a job with $name is refused beyond the share of its client', ({ job, asked }) => {
  const sent: { readonly to: Address; readonly message: Message }[] = [];
  const scheduler = loneScheduler(
    {},
    {
      send: (to: Address, message: Message) => sent.push({ to, message }),
      clientKeyOf: (party) => ({ name: `${party}`, rights: ['submit', 'read-all'] }),
    },
  );
  scheduler.start(0);
  scheduler.receive(CENTRAL, welcome(), 0);
  scheduler.receive(CENTRAL, joined(1, [W1]), 0);
  const { id } = scheduler.submit(parseJobSpec({ ...job, hold: true }), undefined, 0);
  const answers = (to: Address) => sent.splice(0).filter((each) => each.to === to);
  const ask = (from: Address, request: number, now: number) =>
    scheduler.receive(from, { ...asked, request, id } as Message, now);
  answers(CLIENT);

  let refused = 0;
  for (let request = 1; request <= FLOOD; request++) {
    ask(CLIENT, request, 1);
    refused += answers(CLIENT).filter(({ message }) => message.type === 'refused').length;
  }
  expect(refused).toBeGreaterThan(FLOOD / 2);
  ask(OTHER, 1, 1);
  expect(answers(OTHER)[0]?.message.type).not.toBe('refused');
});

/** A job of 16 MB, or many values, which no answer can hold. */
test.each([
  { what: 'text', tasks: [{ exec: ['cat'], stdin: 'x'.repeat(8_000_000) }] },
  { what: 'values', tasks: Array.from({ length: 50_000 }, () => ({ exec: ['true', 'x', 'y'] })) },
])('a flood of questions for a specification with much $what is refused after a few', ({ tasks }) => {
  const sent: Message[] = [];
  const scheduler = loneScheduler({}, { send: (_: Address, message: Message) => sent.push(message) });
  scheduler.start(0);
  scheduler.receive(CENTRAL, welcome(), 0);
  scheduler.receive(CENTRAL, joined(1, [W1]), 0);
  const { id } = scheduler.submit(parseJobSpec({ tasks, hold: true } as never), undefined, 0);
  sent.length = 0;
  for (let request = 1; request <= 100; request++)
    scheduler.receive(CLIENT, { type: 'describeJob', request, id, spec: true }, 1);
  const served = sent.filter((message) => message.type !== 'refused' || message.code !== 'overloaded');
  expect(served.length).toBeLessThan(20);
});

test.each<Omit<MessageOf<'describeJob'>, 'request' | 'id'> | Omit<MessageOf<'cancelJob'>, 'request' | 'id'>>([
  { type: 'describeJob', spec: false },
  { type: 'cancelJob' },
])('a flood of $type about jobs in the journal reads only a few of them', (asked) => {
  let reads = 0;
  const readJobRecords = (job: number): JournalEntry[] => {
    reads++;
    return bench.records.flatMap((record, place): JournalEntry[] =>
      record.job === job ? [[place, record]] : [],
    );
  };
  const bench = new DurableBench(undefined, 0, true, { memoryBytes: 100_000 }, { readJobRecords });
  for (let job = 1; job <= 60; job++) {
    bench.submit({ name: 'n'.repeat(200), tasks: [{ sleep: 1 }] }, `k${job}`, job);
    bench.commit();
    bench.receive(CLIENT, { type: 'cancelJob', request: 1_000 + job, id: `s-${job}` });
    bench.commit();
  }
  const ask = (request: number): void =>
    bench.scheduler.receive(CLIENT, { ...asked, request, id: `s-${1 + (request % 40)}` } as Message, 1);
  for (let request = 1; request <= 20_000; request++) ask(10_000 + request);
  // Each request is charged once, besides its reading.
  expect(reads).toBeGreaterThan(700);
  expect(reads).toBeLessThan(3_000);
});
