import { UnreachableError } from '@goshawk/core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, it } from 'vitest';
import { gatewayTo } from './gateway.fixture.js';
import { openApi } from './openapi.js';
import { ROUTES } from './routes.js';

it('is a valid OpenAPI 3.1 document, with a path for each route', async () => {
  const document = openApi(ROUTES, '0.1.0');
  const result = await new Validator().validate(
    JSON.parse(JSON.stringify(document)) as Record<string, unknown>,
  );
  expect(result.errors ?? []).toEqual([]);
  expect(result.valid).toBe(true);
  expect(document.openapi).toBe('3.1.0');
  const paths = document.paths as Record<string, Record<string, { operationId: string }>>;
  for (const { method, url } of ROUTES) expect(paths[url]?.[method.toLowerCase()]).toBeDefined();
  const ids = Object.values(paths).flatMap((path) =>
    Object.values(path).map(({ operationId }) => operationId),
  );
  expect(new Set(ids).size).toBe(ROUTES.length);
});

it('lists the statuses of bodies, and which bodies are optional', () => {
  const paths = openApi(ROUTES, '0.1.0').paths as Record<
    string,
    Record<string, { requestBody?: { required: boolean }; responses: object }>
  >;
  for (const { post, get } of Object.values(paths)) {
    if (get !== undefined)
      expect(Object.keys(get.responses)).toEqual(expect.arrayContaining(['400', '421', '429', '500']));
    if (post !== undefined)
      expect(Object.keys(post.responses)).toEqual(expect.arrayContaining(['413', '415']));
  }
  const needed = Object.entries(paths).filter(([, { post }]) => post?.requestBody?.required);
  expect(needed.map(([path]) => path)).toEqual([
    '/v1/jobs',
    '/v1/jobs/bulk',
    '/v1/plan',
    '/v1/jobs/{id}/update',
  ]);
});

it('optional bodies of the document are not required', async () => {
  const url = await gatewayTo({}, { connect: () => Promise.reject(new UnreachableError('away', 'away')) });
  const paths = openApi(ROUTES, '0.1.0').paths as Record<
    string,
    { post?: { requestBody?: { required: boolean } } }
  >;
  const optional = Object.entries(paths).filter(([, { post }]) => post?.requestBody?.required === false);
  expect(optional.length).toBeGreaterThan(5);
  for (const [path] of optional) {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${url}${path.replaceAll(/\{\w+\}/g, 'abc-1')}`, { method: 'POST', headers });
    // The request is valid and is passed to the cluster, which is unreachable.
    expect([path, answer.status]).toEqual([path, 503]);
  }
});

it('requests that change something require more than the viewer role', () => {
  expect(ROUTES.filter(({ method, role }) => method !== 'GET' && role === 'read')).toEqual([]);
});
