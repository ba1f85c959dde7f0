import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Cluster } from '@goshawk/client';
import {
  cannotListen,
  describeIssue,
  httpUrl,
  InputError,
  isLoopbackHost,
  jsonLoss,
  parseBind,
  parseWith,
  quoted,
} from '@goshawk/core';
import { HttpConnections, HttpTimes, NO_ROUTE } from '@goshawk/transport';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { z } from 'zod';
import { Access, checkRole, type Role, type Token } from './access.js';
import { Bodies } from './bodies.js';
import { answerTo, Refused } from './errors.js';
import { type FileAnswer, sendFile } from './file-answer.js';
import { LIMITS } from './limits.js';
import { Link } from './link.js';
import { OpenResponses } from './open-responses.js';
import { openApi } from './openapi.js';
import { addFile, addPage } from './page-files.js';
import type { HandlerContext, LineName, Route, StreamEvent, ValidRequest } from './route.js';
import { ROUTES } from './routes.js';
import { serializeRequests } from './serialize-requests.js';
import { type StreamFormat, stream } from './stream.js';
import { type TakeTurn, Turns } from './turns.js';
import { Values } from './values.js';
import { ClusterWatch } from './watch.js';
import { type Predict, Predictions } from './what-if.js';

export interface GatewayOptions {
  /** Listen address, `HOST:PORT`; port 0 for any. */
  readonly bind: string;
  /** Accepted tokens. If empty, every connection has access, and only this machine can connect. */
  readonly tokens: readonly Token[];
  /** Upper bound on the role of any token. Default: `operate` on loopback, `read` otherwise. */
  readonly most?: Role | undefined;
  /** Accepted host names. */
  readonly hosts?: readonly string[] | undefined;
  /** Location of the cluster, for display. */
  readonly where: string;
  readonly version: string;
  /**
   * Connects to the cluster.
   *
   * @throws UnreachableError, after which the gateway calls it again later; the reason of the signal if the
   * gateway is closed meanwhile
   */
  connect(signal: AbortSignal): Promise<Cluster>;
  /** Folder for large values of Python calls; undefined: there are none. */
  readonly values?: string | undefined;
  /** Predicts the start of jobs under changes; undefined: not available. */
  readonly predict?: Predict | undefined;
  /** Measures the requests. */
  readonly times?: HttpTimes | undefined;
  /** Called with each internal error of the gateway. */
  readonly failed?: ((error: unknown) => void) | undefined;
}

export interface Gateway {
  /** Address of the gateway, `http://HOST:PORT`. */
  readonly url: string;
  close(): Promise<void>;
}

// `getBuiltinModule` is faster than an import. An import reads every export, and one of them makes Node.js
// load undici.
const { createServer } = process.getBuiltinModule('node:http');
const TIMES = {
  requestTimeout: LIMITS.requestTimeoutMs,
  headersTimeout: LIMITS.headersTimeoutMs,
  keepAliveTimeout: LIMITS.keepAliveMs,
  connectionsCheckingInterval: LIMITS.timeoutsCheckMs,
};

/** Content security policy: only resources of this gateway, and no inline scripts or styles. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Serves the HTTP API and the page of a cluster.
 *
 * @throws InputError if the address is unavailable, or if the gateway would be open to the network
 */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { host, port } = parseBind(options.bind, '--listen', '127.0.0.1:7080');
  const isLoopback = isLoopbackHost(host);
  const { tokens, hosts = [], most = isLoopback ? 'operate' : 'read' } = options;
  const access = new Access({ isLoopback, tokens, most, hosts });
  const link = new Link(options.connect);
  const watch = new ClusterWatch(link, options.where, { samples: true });
  const predictions = new Predictions(options.predict);
  const context: HandlerContext = {
    connect: () => link.cluster(),
    watch,
    predictions,
    where: options.where,
  };
  const connections = new HttpConnections(LIMITS.connections);
  const app = createApp(connections, access, options);
  addRoutes(app, access, connections, context);
  const values = new Values(options.values, () => link.cluster(), options.failed);
  values.addRoutes(app, access);
  const document = JSON.stringify(openApi(ROUTES, options.version));
  addFile(app, '/v1/openapi.json', 'application/json; charset=utf-8', Buffer.from(document));
  // Load balancers probe with HEAD.
  app.get('/livez', { exposeHeadRoute: true }, async () => 'alive\n');
  app.get('/readyz', { exposeHeadRoute: true }, async ({ raw, headers }, reply) => {
    admit(connections, raw, reply, access.clientOf(headers));
    await link.cluster();
    return 'ready\n';
  });
  addPage(app);
  await app.listen({ host, port }).catch((error: unknown) => {
    throw cannotListen(options.bind, error);
  });
  watch.start();
  const { port: bound } = app.server.address() as AddressInfo;
  return {
    url: httpUrl({ host, port: bound }),
    close: async () => {
      // Requests to an unresponsive cluster end when the connection is closed.
      values.close();
      await Promise.all([watch.close(), app.close(), link.close()]);
    },
  };
}

