import type { Address, ClientKey, JobState, Message } from '@goshawk/core';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { CENTRAL, CLIENT, W1 } from '../lone-scheduler.fixture.js';

const OWNER = 21 as Address;
const ONE = { tasks: [{ sleep: 1 }] };

let bench: DurableBench;
let key: ClientKey | undefined;
let request: number;

beforeEach(() => {
  key = undefined;
  request = 1;
  bench = new DurableBench(undefined, 0, true, {}, { clientKeyOf: () => key });
  bench.members(W1);
  bench.take();
});

/** A job of the user in this state. */
function jobOf(user: string, state: JobState): string {
  const job = bench.accept({ ...ONE, user, name: `${user}-${state}` });
  bench.commit();
  if (state !== 'waiting') {
    const run = bench.ask(W1, job.number)!;
    if (state === 'completed') bench.end(W1, run);
    if (state === 'failed') bench.end(W1, run, FAILED);
  }
  bench.commit();
  bench.take();
  return job.id;
}

/** The answer to a submission of mallory; undefined: none yet. */
function depend(how: 'after' | 'afterOk', ids: readonly string[], copy = ++request): Message | undefined {
  bench.receive(CLIENT, { type: 'submit', request: copy, key: `k${copy}`, spec: { ...ONE, [how]: ids } });
  bench.commit();
  return bench.take().find((message) => 'request' in message && message.request === copy);
}

const STATES = ['waiting', 'running', 'completed', 'failed'] as const;

describe.each(['after', 'afterOk'] as const)('with a key for own jobs, %s', (how) => {
  test.each([['submit'], ['submit', 'read-own']] as const)(
    'of a job of another user is refused as for one that does not exist, in any state (%s, %s)',
    (...rights) => {
      const theirs = STATES.map((state) => jobOf('ada', state));
      const own = STATES.map((state) => jobOf('mallory', state));
      key = { name: 'mallory', rights: rights.filter((right) => right !== undefined) };
      const shown = [...theirs, 's-900'].map((id) => {
        const answer = JSON.stringify(depend(how, [id]));
        return answer.replaceAll(id, 'ID').replace(/"request":\d+/, '');
      });
      expect(new Set(shown)).toEqual(new Set([expect.stringContaining('"code":"unknown-job"')]));
      for (const id of own) expect(depend(how, [id])).toMatchObject({ type: 'accepted' });
      expect(depend(how, [own[0]!, theirs[0]!])).toMatchObject({ code: 'unknown-job' });
    },
  );

  test('of a job of another scheduler is decided by its owner, while the client repeats the request', () => {
    key = { name: 'mallory', rights: ['submit', 'read-own'] };
    const ids = ['x1-7', 'x1-8'];
    expect(depend(how, ids, 50)).toMatchObject({ type: 'refused', code: 'not-ready' });
    bench.receive(CENTRAL, { type: 'ownerIs', tag: 'x1', owner: OWNER, gone: false });
    const asked = bench.take().filter((message) => message.type === 'awaitJobs');
    expect(asked).toMatchObject([{ ids, user: 'mallory' }]);
    const fate = (id: string, state: 'running' | 'unknown', user: string) =>
      bench.receive(OWNER, { type: 'jobFates', fates: [{ id, state, tasks: 1, ended: 0 }], user });
    fate('x1-7', 'running', 'mallory');
    // An answer to another user's question.
    fate('x1-8', 'running', 'ada');
    expect(depend(how, ids, 50)).toMatchObject({ code: 'not-ready' });
    fate('x1-8', 'unknown', 'mallory');
    expect(depend(how, ids, 50)).toMatchObject({ type: 'refused', code: 'unknown-job' });
    expect(depend(how, ['x1-7'])).toMatchObject({ type: 'accepted' });
  });

  test('of a job of a scheduler that does not exist is refused', () => {
    key = { name: 'mallory', rights: ['submit'] };
    expect(depend(how, ['zz-7'], 50)).toMatchObject({ code: 'not-ready' });
    bench.receive(CENTRAL, { type: 'ownerIs', tag: 'zz', owner: undefined, gone: true });
    expect(depend(how, ['zz-7'], 50)).toMatchObject({ code: 'unknown-job' });
  });

  test.each([undefined, { name: 'ops', rights: ['submit', 'read-all'] }] as const)(
    'with the right to see all jobs, is accepted (%j)',
    (given) => {
      key = given;
      expect(depend(how, [jobOf('ada', 'running'), 'x1-7'])).toMatchObject({ type: 'accepted' });
    },
  );
});

