import { syncBuiltinESMExports } from 'node:module';
import v8 from 'node:v8';
import { gzipSync } from 'node:zlib';
import { HttpTimes } from '@goshawk/transport';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { gatewayTo } from './gateway.fixture.js';

beforeEach(() => {
  // Bodies may take 2 MB together.
  vi.spyOn(v8, 'getHeapStatistics').mockReturnValue({
    ...v8.getHeapStatistics(),
    heap_size_limit: 8_000_000,
  });
  syncBuiltinESMExports();
});
afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

/** Fails when the requester disconnects, as the client does. */
function whenGone(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}

it('requests are measured by the template of their path and the class of their status', async () => {
  const times = new HttpTimes();
  const url = await gatewayTo({}, { times });
  for (const path of ['/livez', '/v1/jobs/a-1', '/v1/jobs/a-2', '/v1/nothing', '/nothing'])
    await (await fetch(`${url}${path}`)).text();
  const rows = () => Array.from(times.all(), ({ route, status, ms }) => [route, status, ms.count]);
  await expect.poll(rows).toEqual([
    ['GET /livez', '2xx', 1],
    ['GET /v1/jobs/{id}', '5xx', 2],
    ['(other)', '4xx', 2],
  ]);
});

it('a body no longer counts once its client has disconnected before the answer', async () => {
  let arrived = (): void => {};
  const url = await gatewayTo({
    submit: ({ name }: { name: string }, { signal }: { signal: AbortSignal }) => {
      arrived();
      return name === 'last' ? { id: 'a-1', acceptedState: 'waiting' } : whenGone(signal);
    },
  });
  const post = (name: string, signal?: AbortSignal) =>
    fetch(`${url}/v1/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name, text: 'x'.repeat(1_200_000) }),
      signal: signal ?? null,
    });
  const leaving = new AbortController();
  const asked = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const left = post('first', leaving.signal);
  await asked;
  leaving.abort();
  await expect(left).rejects.toThrow('aborted');
  await expect.poll(async () => (await post('last')).status).toBe(200);
});

it('an invalid path gets an error in the common format', async () => {
  const answer = await fetch(`${await gatewayTo({})}/v1/jobs/%ff`);
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ schema: 'goshawk.error/1', code: 'bad-request' });
});

it.each([
  [
    '{"tasks": [{"module": "/m.mjs", "input": {"id": 9007199254740993}}]}',
    'body: tasks[0].input.id: 9007199254740993 would become 9007199254740992, because JavaScript numbers have 53 bits',
  ],
  ['{"tasks": ', expect.stringMatching(/^body: not JSON: Unexpected end/)],
  ['{"tasks": [{"sleep": 1}], "estimate": 1e999}', 'body: estimate: 1e999 is too large for a number'],
  ['{"tasks": [{"sleep": 1}], "name": "a", "name": "b"}', 'body: name: the field appears twice'],
])('the body %s, whose value would differ, is refused', async (body, message) => {
  const answer = await fetch(`${await gatewayTo({})}/v1/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ code: 'bad-request', message });
});

it('a compressed body is refused with its encoding as the reason', async () => {
  const answer = await fetch(`${await gatewayTo({})}/v1/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    body: gzipSync('{"tasks":[{"sleep":1}]}'),
  });
  expect(answer.status).toBe(415);
  expect(await answer.json()).toMatchObject({
    code: 'encoding-unsupported',
    message: 'the body is encoded as gzip',
  });
});

it('streams cause no warnings of the process', async () => {
  const job = {
    describe: async () => ({ state: 'completed', tasks: {} }),
    async *eachResult() {
      for (let index = 0; index < 5_000; index++) yield { index, value: 'x'.repeat(100) };
    },
  };
  const url = await gatewayTo({ job: () => job });
  const warned = vi.fn();
  process.on('warning', warned);
  const answer = await fetch(`${url}/v1/jobs/a-1/results`, { headers: { accept: 'application/x-ndjson' } });
  expect((await answer.text()).length).toBeGreaterThan(500_000);
  process.off('warning', warned);
  expect(warned).not.toHaveBeenCalled();
});
