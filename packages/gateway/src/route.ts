import type { Cluster, JobHandle } from '@goshawk/client';
import type { Frozen } from '@goshawk/core';
import type { z } from 'zod';
import type { Role } from './access.js';
import type { FileAnswer } from './file-answer.js';
import type { TakeTurn } from './turns.js';
import type { ClusterWatch } from './watch.js';
import type { Predictions } from './what-if.js';

/** Services for the handlers of routes. */
export interface HandlerContext {
  /** @throws UnreachableError */
  connect(): Promise<Cluster>;
  readonly watch: ClusterWatch;
  readonly predictions: Predictions;
  /** Location of the cluster, for display. */
  readonly where: string;
}

/** A validated request. */
export interface ValidRequest<Path, Query, Body> {
  readonly path: Path;
  readonly query: Query;
  readonly body: Body;
  readonly role: Role;
  /** Id of the last event that a reconnecting reader has received. */
  readonly lastEventId: string | undefined;
  /** Traceparent of the sender, not validated. */
  readonly traceparent: string | undefined;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** Runs a request of a stream to the cluster when it is the turn of the sender's token. */
  readonly turnIn: (line: LineName) => TakeTurn;
}

/**
 * The lines in which the work of a token waits for its own. `long` requests may take seconds, in which the token's reads
 * go on; `pages` and `chunks` are those of its streams.
 */
export type LineName = 'reads' | 'long' | 'pages' | 'chunks' | 'predictions';

/** An event of a stream; `data` is sent as JSON. */
export interface StreamEvent {
  readonly event: string;
  readonly id?: string;
  readonly data: unknown;
}

type Shape = z.ZodType | undefined;
type Parsed<S extends Shape> = S extends z.ZodType ? z.output<S> : undefined;

type MethodOf<T> = { [K in keyof T]: T[K] extends (...args: never[]) => unknown ? K : never }[keyof T] &
  string;

/** A call of the TypeScript client. */
type SdkCall = `Cluster.${MethodOf<Cluster>}` | `JobHandle.${MethodOf<JobHandle>}` | 'planJob';

/** The schema of a JSON answer, or another kind of answer. */
type AnswerKind = z.ZodType | 'events' | 'file';

/** The type that a handler returns. A missing or misspelled field does not compile. */
type Answer<A> = [A] extends [z.ZodType]
  ? Promise<Frozen<z.output<A>>>
  : A extends 'events'
    ? AsyncIterable<StreamEvent>
    : A extends 'file'
      ? Promise<FileAnswer>
      : Promise<unknown>;

/** One route of the table from which the server, the OpenAPI document and its tests are generated. */
export interface Route<
  P extends Shape = Shape,
  Q extends Shape = Shape,
  B extends Shape = Shape,
  A extends AnswerKind = AnswerKind,
> {
  readonly method: 'GET' | 'POST';
  /** Path with parameter names in braces, as in OpenAPI. */
  readonly url: `/v1${string}`;
  /** Role that the route requires. */
  readonly role: Role;
  /** Names the line in which requests of the same token wait; default: `reads`, if the role is `read`. */
  readonly line?: LineName;
  /** Name of the equivalent in the TypeScript client; null: there is none, on purpose. */
  readonly sdk: SdkCall | null;
  /** The same for the Python client; a test checks that it exists. */
  readonly python: `${'Client' | 'Job'}.${string}` | null;
  readonly does: string;
  readonly path?: P;
  readonly query?: Q;
  readonly body?: B;
  /** Schema of the body for the OpenAPI document, if the body is validated elsewhere. */
  readonly bodySchema?: () => Record<string, unknown>;
  readonly answer: A;
  /** Streaming variant, for clients that accept events or JSON lines. */
  readonly stream?: (
    context: HandlerContext,
    asked: ValidRequest<Parsed<P>, Parsed<Q>, Parsed<B>>,
  ) => AsyncIterable<StreamEvent>;
  /** Descriptions of errors that clients can fix, by status. */
  readonly errors?: Readonly<Record<number, string>>;
  readonly handle: (
    context: HandlerContext,
    asked: ValidRequest<Parsed<P>, Parsed<Q>, Parsed<B>>,
  ) => Answer<A>;
}

/** Returns the route. The call infers the types of path, query and body for `handle`. */
export function route<
  const A extends AnswerKind,
  P extends Shape = undefined,
  Q extends Shape = undefined,
  B extends Shape = undefined,
>(line: Route<P, Q, B, A>): Route {
  return line as unknown as Route;
}
