import { setImmediate as nextLoop } from 'node:timers/promises';
import { InputError, type TaskResult } from '@goshawk/core';
import { expect, it } from 'vitest';
import { gatewayTo } from './gateway.fixture.js';
import { LIMITS } from './limits.js';
import { type TakeTurn, Turns } from './turns.js';

const TOKENS = ['reader-reader-one', 'reader-reader-two'].map(
  (token) => ({ role: 'operate', token }) as const,
);
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
  const turns = new Turns(2, LIMITS.readsPerTokenMax);
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
  const turns = new Turns(1, LIMITS.readsPerTokenMax);
  let begun = 0;
  for (let i = 0; i < MANY; i++)
    void turns.take('0', new AbortController().signal, async () => {
      begun++;
    });
  expect(begun).toBe(MANY);
});

it('serves others once before the next work of a token begins, however short', async () => {
  const turns = new Turns(2, 1);
  const begun: string[] = [];
  const take = (token: string) =>
    turns.take(token, undefined, async () => {
      begun.push(token);
    });
  const all = ['0', '0', '0'].map(take);
  await Promise.all([take('1'), all[0]]);
  expect(begun).toEqual(['0', '1']);
  await nextLoop();
  expect(begun).toEqual(['0', '1', '0']);
  await Promise.all(all);
  expect(begun).toEqual(['0', '1', '0', '0']);
});

/** Sends a request with a body, or else reads a stream, with a token. */
function ask(url: string, token: number, body?: object): Promise<Response> {
  const authorization = `Bearer ${TOKENS[token]!.token}`;
  if (body === undefined) return fetch(url, { headers: { authorization, accept: 'application/x-ndjson' } });
  const headers = { authorization, 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
}

it('lets result streams of a token wait for its own while they read, and not for those of another', async () => {
  const reading: (() => void)[] = [];
  const job = (id: string) => ({
    describe: async () => ({ state: 'completed', tasks: {} }),
    async *eachResult({ readPage }: { readPage: TakeTurn }): AsyncGenerator<Partial<TaskResult>> {
      await readPage(() => new Promise<void>((resolve) => reading.push(resolve)));
      yield { index: Number(id.slice(2)) };
    },
  });
  const url = await gatewayTo({ job }, { tokens: TOKENS });
  const streams = Array.from({ length: MANY }, (_, at) => ask(`${url}/v1/jobs/a-${at}/results`, 0));
  await expect.poll(() => reading.length).toBe(1);
  const other = ask(`${url}/v1/jobs/b-7/results`, 1);
  await expect.poll(() => reading.length).toBe(2);
  reading.at(-1)!();
  expect(await (await other).json()).toEqual({ index: 7 });
  expect(reading).toHaveLength(2);
  const finishing = setInterval(() => reading.forEach((finish) => void finish()), 1);
  const found = await Promise.all(streams.map(async (each) => (await each).json()));
  clearInterval(finishing);
  expect(found).toEqual(Array.from({ length: MANY }, (_, index) => ({ index })));
});

it('lets changes of many jobs wait for those of the same token, whose reads go on', async () => {
  const asked: (() => void)[] = [];
  const jobs = ({ signal }: { signal: AbortSignal; all?: boolean }) =>
    new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
      asked.push(() => resolve({ jobs: [], total: 0, truncated: false, silent: [] }));
    });
  const isAsked = ({ all }: { all?: boolean }) => all === true;
  const url = await gatewayTo(
    { jobs: (of: Parameters<typeof jobs>[0]) => (isAsked(of) ? jobs(of) : Promise.reject(of)) },
    { tokens: TOKENS },
  );
  const bulk = (token: number) => ask(`${url}/v1/jobs/bulk`, token, { action: 'cancel', q: 'user:ann' });
  const many = Array.from({ length: MANY }, () => bulk(0));
  await expect.poll(() => asked.length).toBe(LIMITS.readsPerTokenMax);
  // Its reads would wait if they had the same line.
  const reads = Array.from({ length: MANY }, () => ask(`${url}/v1/session`, 0));
  expect((await Promise.all(reads)).every(({ ok }) => ok)).toBe(true);
  const other = bulk(1);
  await expect.poll(() => asked.length).toBe(LIMITS.readsPerTokenMax + 1);
  const finishing = setInterval(() => asked.forEach((finish) => void finish()), 1);
  expect((await other).status).toBe(200);
  expect(new Set((await Promise.all(many)).map(({ status }) => status))).toEqual(new Set([200]));
  clearInterval(finishing);
});

it('simulates the next prediction of another token next', async () => {
  const begun: string[] = [];
  const finish: (() => void)[] = [];
  const answer = {
    schema: 'goshawk.job-whatif/1' as const,
    job: 'a-1',
    now: { startSeconds: 1, endSeconds: 2 },
  };
  const url = await gatewayTo(
    {},
    {
      tokens: TOKENS,
      predict: (_, job) => {
        begun.push(job);
        return new Promise((resolve) =>
          finish.push(() => resolve({ ...answer, changes: [], assumptions: [] })),
        );
      },
    },
  );
  const predict = (job: string, token: number) => ask(`${url}/v1/jobs/${job}/whatif`, token);
  const many = Array.from({ length: 2 * LIMITS.predictionsWaitingMax }, () => predict('a-1', 0));
  await expect.poll(() => begun).toEqual(['a-1']);
  const other = predict('b-1', 1);
  // It waits in the line of the simulator once its request has arrived.
  expect((await ask(`${url}/v1/session`, 1)).status).toBe(200);
  finish[0]!();
  await expect.poll(() => begun.slice(0, 2)).toEqual(['a-1', 'b-1']);
  const finishing = setInterval(() => finish.forEach((end) => void end()), 1);
  const statuses = (await Promise.all([...many, other])).map(({ status }) => status);
  clearInterval(finishing);
  expect(new Set(statuses)).toEqual(new Set([200]));
});