describe('the number of questions to others', () => {
  const ids = fc.array(fc.tuple(fc.nat(40), fc.nat(2_000)), { minLength: 1, maxLength: 900 });
  const submissions = fc.array(fc.record({ ids, owner: fc.option(fc.nat(40)) }), {
    minLength: 1,
    maxLength: 12,
  });

  test('does not grow with the jobs that a user names', () => {
    fc.assert(
      fc.property(submissions, (all) => {
        key = { name: 'mallory', rights: ['submit'] };
        bench = new DurableBench(undefined, 0, true, {}, { clientKeyOf: () => key });
        bench.members(W1);
        bench.take();
        let sent = 0;
        const count = () => {
          sent += bench.take().filter(({ type }) => type === 'awaitJobs' || type === 'seekOwner').length;
        };
        for (const { ids, owner } of all) {
          const after = ids.map(([tag, job]) => `x${tag}-${job}`);
          bench.receive(CLIENT, {
            type: 'submit',
            request: ++request,
            key: `k${request}`,
            spec: { ...ONE, after },
          });
          count();
          const named = { type: 'ownerIs', tag: `x${owner}`, owner: OWNER, gone: false } as const;
          if (owner !== null) bench.receive(CENTRAL, named);
          count();
        }
        // Within one interval: a question to central and one to the owner for each tag, and one when central names the owner.
        expect(sent).toBeLessThan(2 * 32 + 12 + 1);
      }),
    );
  });

  test('of one user delays no other', () => {
    key = { name: 'mallory', rights: ['submit'] };
    for (let flood = 0; flood < 20; flood++)
      depend(
        'after',
        Array.from({ length: 1_000 }, (_, job) => `x${flood}-${job}`),
      );
    key = { name: 'ada', rights: ['submit'] };
    expect(depend('after', ['y-1'], 999)).toMatchObject({ code: 'not-ready' });
    bench.receive(CENTRAL, { type: 'ownerIs', tag: 'y', owner: OWNER, gone: false });
    key = { name: 'mallory', rights: ['submit'] };
    for (let flood = 0; flood < 20; flood++)
      depend(
        'after',
        Array.from({ length: 1_000 }, (_, job) => `z${flood}-${job}`),
      );
    const fates = [{ id: 'y-1', state: 'running', tasks: 1, ended: 0 }] as const;
    bench.receive(OWNER, { type: 'jobFates', fates, user: 'ada' });
    key = { name: 'ada', rights: ['submit'] };
    expect(depend('after', ['y-1'], 999)).toMatchObject({ type: 'accepted' });
  });
});

test('an owner reports the jobs of other users as unknown ones, and promises no news of them', () => {
  const theirs = jobOf('ada', 'running');
  const own = jobOf('mallory', 'running');
  bench.receive(OWNER, { type: 'awaitJobs', ids: [theirs, own, 's-900'], user: 'mallory' });
  expect(bench.take()).toMatchObject([
    {
      type: 'jobFates',
      user: 'mallory',
      fates: [
        { id: theirs, state: 'unknown', tasks: 0, ended: 0 },
        { id: own, state: 'running' },
        { id: 's-900', state: 'unknown', tasks: 0, ended: 0 },
      ],
    },
  ]);
});
