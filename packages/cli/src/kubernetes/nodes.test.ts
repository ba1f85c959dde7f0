import { describe, expect, it } from 'vitest';
import { kubernetesApi } from './api.fixture.js';
import { cordonedNodes } from './nodes.js';

const kubernetes = kubernetesApi();
const never = new AbortController().signal;

describe('the request for cordoned nodes', () => {
  it('uses the token of the pod', async () => {
    const asked: unknown[] = [];
    const options = await kubernetes.serve((request, response) => {
      asked.push([request.url, request.headers.authorization]);
      response.end(JSON.stringify({ items: [{ metadata: { name: 'n1' } }, { metadata: { name: 'n7' } }] }));
    });
    expect(await cordonedNodes(options, never)).toEqual(new Set(['n1', 'n7']));
    expect(asked).toEqual([
      ['/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue&resourceVersion=0', 'Bearer secret'],
    ]);
  });

  it('reports missing permission to list nodes', async () => {
    const options = await kubernetes.serve((_, response) => response.writeHead(403).end('{}'));
    await expect(cordonedNodes(options, never)).rejects.toMatchObject({
      message: expect.stringMatching(/returned 403/),
      hint: 'allow its service account to list nodes',
    });
  });

  it('rejects an invalid response', async () => {
    const options = await kubernetes.serve((_, response) => response.end('<html>'));
    await expect(cordonedNodes(options, never)).rejects.toThrow('other than a list of nodes');
  });

  it('fails while the server does not respond', async () => {
    const options = await kubernetes.serve(() => {});
    kubernetes.close();
    await expect(cordonedNodes(options, never)).rejects.toThrow(/no answer from http:\/\/127\.0\.0\.1/);
  });

  it('is not sent without a token', async () => {
    const options = await kubernetes.serve(() => {});
    const without = { ...options, tokenFile: '/nowhere/token' };
    await expect(cordonedNodes(without, never)).rejects.toThrow('cannot read /nowhere/token');
  });
});
