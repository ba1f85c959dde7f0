import { z } from 'zod';
import type { Route } from './route.js';
import { error } from './schemas.js';

/** Error statuses of all routes. */
const COMMON: Readonly<Record<number, string>> = {
  400: 'the request is invalid',
  401: 'a token is needed',
  403: 'your token does not allow this, or the request comes from another site',
  429: 'this token has too many requests, streams or waiting requests in progress',
  421: 'the Host header names another server; --allow-host permits it',
  500: 'internal error of the gateway',
  503: 'the cluster, or the part of it that is needed, does not answer, or is overloaded; nothing was changed',
  504: 'there is no answer, or the change is not written yet: it may take effect',
};

/** Error statuses of requests with a body. */
const BODY_ERRORS: Readonly<Record<number, string>> = {
  413: 'the body is too large',
  415: 'the request lacks content-type: application/json',
};

/** Generates the OpenAPI 3.1 document of a table of routes. */
export function openApi(routes: readonly Route[], version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const each of routes) {
    paths[each.url] ??= {};
    paths[each.url]![each.method.toLowerCase()] = operation(each);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Goshawk',
      version,
      description: 'HTTP API of a Goshawk cluster. Errors have the schema `goshawk.error/1`.',
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }, {}],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: schemaOf(error, 'output') },
    },
  };
}

const STREAMED = {
  'text/event-stream': { schema: { type: 'string' } },
  'application/x-ndjson': { schema: { type: 'string' } },
};

/** An answer that is a text file. */
const FILE = {
  description: 'The file',
  content: { 'text/plain': { schema: { type: 'string' } } },
};

function operation({ method, url, role, does, path, query, body, bodySchema, ...route }: Route) {
  const { answer, stream, errors = {} } = route;
  const asked = parameters(query, 'query');
  return {
    operationId: nameOf(method, url),
    summary: does,
    description: `Needs the role ${role}.`,
    parameters: [...parameters(path, 'path'), ...asked],
    ...(body === undefined ? {} : { requestBody: requestBody(bodySchema?.(), body) }),
    responses: {
      200:
        answer === 'events'
          ? {
              description: 'Server-sent events, each with JSON as its data',
              content: { 'text/event-stream': { schema: { type: 'string' } } },
            }
          : answer === 'file'
            ? FILE
            : {
                description: 'Done',
                content: {
                  ...contentOf(schemaOf(answer, 'output')).content,
                  ...(stream === undefined ? {} : STREAMED),
                },
              },
      ...(answer === 'file' ? { 206: { ...FILE, description: 'The range of the file' } } : {}),
      ...(answer === 'events' ? { 204: { description: 'End of the stream: do not reconnect' } } : {}),
      ...Object.fromEntries(
        Object.entries({
          ...COMMON,
          ...(body === undefined ? {} : BODY_ERRORS),
          ...errors,
        }).map(([status, description]) => [
          status,
          { description, ...contentOf({ $ref: '#/components/schemas/Error' }) },
        ]),
      ),
    },
  };
}

/**
 * Returns the operation id: `getJobsLogs` for `GET /v1/jobs/{id}/logs`, and `postJobsCancelMany` for the bulk
 * action `POST /v1/jobs/cancel`.
 */
function nameOf(method: string, url: string): string {
  const words = url.split('/').filter((part) => part !== '' && part !== 'v1');
  const isOne = words.at(-1)?.startsWith('{');
  const isMany = method === 'POST' && words.length > 1 && !words.some((word) => word.startsWith('{'));
  const named = words
    .filter((part) => !part.startsWith('{'))
    .map((part) => part[0]!.toUpperCase() + part.slice(1));
  return `${method.toLowerCase()}${named.join('')}${isOne ? 'One' : isMany ? 'Many' : ''}`;
}

function parameters(shape: z.ZodType | undefined, place: 'path' | 'query') {
  if (shape === undefined) return [];
  const { properties = {}, required = [] } = schemaOf(shape, 'input') as {
    properties?: Record<string, unknown>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: schema as object,
  }));
}

/**
 * Describes a request body. A body is optional if no field is required; a job, which has a separate schema,
 * is required.
 */
function requestBody(own: Record<string, unknown> | undefined, body: z.ZodType) {
  const schema = own ?? schemaOf(body, 'input');
  const { required = [] } = schema as { required?: string[] };
  return { required: own !== undefined || required.length > 0, ...contentOf(schema) };
}

function contentOf(schema: unknown) {
  return { content: { 'application/json': { schema } } };
}

function schemaOf(shape: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io, unrepresentable: 'any' });
  return schema;
}
