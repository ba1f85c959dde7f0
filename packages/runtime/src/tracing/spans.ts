import { createHash } from 'node:crypto';

/** The subject of a span, which determines its id in every process. */
type SpanKey =
  /** The whole job, the root of the other spans. */
  | 'job'
  /** The classification of the job. */
  | 'classify'
  /** The wait of a task for its attempt of this number. */
  | `queue ${number}/${number}`
  /** The attempt, from its assignment to a worker until its owner receives its end. */
  | `attempt ${number}/${number}`
  /** The run at the worker. */
  | `run ${number}/${number}`
  /** Central's search for workers for a stage. The second number distinguishes searches. */
  | `match ${number}/${number}`
  /** Central's choice of a worker for one task. */
  | `place ${number}/${number}`;

/** An interval in the life of a job, in ms of this process's clock. */
export interface Spanned {
  /** Id of the job. */
  readonly job: string;
  /** Subject of the span. The first word is the name of the span. */
  readonly key: SpanKey;
  readonly parent: SpanKey | undefined;
  readonly from: number;
  readonly to: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** The error, if there was one. */
  readonly error?: string | undefined;
  /** The external parent span, as W3C Trace Context. */
  readonly linkedTraceparent?: string | undefined;
}

/** Receives spans. */
export interface Tracing {
  add(span: Spanned): void;
  /** Returns the parent for child spans, as W3C Trace Context. */
  traceparentOf(job: string, key: SpanKey): string;
  /** Exports pending spans and closes the exporter, within a time limit. */
  close(): Promise<void>;
}

/**
 * Returns the trace id of a job. Ids of traces and spans are derived from job, task and attempt, which all processes
 * involved know. Therefore their spans join into one trace without extra fields in messages.
 */
export function traceIdOf(job: string): string {
  return digest(`goshawk job ${job}`).slice(0, 32);
}

export function spanIdOf(job: string, key: SpanKey): string {
  return digest(`goshawk job ${job} ${key}`).slice(0, 16);
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
