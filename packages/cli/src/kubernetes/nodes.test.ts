import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cordonedNodes } from './nodes.js';

let folder = '';
let server: Server | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-nodes-'));
  writeFileSync(join(folder, 'token'), 'secret\n');
});

afterEach(() => {
  server?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function serve(listener: RequestListener) {
  server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    api: `http://127.0.0.1:${port}`,
    tokenFile: join(folder, 'token'),
    caFile: join(folder, 'ca.crt'),
  };
}

const never = new AbortController().signal;

describe('the nodes that are cordoned', () => {
  it('are asked for with the token of the pod', async () => {
    const asked: unknown[] = [];
    const options = await serve((request, response) => {
      asked.push([request.url, request.headers.authorization]);
      response.end(JSON.stringify({ items: [{ metadata: { name: 'n1' } }, { metadata: { name: 'n7' } }] }));
    });
    expect(await cordonedNodes(options, never)).toEqual(new Set(['n1', 'n7']));
    expect(asked).toEqual([
      ['/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue&resourceVersion=0', 'Bearer secret'],
    ]);
  });

  it('are not known to who may not list nodes, which is said', async () => {
    const options = await serve((_, response) => response.writeHead(403).end('{}'));
    await expect(cordonedNodes(options, never)).rejects.toMatchObject({
      message: expect.stringMatching(/answers 403/),
      hint: 'its service account has to be allowed to list nodes',
    });
  });

  it('are not made up from what is no answer', async () => {
    const options = await serve((_, response) => response.end('<html>'));
    await expect(cordonedNodes(options, never)).rejects.toThrow('other than a list of nodes');
  });

  it('are not known while nobody answers', async () => {
    const options = await serve(() => {});
    server!.close();
    await expect(cordonedNodes(options, never)).rejects.toThrow(/no answer from http:\/\/127\.0\.0\.1/);
  });

  it('are not asked for without a token', async () => {
    const options = await serve(() => {});
    const without = { ...options, tokenFile: join(folder, 'none') };
    await expect(cordonedNodes(without, never)).rejects.toThrow(/cannot read .*none/);
  });
});
