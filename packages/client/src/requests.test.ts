import { GoshawkError, InputError, UnreachableError } from '@goshawk/core';
import { generateKeys, type KeyRing, keyRing, Mailbox, SILENT_LOGGER } from '@goshawk/transport';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Alarms } from './alarms.js';
import { Connection } from './connection.js';
import { FAST, IMPATIENT, PATIENT, summary } from './fake-cluster.fixture.js';
import { type ConnectOptions, completeTimings } from './options.js';
import { type Order, Requests } from './requests.js';
import { ScriptedPeer } from './scripted-peer.fixture.js';
import { Turns } from './turns.js';

let connection: Connection;
let alarms: Alarms;
let requests: Requests;
let impatient: Requests;
let patient: Requests;
let peer: ScriptedPeer;

beforeEach(async () => {
  connection = await Connection.open(SILENT_LOGGER);
  alarms = new Alarms();
  const asking = { connection, alarms, turns: new Turns() };
  requests = new Requests({ ...asking, timings: completeTimings(FAST) });
  impatient = new Requests({ ...asking, timings: completeTimings(IMPATIENT) });
  patient = new Requests({ ...asking, timings: completeTimings(PATIENT) });
  peer = await ScriptedPeer.start();
});

afterEach(async () => {
  await connection.close();
  alarms.close();
  await peer.close();
});

function withTimings(timings: ConnectOptions): Requests {
  const all = completeTimings({ ...PATIENT, ...timings });
  return new Requests({ connection, alarms, turns: new Turns(), timings: all });
}

/** Opens the mailbox of a scheduler that answers nothing. */
async function openScheduler(keys: KeyRing | undefined) {
  const mailbox = await Mailbox.open({
    bind: 'tcp://127.0.0.1:0',
    incarnation: 's.x',
    logger: SILENT_LOGGER,
    ...(keys && { keys }),
  });
  return { endpoint: mailbox.endpoint, close: () => mailbox.close() };
}

function order(more: Partial<Order<'cancelJob'>> = {}): Order<'cancelJob'> {
  return {
    what: 'to cancel a job',
    build: (request) => ({ type: 'cancelJob', request, id: 't-1' }),
    to: () => ({ party: peer.party, title: `scheduler s at ${peer.endpoint}` }),
    ...more,
  };
}

