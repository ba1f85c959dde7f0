import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { cannotListen, httpUrl, InputError, isLoopbackHost, parseBind } from '@goshawk/core';
import { HttpConnections, HttpTimes, type MailLogger, NO_ROUTE } from '@goshawk/transport';
import { Access, type HttpRefusal } from './access.js';

/** Resource limits for HTTP clients. */
const HTTP_LIMITS = {
  headersBytesMax: 8 * 1024,
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 10_000,
  keepAliveMs: 5_000,
  /** See `HttpConnectionLimits`. Without a token and with one are different clients. */
  connections: {
    quietMax: 128,
    requestsPerClientMax: 128,
    requestsMax: 256,
    unreadBytesPerClientMax: 16 * 1024 * 1024,
    unreadBytesMax: 32 * 1024 * 1024,
  },
  requestsPerConnectionMax: 1_000,
  /** Maximum length of a path; real ones are shorter than half of this. */
  pathLengthMax: 256,
} as const;

export interface Page {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Pages by path. */
export type Pages = Readonly<Record<string, () => Page>>;

export interface HttpOptions {
  /** `HOST:PORT`; port 0 for any. */
  readonly bind: string;
  /** Bearer token required of every request; without one, loopback only. */
  readonly token?: string | undefined;
  /** Serves only liveness and readiness without a token: other local accounts have no key of this cluster. */
  readonly isSealed?: boolean | undefined;
  /** Allows listening beyond loopback without a token. */
  readonly insecure?: boolean | undefined;
  /** File that receives the port number, for other processes of the machine. */
  readonly portFile?: string | undefined;
  /** Measures the requests of another HTTP server of the process, too. */
  readonly times?: HttpTimes | undefined;
}

export interface HttpCounters {
  readonly times: HttpTimes;
  readonly refused: Record<HttpRefusal, number>;
}

export interface HttpServer {
  /** `http://HOST:PORT` */
  readonly url: string;
  readonly counters: HttpCounters;
  close(): Promise<void>;
}

/**
 * A read-only HTTP server. Pages are rendered on request; no files are served, and requests have no bodies.
 *
 * @throws InputError if it cannot listen there, would be open to the network, or cannot write the port file
 */
export async function openHttpServer(
  options: HttpOptions,
  pages: (counters: HttpCounters) => Pages,
  logger: MailLogger,
): Promise<HttpServer> {
  const { host, port } = parseBind(options.bind, '--http', '127.0.0.1:9090');
  const isLoopback = isLoopbackHost(host);
  requireToken(options, isLoopback);
  const counters: HttpCounters = { times: options.times ?? new HttpTimes(), refused: { token: 0, host: 0 } };
  const access = new Access(options.token, isLoopback, options.isSealed ?? false);
  const connections = new HttpConnections(HTTP_LIMITS.connections);
  const shown = sparing(pages(counters));
  // `getBuiltinModule` avoids an import, which reads every export; the browser-compatible ones make Node load undici: 13 MB and
  // 60 ms per process (Node 24).
  const { createServer } = process.getBuiltinModule('node:http');
  const server = createServer(
    {
      maxHeaderSize: HTTP_LIMITS.headersBytesMax,
      headersTimeout: HTTP_LIMITS.headersTimeoutMs,
      requestTimeout: HTTP_LIMITS.requestTimeoutMs,
      keepAliveTimeout: HTTP_LIMITS.keepAliveMs,
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => answer(request, response, { access, counters, pages: shown, connections }),
  );
  connections.watch(server);
  server.maxRequestsPerSocket = HTTP_LIMITS.requestsPerConnectionMax;
  // Invalid HTTP gets no response, because the client would not understand one.
  server.on('clientError', (_, socket) => socket.destroy());
  server.listen(port, host);
  await once(server, 'listening').catch((error: unknown) => {
    throw cannotListen(options.bind, error);
  });
  server.on('error', (error) => logger.warn({ err: error }, 'the HTTP server has an error'));
  const { port: bound } = server.address() as AddressInfo;
  try {
    if (options.portFile !== undefined) await writeFile(options.portFile, `${bound}\n`, { mode: 0o644 });
  } catch (error) {
    server.close();
    const message = `cannot write the HTTP port file: ${(error as Error).message}`;
    throw new InputError('bad-port-file', message, 'choose another file with --http-port-file', {
      cause: error,
    });
  }
  return {
    url: httpUrl({ host, port: bound }),
    counters,
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

interface HandlerContext {
  readonly access: Access;
  readonly counters: HttpCounters;
  readonly pages: Pages;
  readonly connections: HttpConnections;
}

/** Connections with a response in progress. */
const busy = new WeakSet<Socket>();

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { access, counters, pages, connections }: HandlerContext,
): void {
  const { socket } = request;
  // Pages are rendered synchronously, so a thousand pipelined requests would block the process.
  if (socket.destroyed || busy.has(socket)) return void socket.destroy();
  busy.add(socket);
  response.once('close', () => busy.delete(socket));
  const path = pathOf(request.url ?? '');
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  counters.times.measure(response, () => (isRead && Object.hasOwn(pages, path) ? `GET ${path}` : NO_ROUTE));
  const refusal = access.refusal(request, path);
  const client = refusal === undefined && access.mayReadReasons(request) ? 'token' : '';
  if (!connections.admit(request, response, client)) return void socket.destroy();
  if (refusal !== undefined) {
    counters.refused[refusal]++;
    const status = refusal === 'token' ? 401 : 421;
    const body = `${access.isSealed ? SEALED : REFUSALS[refusal]}\n`;
    return send(request, response, { status, type: 'text/plain', body });
  }
  if (!isRead)
    return send(request, response, { status: 405, type: 'text/plain', body: 'only GET and HEAD\n' });
  const page = pageAt(pages, path);
  const isBare = page.status === 503 && !access.mayReadReasons(request);
  send(request, response, isBare ? { ...page, body: 'not ready\n' } : page);
}

/** The fraction of its time that a process spends on rendering a page, at most. */
const RENDER_SHARE = 0.1;

/** Health is short, and must be that of the moment. */
const ALWAYS_RENDERED: ReadonlySet<string> = new Set(['/livez', '/readyz']);

/** Repeats a page for ten times as long as it took to render, so that frequent requests do not delay other work. */
function sparing(pages: Pages): Pages {
  const kept = new Map<string, { readonly page: Page; readonly until: number }>();
  const render = (path: string, page: () => Page): Page => {
    const begun = performance.now();
    const known = kept.get(path);
    if (known !== undefined && begun < known.until && !ALWAYS_RENDERED.has(path)) return known.page;
    const rendered = page();
    const ended = performance.now();
    kept.set(path, { page: rendered, until: ended + (ended - begun) / RENDER_SHARE });
    return rendered;
  };
  const limited = Object.entries(pages).map(([path, page]) => [path, () => render(path, page)] as const);
  return Object.fromEntries(limited);
}

/** A page that fails, for example because a disk is gone, must not end the process. */
function pageAt(pages: Pages, path: string): Page {
  try {
    const page = Object.hasOwn(pages, path) ? pages[path]!() : undefined;
    const there = Object.keys(pages).join(' ');
    return page ?? { status: 404, type: 'text/plain', body: `there are ${there}\n` };
  } catch (error) {
    return { status: 500, type: 'text/plain', body: `${(error as Error).message}\n` };
  }
}

const SEALED = 'this needs a token, and the process has none: start it with --http-token-file';

const REFUSALS: Readonly<Record<HttpRefusal, string>> = {
  token: 'a bearer token is required (Authorization: Bearer TOKEN)',
  host: 'use the host name localhost',
};

function send(request: IncomingMessage, response: ServerResponse, { status, type, body }: Page): void {
  const hasBody =
    (request.headers['content-length'] ?? '0') !== '0' || 'transfer-encoding' in request.headers;
  response.writeHead(status, {
    'content-type': `${type}; charset=utf-8`,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'",
    // The rest of the request is not read.
    ...(hasBody ? { connection: 'close' } : {}),
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

/** Returns the path of the request. Paths are names of pages and never lead to files. */
function pathOf(url: string): string {
  const end = url.indexOf('?');
  return (end < 0 ? url : url.slice(0, end)).slice(0, HTTP_LIMITS.pathLengthMax);
}

function requireToken({ bind, token, insecure }: HttpOptions, isLoopback: boolean): void {
  if (isLoopback || insecure) return;
  if (token !== undefined) return;
  throw new InputError(
    'insecure-bind',
    `${bind} is reachable from other machines, and anyone there could read it`,
    'set a token with GOSHAWK_HTTP_TOKEN or --http-token-file; or bind to 127.0.0.1; or pass --insecure',
  );
}
