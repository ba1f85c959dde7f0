import { setTimeout as pause } from 'node:timers/promises';
import type { Millis } from '@goshawk/core';
import { type Spanned, spanIdOf, type Tracing, traceIdOf, VERSION } from '@goshawk/runtime';
import { type Logger, ThrottledLog } from '@goshawk/transport';
import {
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type SpanContext,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, type IdGenerator } from '@opentelemetry/sdk-trace-base';

/** Maximum wait for a silent collector at the end. ms */
const CLOSE_MS = 2_000;
const COMPLAINT_INTERVAL_MS = 60_000;
/** Smaller offsets are gradual clock corrections and are ignored. ms */
const CLOCK_OFF_MAX_MS = 100;
/** Maximum number of jobs whose root spans are cached. */
const ROOTS_MAX = 10_000;

/** Assigns predetermined ids to spans. */
class GivenIds implements IdGenerator {
  traceId = '';
  spanId = '';

  generateTraceId(): string {
    return this.traceId;
  }

  generateSpanId(): string {
    return this.spanId;
  }
}

/** Exports spans over OTLP/HTTP. OpenTelemetry's variables set the endpoint, sampling, queue size and resource attributes. */
export class OtlpTracing implements Tracing {
  readonly #ids = new GivenIds();
  readonly #provider: BasicTracerProvider;
  readonly #tracer: Tracer;
  readonly #roots = new Map<string, SpanContext>();
  #zeroMs: Millis = performance.timeOrigin;

  constructor(role: string, instance: string, logger: Logger) {
    const complaints = new ThrottledLog(logger, COMPLAINT_INTERVAL_MS);
    const complain = (problem: string): void =>
      complaints.warn('collector', 'traces', 'traces cannot be sent', { problem });
    const quiet = (): void => {};
    diag.setLogger(
      { error: complain, warn: complain, info: quiet, debug: quiet, verbose: quiet },
      { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
    );
    const own = resourceFromAttributes({
      'service.name': `goshawk-${role}`,
      'service.namespace': 'goshawk',
      'service.version': VERSION,
      'service.instance.id': instance,
    });
    this.#provider = new BasicTracerProvider({
      idGenerator: this.#ids,
      // The environment's attributes override the defaults, but not our names.
      resource: defaultResource()
        .merge(own)
        .merge(detectResources({ detectors: [envDetector] })),
      spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
    });
    this.#tracer = this.#provider.getTracer('goshawk', VERSION);
  }

  add(span: Spanned): void {
    const { job, key, parent, attributes, error, linkedTraceparent } = span;
    const context = parent === undefined ? ROOT_CONTEXT : this.#below(job, parent);
    if (context === undefined) return;
    const wallMs = this.#wallAtZero();
    const options = {
      attributes: { ...attributes, 'goshawk.job': job },
      startTime: wallMs + span.from,
      links: linkedTraceparent === undefined ? [] : [{ context: contextOf(linkedTraceparent) }],
    };
    this.#ids.traceId = traceIdOf(job);
    this.#ids.spanId = spanIdOf(job, key);
    const made = this.#tracer.startSpan(key.split(' ')[0]!, options, context);
    if (error !== undefined) made.setStatus({ code: SpanStatusCode.ERROR, message: error });
    made.end(wallMs + Math.max(span.from, span.to));
  }

  traceparentOf(job: string, key: Spanned['key']): string {
    const { traceId, traceFlags } = this.#root(job);
    return `00-${traceId}-${spanIdOf(job, key)}-0${traceFlags & TraceFlags.SAMPLED}`;
  }

  /**
   * Wall-clock time at the origin of the process clock. It is the same for all spans, so that they align, until the clock is set.
   */
  #wallAtZero(): Millis {
    const off = Date.now() - performance.now() - this.#zeroMs;
    if (Math.abs(off) > CLOCK_OFF_MAX_MS) this.#zeroMs += off;
    return this.#zeroMs;
  }

  async close(): Promise<void> {
    const late = pause(CLOSE_MS, undefined, { ref: false });
    await Promise.race([this.#provider.shutdown().catch(() => {}), late]);
  }

  /**
   * Returns a context whose parent span another process may export. The sampler decides by trace id, equally in all processes;
   * the placeholder span is never ended, so it is never exported. Undefined for unsampled jobs.
   */
  #below(job: string, parent: Spanned['key']) {
    const root = this.#root(job);
    if ((root.traceFlags & TraceFlags.SAMPLED) === 0) return undefined;
    const spanId = spanIdOf(job, parent);
    return trace.setSpanContext(ROOT_CONTEXT, { ...root, spanId, isRemote: true });
  }

  #root(job: string): SpanContext {
    const known = this.#roots.get(job);
    if (known !== undefined) return known;
    this.#ids.traceId = traceIdOf(job);
    this.#ids.spanId = spanIdOf(job, 'job');
    const root = this.#tracer.startSpan('job', { root: true }, ROOT_CONTEXT).spanContext();
    this.#roots.set(job, root);
    if (this.#roots.size > ROOTS_MAX) this.#roots.delete(this.#roots.keys().next().value!);
    return root;
  }
}

/** @param traceparent already validated by the job schema */
function contextOf(traceparent: string): SpanContext {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}