/** Creates the server without routes. */
function createApp(
  connections: HttpConnections,
  access: Access,
  { failed, times = new HttpTimes() }: Pick<GatewayOptions, 'failed' | 'times'>,
): FastifyInstance {
  // Requests without a token delay those of the first token as if they had another one.
  const arrivals = new Turns(access.tokens + 1, LIMITS.arrivalsPerTokenMax);
  const arrive = (request: IncomingMessage, begin: () => Promise<void>) =>
    arrivals.take(access.clientOf(request.headers), undefined, begin);
  const app = fastify({
    bodyLimit: LIMITS.bodyBytesMax,
    serverFactory: (handle) => connections.watch(createServer(TIMES, serializeRequests(handle, arrive))),
    forceCloseConnections: true,
    // An invalid path matches no route.
    frameworkErrors: (error, _, reply: FastifyReply) => {
      const { status, body } = answerTo(error);
      void reply.status(status).send(body);
    },
    // A HEAD request of a stream would never end.
    exposeHeadRoutes: false,
    // Each route reports overlong values in the usual error format.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: LIMITS.headersBytesMax },
  });
  parseBodies(app, access);
  app.addHook('onRequest', async (request, reply) => {
    times.measure(reply.raw, () => {
      const { url } = request.routeOptions;
      return url === undefined ? NO_ROUTE : `${request.method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`;
    });
    reply.headers({
      'cache-control': 'no-store',
      'content-security-policy': POLICY,
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    });
  });
  app.setErrorHandler((error, _, reply) => {
    const { status, body } = answerTo(error);
    // Does not report requests that failed because the client has disconnected.
    if (status >= 500 && body.code === 'internal' && !reply.raw.destroyed) failed?.(error);
    return reply
      .status(status)
      .headers(status === 401 ? { 'www-authenticate': 'Bearer' } : {})
      .send(body);
  });
  app.setNotFoundHandler(({ method, url }) => {
    throw new Refused(
      404,
      'not-found',
      `${method} ${url.slice(0, 100)} does not exist`,
      '/v1/openapi.json lists all paths',
    );
  });
  return app;
}

/** Limit of listeners to one event of a response, above which Node suspects a leak. */
const RESPONSE_LISTENERS_MAX = 16;

/** Accepts only JSON. Fastify would also accept text, which a form of another site may send. */
function parseBodies(app: FastifyInstance, access: Access): void {
  app.removeContentTypeParser(['text/plain', 'application/json']);
  const bodies = new Bodies();
  const turns = new Turns(access.tokens, 1);
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', (request, payload, done) => {
    const encoding = request.headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity')
      return done(
        new Refused(
          415,
          'encoding-unsupported',
          `the body is encoded as ${encoding.slice(0, 40)}`,
          'send it as it is',
        ),
      );
    // Most requests need no body, so an omitted body is an empty object.
    const turn: TakeTurn = (work) => turns.take(access.clientOf(request.headers), undefined, work);
    bodies.read(request.raw, payload, turn).then((text) => {
      void parse(request, text || '{}', (error, value) => {
        const loss = error ? undefined : jsonLoss(text, value);
        if (error) done(notJson(text) ?? badKey());
        else if (loss === undefined) done(null, value);
        else done(new InputError('bad-request', `body: ${loss.message}`, loss.hint));
      });
    }, done);
  });
  app.addHook('onRequest', async (request, reply) => {
    // `onResponse` is not called if the client disconnects before the response, so `close` is used.
    reply.raw.once('close', () => bodies.ended(request.raw));
  });
}

/** @throws Refused if the client has too many requests in progress */
function admit(
  connections: HttpConnections,
  request: IncomingMessage,
  reply: FastifyReply,
  client: string,
): void {
  if (connections.admit(request, reply.raw, client)) return;
  throw new Refused(
    429,
    'too-many-requests',
    'too many requests are in progress',
    'wait for their answers, or close their connections',
  );
}

