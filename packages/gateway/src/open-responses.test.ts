import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { gatewayTo } from './gateway.fixture.js';
import { LIMITS } from './limits.js';
import { OpenResponses } from './open-responses.js';

it('limits one token to its share, and does not affect others', () => {
  const responses = new OpenResponses(2);
  const released = Array.from({ length: LIMITS.openPerTokenMax }, () => responses.hold('a'));
  expect(() => responses.hold('a')).toThrow('this token has');
  expect(() => responses.hold('b')).not.toThrow();
  released[0]!();
  released[0]!();
  responses.hold('a');
  expect(() => responses.hold('a')).toThrow('this token has');
});

it('lets a single token use the whole limit', () => {
  const responses = new OpenResponses(1);
  for (let i = 0; i < LIMITS.openMax; i++) responses.hold('a');
  expect(() => responses.hold('a')).toThrow('this token has 256');
});

it('counts long polls together with streams, and frees their places when the client disconnects', async () => {
  const tokens = ['submitter-submitter-1', 'operator-operator-1'].map(
    (token) => ({ role: 'operate', token }) as const,
  );
  let waiting = 0;
  const whenGone = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  const url = await gatewayTo(
    {
      job: () => ({
        wait: ({ signal }: { signal: AbortSignal }) => {
          waiting++;
          return whenGone(signal);
        },
      }),
    },
    { tokens },
  );
  const poll = (token: number, signal: AbortSignal | null = null) =>
    fetch(`${url}/v1/jobs/a-1?wait=60`, {
      headers: { authorization: `Bearer ${tokens[token]!.token}` },
      signal,
    });
  const leaving = new AbortController();
  const polls = Array.from({ length: LIMITS.openPerTokenMax }, () => poll(0, leaving.signal));
  for (const each of polls) each.catch(() => {});
  await expect.poll(() => waiting).toBe(LIMITS.openPerTokenMax);
  const refused = await poll(0);
  expect([refused.status, await refused.json()]).toMatchObject([429, { code: 'too-many-streams' }]);
  const other = new AbortController();
  const responses = poll(1, other.signal).catch(() => {});
  await expect.poll(() => waiting).toBe(LIMITS.openPerTokenMax + 1);
  leaving.abort();
  other.abort();
  await responses;
  const again = new AbortController();
  await expect
    .poll(async () => {
      const before = waiting;
      const next = poll(0, again.signal).then(
        ({ status }) => status,
        () => undefined,
      );
      return Promise.race([
        next,
        expect
          .poll(() => waiting)
          .toBe(before + 1)
          .then(() => 'waits'),
      ]);
    })
    .toBe('waits');
  again.abort();
});

it('answers health probes while more silent connections than it keeps are open', async () => {
  const url = await gatewayTo({});
  const silent = Array.from({ length: 2 * LIMITS.connections.quietMax }, () =>
    connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {}),
  );
  await Promise.all(silent.map((socket) => once(socket, 'connect')));
  const open = silent.map(() => true);
  silent.forEach((socket, index) => {
    socket.once('close', () => {
      open[index] = false;
    });
  });
  await expect
    .poll(async () => {
      const { status } = await fetch(`${url}/livez`);
      return status === 200 && open.filter(Boolean).length <= LIMITS.connections.quietMax;
    })
    .toBe(true);
  for (const socket of silent) socket.destroy();
});
