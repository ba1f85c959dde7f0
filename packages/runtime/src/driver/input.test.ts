import { type Address, type Message, NO_RESOURCES } from '@goshawk/core';
import { expect, test } from 'vitest';
import { describeInput } from './input.js';

const from = 3 as Address;
const nameOf = (address: Address) => `party-${address}`;

function described(message: Message): string {
  return describeInput({ kind: 'message', from, message }, nameOf);
}

test('an input is identified by one line', () => {
  expect(describeInput({ kind: 'start' }, nameOf)).toBe('start');
  expect(describeInput({ kind: 'timer', timer: 'sweep', key: 7 }, nameOf)).toBe('timer sweep/7');
  expect(
    described({
      type: 'probe',
      job: 1,
      stage: 0,
      long: false,
      lane: 'normal',
      demand: { cpu: 2 },
      sizeMs: 0,
      requires: undefined,
    }),
  ).toBe(
    'probe{job: 1, stage: 0, long: false, lane: normal, demand: {"cpu":2}, sizeMs: 0, requires: none} from party-3',
  );
  const asked = { type: 'ask', ask: 1, again: false, job: 2, stage: 0 } as const;
  expect(described({ ...asked, placed: undefined })).toBe(
    'ask{ask: 1, again: false, job: 2, stage: 0, placed: none} from party-3',
  );
  expect(described({ ...asked, placed: { task: 4, attempt: 1 } })).toBe(
    'ask{ask: 1, again: false, job: 2, stage: 0, placed: {task: 4, attempt: 1}} from party-3',
  );
});

test('the line contains no user data and no task output', () => {
  const line = described({
    type: 'run',
    ask: 1,
    match: 0,
    job: 2,
    stage: 0,
    task: 3,
    attempt: 0,
    payload: { exec: ['login'], env: { PASSWORD: 'secret' } },
    jobId: 'j1',
    long: false,
    demand: {},
    timeoutMs: 10,
    apartMs: undefined,
    expectedMs: undefined,
    execution: undefined,
    inputs: undefined,
    gang: undefined,
    user: undefined,
  });
  expect(line).toBe(
    'run{ask: 1, match: 0, job: 2, stage: 0, task: 3, attempt: 0, payload: …, jobId: "j1", long: false, demand: {}, timeoutMs: 10, apartMs: none, expectedMs: none, execution: none, inputs: none, gang: none, user: none, borrows: none} from party-3',
  );
  const bytes = new TextEncoder().encode('secret');
  expect(
    described({
      type: 'output',
      keptFrom: 0,
      job: 1,
      task: 0,
      attempt: 0,
      offset: 0,
      chunk: { stream: 'stdout', bytes },
    }),
  ).toBe(
    'output{job: 1, task: 0, attempt: 0, offset: 0, chunk: {stream: stdout, bytes: 6 bytes}, keptFrom: 0} from party-3',
  );
});

test('the line contains no long values', () => {
  const member = {
    address: from,
    name: 'w',
    slots: 1,
    capacity: NO_RESOURCES,
    partition: 'general',
    draining: false,
    row: 0,
    attributes: [],
  } as const;
  const members: Message = {
    type: 'members',
    version: 1,
    since: 0,
    changed: [member, member],
    left: [],
    owners: [],
    ownersVersion: 0,
    silentMs: undefined,
  };
  expect(described(members)).toBe(
    'members{version: 1, since: 0, changed: 2 entries, left: 0 entries, owners: 0 entries, ownersVersion: 0, silentMs: none} from party-3',
  );
  const line = described({ type: 'cancelJob', request: 1, id: 'x'.repeat(200) });
  expect(line).toBe(`cancelJob{request: 1, id: "${'x'.repeat(79)}…"} from party-3`);
});
