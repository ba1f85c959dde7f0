import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, it } from 'vitest';
import { openApi } from './openapi.js';
import { ROUTES } from './routes.js';

it('is a valid OpenAPI 3.1 document, with a path for each line of the table', async () => {
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

it('what changes something needs more than the role that looks', () => {
  expect(ROUTES.filter(({ method, role }) => method !== 'GET' && role === 'read')).toEqual([]);
});
