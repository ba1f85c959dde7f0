import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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

const ROOT = join(import.meta.dirname, '../../..');

/** Returns the public methods of a class in the Python client. */
function pythonMethods(name: string): string[] {
  const text = readFileSync(join(ROOT, 'packages/python/goshawk/client.py'), 'utf8');
  const body = text.split(/^(?=class )/m).find((part) => part.startsWith(`class ${name}`));
  return [...body!.matchAll(/^ {4}def ([a-z]\w*)\(/gm)].map(([, method]) => method!);
}

/** Returns the routes in a table of the documents: `GET /v1/jobs/{id}/logs?task=3` · `/results` · `/why`. */
function documentedRoutes(): Set<string> {
  const folder = join(ROOT, 'docs');
  const found = new Set<string>();
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.md')))
    for (const [row] of readFileSync(join(folder, file), 'utf8').matchAll(/^\| `(GET|POST) \/v1.*$/gm)) {
      let method = '';
      let before = '';
      for (const [, verb = method, path] of row.split('|')[1]!.matchAll(/`(?:(GET|POST) )?(\/[^`?]*)/g)) {
        method = verb;
        const url = path!.startsWith('/v1') ? path! : before.replace(/\/[^/]*$/, path!);
        found.add(`${method} ${url}`);
        before = url;
      }
    }
  return found;
}

it.each(ROUTES.map((route) => [`${route.method} ${route.url}`, route] as const))(
  '%s is in the documents, and its Python method exists',
  (name, { python }) => {
    expect([...documentedRoutes()]).toContain(name);
    const [of, method] = python?.split('.') ?? [];
    if (of !== undefined) expect(pythonMethods(of)).toContain(method);
  },
);

it('the page asks only for routes', () => {
  const folder = join(ROOT, 'packages/gateway/page/src');
  const paths = readdirSync(folder)
    .filter((file) => /(?<!\.test|\.fixture)\.tsx?$/.test(file))
    .flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(/['`](\/v1\/[^'`?]*)/g)].map(([, path]) => path!),
    );
  expect(paths.length).toBeGreaterThan(15);
  // A part such as ${id} stands for any part of a path.
  const isRoute = (path: string) => {
    const parts = path.replaceAll(/\$\{[^}]*\}/g, '*').split('/');
    return ROUTES.some(({ url }) => {
      const wanted = url.split('/');
      return (
        wanted.length === parts.length &&
        wanted.every((part, at) => part === parts[at] || parts[at]!.includes('*') || part.startsWith('{'))
      );
    });
  };
  expect(paths.filter((path) => !isRoute(path))).toEqual(['/v1/openapi.json']);
});