describe('a request', () => {
  test('returns the value and the full name of the party that answered', async () => {
    peer.script = (_message, { answer }) => answer(summary('t-1', 'cancelled'));
    const to = { party: `${peer.endpoint}!*/0`, title: 'central' };
    expect(await requests.ask(order({ to: () => to }))).toEqual({
      type: 'jobSummary',
      value: summary('t-1', 'cancelled'),
      from: peer.party,
      peer: 'central',
    });
  });

  test('is resent with its number until it is answered', async () => {
    peer.script = (_message, { answer }, times) => {
      if (times === 3) answer(summary('done'));
    };
    expect((await requests.ask(order())).value.id).toBe('done');
    expect(new Set(peer.of('cancelJob').map(({ request }) => request)).size).toBe(1);
  });

  test('takes the first of two answers', async () => {
    peer.script = (_message, { answer }) => {
      answer(summary('1'));
      answer(summary('2'));
    };
    const [a, b] = await Promise.all([requests.ask(order()), requests.ask(order())]);
    expect([a.value.id, b.value.id]).toEqual(['1', '1']);
  });

  test.each(['something else', 'the answer to another question'])('fails at once on %s', async (what) => {
    peer.script = (_message, { answer, garble }) => {
      if (what === 'something else') garble({ id: 't-1' });
      else answer({ job: 't-1', state: 'waiting' }, 'accepted');
    };
    await expect(patient.ask(order())).rejects.toMatchObject({ code: 'bad-answer' });
    expect(peer.received).toHaveLength(1);
  });

  test('without an answer fails, and names the party and the request', async () => {
    const asked = impatient.ask(order());
    await expect(asked).rejects.toThrow(UnreachableError);
    await expect(asked).rejects.toThrow(
      new RegExp(
        `^no answer from scheduler s at ${peer.endpoint} for [\\d.]+ ms when asked to cancel a job; the request may have taken effect$`,
      ),
    );
  });

  test.each([
    ['not-ready', undefined],
    ['overloaded', 20],
  ])(
    'whose last copy was not answered may have an effect, although earlier ones were refused (%s)',
    async (code, retryMs) => {
      peer.script = (_message, { refuse }, times) => {
        if (times === 1) refuse(code, 'later', '', retryMs);
      };
      // Long enough for a second copy also on a busy machine.
      const asked = withTimings({ requestTimeoutMs: 2_000 }).ask(order());
      await expect(asked).rejects.toMatchObject({ name: 'OutcomeUnknownError' });
      expect(peer.received.length).toBeGreaterThan(1);
    },
  );

  test.each(['not-ready', 'overloaded', 'has-ended'])(
    'of which each copy was refused (%s) has none',
    async (code) => {
      peer.script = (_message, { refuse }) => refuse(code, 'no', '', code === 'overloaded' ? 400 : undefined);
      // The last copy is sent a quarter of a second before the end.
      const error = await withTimings({ requestTimeoutMs: 1_000 })
        .ask(order())
        .catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code });
      expect(error).not.toMatchObject({ name: 'OutcomeUnknownError' });
    },
  );

  test('that only reads is never reported as perhaps effective', async () => {
    const asked = impatient.ask<'listJobs'>({
      what: 'to list jobs',
      build: (request) => ({
        ...{ type: 'listJobs', request, states: [], user: undefined, where: undefined },
        ...{ endedMax: 1, jobsMax: 1 },
      }),
      to: () => ({ party: peer.party, title: 'a scheduler' }),
    });
    await expect(asked).rejects.toMatchObject({ name: 'UnreachableError' });
  });

  test('waits for a peer that starts later', async () => {
    await peer.close();
    const asked = requests.ask(order({ to: () => ({ party: `${peer.endpoint}!*/0`, title: 'central' }) }));
    const later = await ScriptedPeer.start((_message, { answer }) => answer(summary('late')), peer.endpoint);
    expect((await asked).value.id).toBe('late');
    await later.close();
  });

  test('goes to another party that can serve it when it is resent', async () => {
    const other = await ScriptedPeer.start((_message, { answer }) => answer(summary('other')));
    let silences = 0;
    const answer = await requests.ask(
      order({
        to: () => ({ party: (silences < 2 ? peer : other).party, title: 'a scheduler' }),
        onSilence: () => {
          silences++;
        },
      }),
    );
    expect(answer.value.id).toBe('other');
    expect(peer.received).toHaveLength(2);
    await other.close();
  });

  test.each([true, false])(
    'refused for good may have an effect at a party that did not answer: %s',
    async (moves) => {
      const other = await ScriptedPeer.start((_message, { refuse }) => refuse('has-ended', 'it has ended'));
      let silences = 0;
      const asked = requests.ask(
        order({
          to: () => ({ party: (moves && silences === 0 ? peer : other).party, title: 'a scheduler' }),
          onSilence: () => {
            silences++;
          },
        }),
      );
      const name = moves ? 'OutcomeUnknownError' : expect.not.stringContaining('OutcomeUnknown');
      await expect(asked).rejects.toMatchObject({ name, code: 'has-ended' });
      await other.close();
    },
  );

  test('to a party whose key this client’s file does not list fails without a retry, and had no effect', async () => {
    const keyed = await Connection.open(SILENT_LOGGER, keyRing(generateKeys().client, 'test'));
    const asking = { connection: keyed, alarms, turns: new Turns(), timings: completeTimings(FAST) };
    let copies = 0;
    const asked = new Requests(asking).ask({
      ...order({ to: () => ({ party: `${peer.endpoint}!s.s0.x/0`, title: 'scheduler s0' }) }),
      build: (request) => {
        copies++;
        return { type: 'cancelJob', request, id: 't-1' };
      },
    });
    await expect(asked).rejects.toMatchObject({ name: 'UnreachableError', code: 'keys-old' });
    expect(copies).toBe(1);
    await keyed.close();
  });

  test.each([
    ['with other keys', keyRing(generateKeys().scheduler, 'test'), 'keys-refused'],
    ['without keys', undefined, 'keys-unknown'],
  ])('to a scheduler %s fails at once by its name, and had no effect', async (_, keys, code) => {
    const { endpoint, close } = await openScheduler(keys);
    const keyed = await Connection.open(SILENT_LOGGER, keyRing(generateKeys().client, 'test'));
    const timings = completeTimings({ ...FAST, absentTimeoutMs: 300 });
    const asked = new Requests({ connection: keyed, alarms, turns: new Turns(), timings }).ask(
      order({ to: () => ({ party: `${endpoint}!s.*/0`, title: 'scheduler s7' }) }),
    );
    await expect(asked).rejects.toMatchObject({
      name: 'UnreachableError',
      code,
      message: expect.stringMatching(/^scheduler s7 /),
    });
    await keyed.close();
    await close();
  });

  test('goes to the new address of a party that has restarted, instead of reporting it as down', async () => {
    peer.script = (_message, { answer }) => answer(summary('moved'));
    const former = await ScriptedPeer.start();
    await former.close();
    const gone = `${former.endpoint}!*/0`;
    let hasMoved = false;
    const moved = order({
      to: () => ({ party: hasMoved ? peer.party : gone, title: 'scheduler s' }),
      refresh: async () => {
        hasMoved = true;
      },
    });
    const brief = withTimings({ absentTimeoutMs: 50 });
    expect((await brief.ask(moved)).value.id).toBe('moved');
    hasMoved = false;
    await expect(brief.ask({ ...moved, refresh: async () => {} })).rejects.toMatchObject({
      code: 'not-running',
    });
  });

  test('is retried while the peer is not ready, and reports that if it never is', async () => {
    peer.script = (_message, { answer, refuse }, times) => {
      if (times < 3) refuse('not-ready', 'has not joined its cluster yet');
      else answer(summary('joined'));
    };
    expect((await requests.ask(order())).value.id).toBe('joined');
    peer.script = (_message, { refuse }) => refuse('not-ready', 'has not joined its cluster yet');
    // On a busy machine the last copy may be unanswered.
    const message = `scheduler s at ${peer.endpoint}: has not joined its cluster yet`;
    await expect(impatient.ask(order())).rejects.toMatchObject({
      code: 'not-ready',
      message: expect.stringContaining(message),
    });
  });

  test('is retried soon if the peer is not ready, which a scheduler that has just started is not', async () => {
    const slow = new Requests({
      connection,
      alarms,
      turns: new Turns(),
      timings: completeTimings({ retryMs: 60_000, retryMaxMs: 60_000 }),
    });
    peer.script = (_message, { answer, refuse }, times) => {
      if (times < 3) refuse('not-ready', 'has not joined its cluster yet');
      else answer(summary('joined'));
    };
    expect((await slow.ask(order())).value.id).toBe('joined');
  });

  test('that is refused for overload is retried at the given time, and not before', async () => {
    peer.script = (_message, { answer, refuse }, times) => {
      if (times < 3) refuse('overloaded', 'full', 'try again in 1 s', 30);
      else answer(summary('taken'));
    };
    const startedAt = performance.now();
    expect((await patient.ask(order())).value.id).toBe('taken');
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(60);
    expect(peer.received).toHaveLength(3);
  });

  test('that is refused until its timeout reports the first refusal, and fails with the reason of the last', async () => {
    peer.script = (_message, { refuse }, times) => {
      if (times === 1) refuse('overloaded', 'full', 'try again in 1 s', 10);
      else refuse('overloaded', 'still full', 'try again in 60 s', 60_000);
    };
    const reported: string[] = [];
    const onRefused = ({ message }: Error) => void reported.push(message);
    await expect(patient.ask(order({ onRefused }))).rejects.toMatchObject({
      name: 'UnreachableError',
      code: 'overloaded',
      message: 'still full',
    });
    expect(reported).toEqual(['full']);
    expect(peer.received).toHaveLength(2);
  });

  test('that is refused for longer than its timeout fails at once', async () => {
    peer.script = (_message, { refuse }) => refuse('overloaded', 'full', 'try again in 60 s', 60_000);
    await expect(patient.ask(order())).rejects.toMatchObject({
      name: 'UnreachableError',
      code: 'overloaded',
      message: 'full',
      hint: 'try again in 60 s',
    });
  });

  test.each([
    ['unknown-job', InputError],
    ['unknown-task', InputError],
    ['spec-too-long', InputError],
    ['impossible-demand', InputError],
    ['draining', UnreachableError],
    ['something-new', GoshawkError],
  ])('that is refused as %s throws the error of the peer', async (code, type) => {
    peer.script = (_message, { refuse }) => refuse(code, 'no', 'do this');
    const error = await patient.ask(order()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject({ code, message: 'no', hint: 'do this' });
    expect(peer.received).toHaveLength(1);
  });

  test('ends with the reason of its signal, before or after it was sent', async () => {
    const abort = new AbortController();
    const asked = requests.ask(order({ signal: abort.signal }));
    await peer.waitFor('cancelJob');
    abort.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    await expect(requests.ask(order({ signal: abort.signal }))).rejects.toThrow('enough');
  });

  test('ends with its connection', async () => {
    const asked = requests.ask(order());
    await peer.waitFor('cancelJob');
    await Promise.all([expect(asked).rejects.toMatchObject({ code: 'closed' }), connection.close()]);
    await expect(requests.ask(order())).rejects.toMatchObject({ code: 'closed' });
  });

  test('that cannot be encoded is refused locally, with the path', async () => {
    const spec = { tasks: [{ module: '/m.js', input: { at: new Date(0) } }] };
    const build = (request: number) => ({ type: 'submit', request, key: 'k', spec }) as const;
    await expect(requests.ask({ ...order(), build })).rejects.toMatchObject({
      name: 'InputError',
      code: 'bad-job',
      message: 'job: tasks[0].input.at: expected a JSON-like value, got an object',
    });
    const long = (request: number) => ({ type: 'cancelJob', request, id: 'x'.repeat(300) }) as const;
    await expect(requests.ask(order({ build: long }))).rejects.toMatchObject({
      code: 'bad-request',
      message: 'id: 300 characters are more than 256',
    });
    const large = { tasks: [{ exec: ['cat'], stdin: 'x'.repeat(17 * 1024 * 1024) }] };
    const submit = (request: number) => ({ type: 'submit', request, key: 'k', spec: large }) as const;
    await expect(requests.ask({ ...order(), build: submit })).rejects.toMatchObject({
      code: 'job-too-large',
    });
  });
});
