import { expect, it } from 'vitest';
import { ApiError } from './api.js';
import { Loader } from './use-answer.js';

/** A loader whose requests end when the test says so. */
function loader() {
  const shown: string[] = [];
  const requests: {
    path: string;
    signal: AbortSignal;
    end: (data: string) => void;
    fail: (error: Error) => void;
  }[] = [];
  const made = new Loader<string>(
    (path, { data, error }) => shown.push(`${path} ${data ?? error?.message}`),
    (path, signal) => new Promise((end, fail) => requests.push({ path, signal, end, fail })),
  );
  const settle = () => new Promise<void>((resolve) => setTimeout(resolve));
  return { made, shown, requests, settle };
}

it('answers arrive in order, because one request is in flight at a time', async () => {
  const { made, shown, requests, settle } = loader();
  made.ask('/a');
  made.ask('/a');
  made.ask('/a');
  expect(requests).toHaveLength(1);
  requests[0]!.end('1');
  await settle();
  expect(requests).toHaveLength(2);
  requests[1]!.end('2');
  await settle();
  expect(requests).toHaveLength(2);
  expect(shown).toEqual(['/a 1', '/a 2']);
});

it('a late answer to an earlier question is not shown', async () => {
  const { made, shown, requests, settle } = loader();
  made.ask('/a');
  made.ask('/b');
  expect(requests.map(({ path, signal }) => [path, signal.aborted])).toEqual([
    ['/a', true],
    ['/b', false],
  ]);
  requests[1]!.end('b');
  requests[0]!.end('a');
  await settle();
  expect(shown).toEqual(['/b b']);
});

it('shows an error of the API, and asks again', async () => {
  const { made, shown, requests, settle } = loader();
  made.ask('/a');
  requests[0]!.fail(new ApiError(503, 'no answer', ''));
  await settle();
  made.ask('/a');
  requests[1]!.end('back');
  await settle();
  expect(shown).toEqual(['/a no answer', '/a back']);
});

it('shows nothing after it was stopped', async () => {
  const { made, shown, requests, settle } = loader();
  made.ask('/a');
  made.stop();
  requests[0]!.end('late');
  await settle();
  expect(shown).toEqual([]);
});
