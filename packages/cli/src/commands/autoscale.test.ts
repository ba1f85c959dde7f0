import type { RequestListener } from 'node:http';
import { expect, it, test } from 'vitest';
import { StatefulSetPool } from '../autoscale/stateful-set.js';
import { kubernetesApi } from '../kubernetes/api.fixture.js';
import { runHere } from '../terminal.fixture.js';

const kubernetes = kubernetesApi();
const CLUSTER = ['--cluster', 'tcp://127.0.0.1:1'];

it.each([
  [['slurm'], /^goshawk: autoscale: --max is missing; set --max WORKERS\n$/],
  [['slurm', '--max', '2', '--min', '3'], /^goshawk: autoscale: --min 3 is more than --max 2\n$/],
  [['slurm', '--max', '2', '--pool', 'a b'], /^goshawk: autoscale: --pool: "a b" is not a valid name; use/],
  [
    ['slurm', '--max', '2'],
    /^goshawk: squeue is not installed on this machine; run this on a machine with the Slurm commands/,
  ],
  [['kubernetes', '--max', '2'], /^goshawk: autoscale: not running in a Kubernetes pod; pass --api/],
])('%j ends with one line', async (words, line) => {
  const cwd = kubernetes.folder;
  const environment = { XDG_STATE_HOME: cwd, PATH: '/nowhere' };
  const { exitCode, stderr } = await runHere(['autoscale', ...words, ...CLUSTER], { cwd, environment });
  expect([exitCode, stderr]).toEqual([2, expect.stringMatching(line)]);
});

async function pool(listener: RequestListener): Promise<StatefulSetPool> {
  return new StatefulSetPool('pool', 'here', await kubernetes.serve(listener));
}

const { signal } = new AbortController();

test('replicas are changed only from the version that was read', async () => {
  const asked: unknown[] = [];
  let replicas = 2;
  const { start, end, members } = bound(
    await pool((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        asked.push([request.method, request.url, body]);
        if (body !== '') replicas = JSON.parse(body).spec.replicas;
        response.end(
          JSON.stringify({ metadata: { resourceVersion: `v${asked.length}` }, spec: { replicas } }),
        );
      });
    }),
  );
  const path = '/apis/apps/v1/namespaces/here/statefulsets/pool/scale';
  expect((await members()).map(({ name }) => name)).toEqual(['pool-0', 'pool-1']);
  expect((await start(3)).map(({ name }) => name)).toEqual(['pool-2', 'pool-3', 'pool-4']);
  const all = await members();
  await end(all.slice(1));
  expect(asked).toEqual([
    ['GET', path, ''],
    ['PATCH', path, '{"metadata":{"resourceVersion":"v1"},"spec":{"replicas":5}}'],
    ['GET', path, ''],
    ['PATCH', path, '{"metadata":{"resourceVersion":"v3"},"spec":{"replicas":1}}'],
  ]);
});

test('an API server below a path, as of Rancher, is asked there', async () => {
  const asked: unknown[] = [];
  const options = await kubernetes.serve(({ url }, response) => {
    asked.push(url);
    response.end(JSON.stringify({ metadata: { resourceVersion: 'v1' }, spec: { replicas: 0 } }));
  });
  for (const below of ['/k8s/clusters/c-1', '/k8s/clusters/c-1/'])
    await bound(new StatefulSetPool('pool', 'here', { ...options, api: `${options.api}${below}` })).members();
  expect(new Set(asked)).toEqual(
    new Set(['/k8s/clusters/c-1/apis/apps/v1/namespaces/here/statefulsets/pool/scale']),
  );
});

it.each([
  [
    404,
    'there is no StatefulSet pool in the namespace here',
    'apply k8s/pools/elastic, or name another with --pool',
  ],
  [403, 'returned 403 to a request to read', 'allow its service account to get and patch'],
])('status %d of the API server is explained', async (status, message, hint) => {
  const { members } = bound(await pool((_, response) => response.writeHead(status).end('{}')));
  await expect(members()).rejects.toMatchObject({
    message: expect.stringContaining(message),
    hint: expect.stringContaining(hint),
  });
});

function bound(of: StatefulSetPool) {
  return {
    members: () => of.members(signal),
    start: (count: number) => of.start(count, signal),
    end: (members: Awaited<ReturnType<StatefulSetPool['members']>>) => of.end(members, signal),
  };
}
