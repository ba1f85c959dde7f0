import {
  type Address,
  DEFAULT_POLICY,
  isChange,
  LIVE_TIMINGS,
  MESSAGES,
  type Message,
  type MessageType,
  PRESETS,
} from '@goshawk/core';
import { expect, test } from 'vitest';
import { Central } from './central.js';
import { need, registration } from './messages.fixture.js';

const [OWNER, CLIENT, OTHER] = [1, 2, 3] as [Address, Address, Address];
const JOBS = 300;
const FLOOD = 5_000;

/** Fields of queries, beside `request`. */
const FIELDS: Readonly<Partial<Record<MessageType, object>>> = {
  explainNeed: { owner: `party ${OWNER}`, job: 1 },
  readEvents: { after: 0, since: undefined },
  readHistory: { after: 0 },
  listWorkers: { from: 0 },
};

/** Forecasts have limits of their own. */
const QUERIES = (Object.keys(MESSAGES) as MessageType[]).filter((type) => {
  const { from, to } = MESSAGES[type] as { readonly from: readonly string[]; readonly to: readonly string[] };
  return from.includes('client') && to.includes('central') && !isChange(type) && type !== 'planEnd';
});

function centralWithJobs(sent: { readonly to: Address; readonly message: Message }[]): Central {
  const policy = { ...DEFAULT_POLICY, preset: { ...PRESETS.goshawk } };
  const central = new Central(
    { name: 'central', self: 0 as Address, settings: { policy, timings: LIVE_TIMINGS } },
    {
      random: () => 0.5,
      send: (to: Address, message: Message) => sent.push({ to, message }),
      setTimer() {},
      clearTimer() {},
      nameOf: (address: Address) => `party ${address}`,
      clientKeyOf: (party) => ({ name: `${party}`, rights: ['submit', 'read-all'] }),
    },
  );
  central.start(0);
  const journal = { epoch: 0, adopted: false, previousIncarnations: [], durable: true, draining: false };
  central.receive(
    OWNER,
    { type: 'enlist', name: 's', tag: 's', endpoint: '', http: undefined, ...journal },
    0,
  );
  for (let worker = 0; worker < 4; worker++)
    central.receive((100 + worker) as Address, registration(`w${worker}`), 0);
  for (let job = 1; job <= JOBS; job++) central.receive(OWNER, need(job, { user: 'ann' }), 0);
  central.settle(0);
  return central;
}

test.each(QUERIES)('a flood of %s is refused beyond the share of its client', (type) => {
  const sent: { readonly to: Address; readonly message: Message }[] = [];
  const central = centralWithJobs(sent);
  const ask = (from: Address, request: number): Message | undefined => {
    sent.length = 0;
    central.receive(from, { ...FIELDS[type], type, request } as Message, 1);
    return sent.find(({ to }) => to === from)?.message;
  };
  let refused = 0;
  for (let request = 1; request <= FLOOD; request++) if (ask(CLIENT, request)?.type === 'refused') refused++;
  expect(refused).toBeGreaterThan(FLOOD / 10);
  expect(ask(OTHER, 1)?.type).not.toBe('refused');
});
