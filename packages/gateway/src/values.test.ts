import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cluster } from '@goshawk/client';
import { InputError } from '@goshawk/core';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Access } from './access.js';
import { answerTo } from './errors.js';
import { Values } from './values.js';

const GROUP = '0123456789abcdef0123456789abcdef';
const OTHER = 'f'.repeat(32);

let root: string;
let folder: string;
let values: Values;
let app: FastifyInstance;
/** Jobs that the cluster knows. */
let jobs: Set<string>;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'goshawk-values-'));
  folder = join(root, 'values');
  jobs = new Set();
  const describeJob = (id: string) =>
    jobs.has(id)
      ? Promise.resolve({})
      : Promise.reject(new InputError('forgotten-job', `${id} is forgotten`));
  const cluster = { job: (id: string) => ({ describe: () => describeJob(id) }) } as unknown as Cluster;
  values = new Values(folder, async () => cluster);
  app = fastify();
  app.setErrorHandler((error, _, reply) => {
    const { status, body } = answerTo(error);
    return reply.status(status).send(body);
  });
  const access = new Access({
    isLoopback: true,
    tokens: [
      { role: 'submit', token: 'submitter' },
      { role: 'read', token: 'reader' },
    ],
    most: 'operate',
    hosts: [],
  });
  values.addRoutes(app, access);
});
afterEach(async () => {
  values.close();
  await app.close();
  rmSync(root, { recursive: true });
});

function nameOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

function send(url: string, payload: Buffer, token = 'submitter') {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' };
  return app.inject({ method: 'POST', url, payload, headers });
}

function get(url: string) {
  return app.inject({ method: 'GET', url, headers: { authorization: 'Bearer reader' } });
}

describe('a value', () => {
  const content = Buffer.from('0123456789'.repeat(10));
  const url = `/v1/values/${GROUP}/${nameOf(content)}`;

  it('is written in parts, and read from any place', async () => {
    expect((await send(`${url}?at=0&size=100`, content.subarray(0, 60))).json()).toMatchObject({
      complete: false,
    });
    expect((await get(url)).statusCode).toBe(404);
    expect((await send(`${url}?at=60&size=100`, content.subarray(60))).json()).toMatchObject({
      complete: true,
    });
    expect((await get(url)).rawPayload).toEqual(content);
    expect((await get(`${url}?at=95`)).body).toBe('56789');
  });

  it('must have the content that its name says', async () => {
    expect((await send(`${url}?at=0&size=5`, Buffer.from('wrong'))).json()).toMatchObject({
      code: 'bad-value',
    });
    expect(readdirSync(join(folder, GROUP))).toEqual([]);
  });

  it('needs the role submit, and a group and a name that are no paths', async () => {
    expect((await send(`${url}?at=0&size=100`, content, 'reader')).statusCode).toBe(403);
    expect(
      (await send(`/v1/values/${encodeURIComponent('../../etc')}/${nameOf(content)}`, content)).statusCode,
    ).toBe(400);
    expect((await send(`/v1/values/${GROUP}/${encodeURIComponent('../jobs')}`, content)).statusCode).toBe(
      400,
    );
  });
});

it('groups are deleted once the cluster knows none of their jobs, and unused ones after an hour', async () => {
  for (const group of [GROUP, OTHER]) mkdirSync(join(folder, group));
  writeFileSync(join(folder, GROUP, 'jobs'), 'a-1\na-2\n');
  jobs.add('a-2');
  await values.sweep();
  expect(readdirSync(folder).sort()).toEqual([GROUP, OTHER, 'identity'].sort());
  jobs.clear();
  utimesSync(join(folder, OTHER), 0, 0);
  await values.sweep();
  expect(readdirSync(folder)).toEqual(['identity']);
});

it('a gateway that starts again keeps the identity of the folder', () => {
  const before = readFileSync(join(folder, 'identity'), 'utf8');
  new Values(folder, () => Promise.reject(new Error('not needed'))).close();
  expect(readFileSync(join(folder, 'identity'), 'utf8')).toBe(before);
  expect(existsSync(join(folder, 'identity'))).toBe(true);
});
