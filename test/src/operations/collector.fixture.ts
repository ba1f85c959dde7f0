import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Undefined for the span of the job itself. */
  readonly parentSpanId: string | undefined;
  readonly name: string;
  /** ms since 1970 */
  readonly from: number;
  readonly to: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  /** Linked spans, as TRACE-SPAN. */
  readonly links: readonly string[];
}

/** Receives spans over OTLP/HTTP, like an OpenTelemetry collector. */
export interface Collector {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  close(): void;
}

export async function startCollector(): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    if (request.method !== 'POST' || request.url !== '/v1/traces') return response.writeHead(404).end();
    spans.push(...spansOf(JSON.parse(body)));
    return response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

type Pairs = readonly { key: string; value: Record<string, unknown> }[];

interface Wire {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Pairs };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
}

interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Pairs;
  readonly status?: { readonly code?: number };
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
}

function spansOf({ resourceSpans }: Wire): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(attributesOf(resource.attributes)['service.name']);
    return scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        service,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId || undefined,
        name: span.name,
        from: Number(span.startTimeUnixNano) / 1e6,
        to: Number(span.endTimeUnixNano) / 1e6,
        attributes: attributesOf(span.attributes),
        isError: span.status?.code === 2,
        links: (span.links ?? []).map(({ traceId, spanId }) => `${traceId}-${spanId}`),
      })),
    );
  });
}

function attributesOf(pairs: Pairs): Record<string, unknown> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, Object.values(value)[0]]));
}
