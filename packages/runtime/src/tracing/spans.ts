import { createHash } from 'node:crypto';

/** The subject of a span, which determines its id in every process. */
type SpanKey =
  /** The whole of a job; all others are below it. */
  | 'job'
  /** How it was found out what the job is. */
  | 'classify'
  /** The wait of a task for its attempt of this number. */
  | `queue ${number}/${number}`
  /** The attempt, from when a worker was given it to when its owner knew of its end. */
  | `attempt ${number}/${number}`
  /** The run itself, at the worker. */
  | `run ${number}/${number}`
  /** Central's search for workers: stage, and a number that tells the searches apart. */
  | `match ${number}/${number}`
  /** Central's choice of a worker for a task that it places. */
  | `place ${number}/${number}`;

/** Something that has happened to a job. Times are of this process's clock. ms */
export interface Spanned {
  /** Id of the job. */
  readonly job: string;
  /** Its first word is the span's name. */
  readonly key: SpanKey;
  readonly parent: SpanKey | undefined;
  readonly from: number;
  readonly to: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** The error, if there was one. */
  readonly error?: string | undefined;
  /** A span of somebody else that this one came of, as W3C Trace Context writes it. */
  readonly cameOf?: string | undefined;
}

/** Receives spans. */
export interface Tracing {
  add(span: Spanned): void;
  /** The parent that a span's children name, as W3C Trace Context writes it. */
  traceparentOf(job: string, key: SpanKey): string;
  /** Sends what has not been sent, if that does not take long. */
  close(): Promise<void>;
}

/**
 * The ids of traces and spans follow from the job, the task and the attempt, which every process knows that has to do
 * with them. So what three processes say joins into one trace, and no message has to carry anything for that.
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