function addRoutes(
  app: FastifyInstance,
  access: Access,
  connections: HttpConnections,
  context: HandlerContext,
): void {
  const answers = new OpenResponses(access.tokens);
  const lines = {
    reads: new Turns(access.tokens, LIMITS.readsPerTokenMax),
    long: new Turns(access.tokens, LIMITS.readsPerTokenMax),
    pages: new Turns(access.tokens, 1),
    chunks: new Turns(access.tokens, 1),
    predictions: new Turns(access.tokens, 1),
  };
  for (const route of ROUTES) {
    app.route({
      method: route.method,
      url: route.url.replaceAll(/\{(\w+)\}/g, ':$1'),
      // Runs before the body is read, so that a refused request uses few resources.
      onRequest: async ({ raw, method, headers }, reply) => {
        checkRole(access.admit(method, headers), route.role);
        admit(connections, raw, reply, access.clientOf(headers));
      },
      handler: async (request, reply) => {
        const gone = goneSignal(reply);
        const client = access.clientOf(request.headers);
        const turnIn =
          (line: LineName): TakeTurn =>
          (work) =>
            lines[line].take(client, gone, work);
        const role = access.admit(request.method, request.headers);
        const asked = { ...check(route, request), role, signal: gone, turnIn };
        const format = route.stream === undefined ? 'events' : streamFormat(request.headers.accept);
        const isStream = route.answer === 'events' || (route.stream !== undefined && format !== undefined);
        const waits = ((asked.query as { wait?: number } | undefined)?.wait ?? 0) > 0;
        if (!isStream && !waits) {
          const handle = () => route.handle(context, asked) as Promise<unknown>;
          // Other changes do not wait behind reads, and are limited where they take effect.
          const line = route.line ?? (route.role === 'read' ? 'reads' : undefined);
          const answer = await (line === undefined ? handle() : turnIn(line)(handle));
          return route.answer === 'file' ? sendFile(request, reply, answer as FileAnswer) : answer;
        }
        const release = answers.hold(client);
        // Fastify and Node alone add eight to a response that is a stream.
        reply.raw.setMaxListeners(RESPONSE_LISTENERS_MAX);
        if (!isStream) return (route.handle(context, asked) as Promise<unknown>).finally(release);
        const events = (route.stream ?? route.handle)(context, asked) as AsyncIterable<StreamEvent>;
        return stream(reply, events, release, turnIn('chunks'), format);
      },
    });
  }
}

/** Returns the accepted stream format; undefined: the client accepts only a document. */
function streamFormat(accept = ''): StreamFormat | undefined {
  if (accept.includes('text/event-stream')) return 'events';
  return /application\/(x-ndjson|jsonl)/.test(accept) ? 'lines' : undefined;
}

/** Returns a signal that is aborted when the client disconnects, which it may have done while its body waited. */
function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  if (raw.destroyed) gone.abort();
  else raw.once('close', () => gone.abort());
  return gone.signal;
}

/** @throws InputError that describes the invalid parameter */
function check(
  route: Route,
  request: FastifyRequest,
): Omit<ValidRequest<never, never, never>, 'role' | 'signal' | 'turnIn'> {
  refuseUnknown(route.query, Object.keys(request.query as object));
  const { 'last-event-id': lastEventId, traceparent } = request.headers;
  return {
    path: parse(route.path, request.params, 'path') as never,
    query: parse(route.query, request.query, 'query') as never,
    body: parse(route.body, request.body, 'body') as never,
    lastEventId: typeof lastEventId === 'string' ? lastEventId : undefined,
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
  };
}

/** Returns the error for JSON that could change the prototype of objects. */
function badKey(): InputError {
  const what = 'body: the keys __proto__ and constructor.prototype are not allowed';
  return new InputError('bad-request', what, 'use another name');
}

/** Returns an error that says where a text is not JSON; undefined if it is JSON. */
function notJson(text: string): InputError | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const problem = `body: not JSON: ${(error as Error).message.replaceAll(/\s+/g, ' ')}`;
    return new InputError('bad-request', problem, 'see /v1/openapi.json', { cause: error });
  }
}

/**
 * Rejects unknown parameters, because without a misspelled parameter the answer would be to another question.
 */
function refuseUnknown(shape: z.ZodType | undefined, given: readonly string[]): void {
  const known = shape instanceof z.ZodObject ? Object.keys(shape.shape) : [];
  const other = given.find((name) => !known.includes(name));
  if (other === undefined) return;
  const what = `query: unknown parameter ${quoted(other)}`;
  const hint = known.length === 0 ? 'see /v1/openapi.json' : `known parameters are ${known.join(', ')}`;
  throw new InputError('bad-request', what, hint);
}

function parse(shape: z.ZodType | undefined, value: unknown, where: string): unknown {
  if (shape === undefined) return undefined;
  const result = parseWith(shape, value);
  if (result.success) return result.data;
  // The issue of a converted parameter has the converted value.
  const [issue] = result.error.issues;
  const name = String(issue?.path[0]);
  if (where === 'query' && issue?.input !== undefined)
    Object.assign(issue, { input: (value as Record<string, unknown>)[name] });
  throw new InputError('bad-request', `${where}: ${describeIssue(result.error)}`, 'see /v1/openapi.json');
}
