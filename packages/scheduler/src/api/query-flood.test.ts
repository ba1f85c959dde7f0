import { type Address, type Message, type MessageOf, parseJobSpec } from '@goshawk/core';
import { expect, test } from 'vitest';
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
