import { InputError } from '@goshawk/core';
import { expect, it } from 'vitest';
import { gatewayTo } from './gateway.fixture.js';
import { LIMITS } from './limits.js';
import { Turns } from './turns.js';

const TOKENS = ['reader-reader-one', 'reader-reader-two'].map((token) => ({ role: 'read', token }) as const);
const MANY = 5 * LIMITS.readsPerTokenMax;

/** A gateway to a cluster that answers a question about a job when the test says so. */
async function gatewayToSlow() {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const describe = (id: string): Promise<never> =>
    new Promise((_, reject) => {
      asked.push(id);
      answers.push(() => reject(new InputError('unknown-job', `there is no job ${id}`)));
    });
  const url = await gatewayTo(
    { job: (id: string) => ({ describe: () => describe(id) }) },
    { tokens: TOKENS },
  );
  const get = async (path: string, token: number): Promise<number> => {
    const headers = { authorization: `Bearer ${TOKENS[token]!.token}` };
    return (await fetch(`${url}${path}`, { headers })).status;
  };
  const answerAll = (): void => {
    for (const answer of answers.splice(0)) answer();
  };
  return { asked, answerAll, get };
}

it('lets reads of a token wait for its own, and not for those of another', async () => {
  const { asked, answerAll, get } = await gatewayToSlow();
  const many = Array.from({ length: MANY }, (_, at) => get(`/v1/jobs/a-${at}`, 0));
  await expect.poll(() => asked.length).toBe(LIMITS.readsPerTokenMax);
  expect(await get('/v1/session', 1)).toBe(200);
  const other = get('/v1/jobs/b-1', 1);
  await expect.poll(() => asked).toContain('b-1');
  // All others of the first token wait.
  expect(asked).toHaveLength(LIMITS.readsPerTokenMax + 1);
  answerAll();
  expect(await other).toBe(404);
  await expect.poll(() => asked.length).toBe(2 * LIMITS.readsPerTokenMax + 1);
  const answering = setInterval(answerAll, 1);
  expect(new Set(await Promise.all(many))).toEqual(new Set([404]));
  clearInterval(answering);
  expect(asked).toHaveLength(MANY + 1);
});

it('never begins waiting reads of clients that have disconnected', async () => {
  const turns = new Turns(2);
  const begun: string[] = [];
  const stay = new AbortController().signal;
  let answer = (): void => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const take = (name: string, signal = stay) =>
    turns.take('0', signal, () => {
      begun.push(name);
      return answered;
    });
  const first = Array.from({ length: LIMITS.readsPerTokenMax }, () => take('first'));
  const leaving = new AbortController();
  const gone = take('gone', leaving.signal);
  const last = take('last');
  leaving.abort(new Error('left'));
  await expect(gone).rejects.toThrow('left');
  await expect(take('late', leaving.signal)).rejects.toThrow('left');
  answer();
  await Promise.all([...first, last]);
  expect(begun).toEqual([...first.map(() => 'first'), 'last']);
});

it('begins all reads of a single token at once', () => {
  const turns = new Turns(1);
  let begun = 0;
  for (let i = 0; i < MANY; i++)
    void turns.take('0', new AbortController().signal, async () => {
      begun++;
    });
  expect(begun).toBe(MANY);
});
