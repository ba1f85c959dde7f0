/** Answers of the API as far as the page reads them; `/v1/openapi.json` has all of it. */

export interface Session {
  readonly cluster: string;
  readonly role: 'read' | 'submit' | 'operate';
}

export interface WaitingRow {
  readonly class: string;
  readonly reason: string;
  readonly tasks: number;
  readonly example: string;
  readonly exampleAgeSeconds: number;
  readonly why: string;
  readonly helps: string;
}

export interface Overview {
  readonly policy: string | null;
  readonly reachable: boolean;
  readonly workers: Readonly<Record<string, number>>;
  readonly slots: number;
  readonly busy: number;
  readonly queued: number;
  readonly schedulers: number;
  readonly jobs: number;
  readonly waiting: readonly WaitingRow[];
  readonly attention: readonly {
    readonly level: 'error' | 'warning';
    readonly what: string;
    readonly hint: string;
    readonly link: string | null;
  }[];
}

export interface ClassPoint {
  readonly tasksPerSecond: number;
  readonly delaySeconds: { readonly p50: number; readonly p99: number } | null;
  readonly runSeconds: { readonly p50: number; readonly p90: number } | null;
}

export interface Point {
  /** Seconds since 1970. */
  readonly at: number;
  readonly waiting: number;
  readonly busy: number;
  readonly slots: number;
  readonly short: ClassPoint;
  readonly long: ClassPoint;
}

export interface WorkerDelta {
  readonly reset: boolean;
  readonly born: readonly (readonly [number, string, number, number])[];
  readonly now: readonly (readonly [number, number, number, number, number])[];
}

export interface Worker {
  readonly name: string;
  readonly slots: number;
  readonly isShort: boolean;
  readonly state: string;
  readonly busy: number;
  /** −1: not known. */
  readonly long: number;
  readonly queued: number;
}

export interface WorkerDetail {
  readonly name: string;
  readonly state: string;
  readonly aside: string | null;
  readonly partition: string;
  readonly slots: number;
  readonly busy: number;
  readonly long: number | null;
  readonly queued: number;
  readonly resources: Readonly<Record<string, number>>;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly heardSecondsAgo: number;
  readonly counters: Readonly<Record<string, unknown>> | null;
}

export interface JobSummary {
  readonly id: string;
  readonly name: string;
  readonly user: string | null;
  readonly class: string;
  readonly classifiedBy: string;
  readonly estimateSeconds: number | null;
  readonly state: string;
  readonly tasks: Readonly<
    Record<'total' | 'waiting' | 'running' | 'completed' | 'failed' | 'cancelled', number>
  >;
  readonly submittedAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
}

export interface JobList {
  readonly jobs: readonly JobSummary[];
  readonly total: number;
  readonly next: number | null;
  readonly silent: readonly string[];
}

export interface Attempt {
  readonly task: number;
  readonly attempt: number;
  readonly state: string;
  readonly worker: string;
  readonly startedAt: string;
  readonly runSeconds: number;
  readonly message: string | null;
}

export interface Job extends JobSummary {
  readonly stages: readonly {
    readonly name: string;
    readonly state: string;
    readonly tasks: number;
    readonly unfinished: number;
    readonly after: readonly string[];
    readonly estimateSeconds: number | null;
  }[];
  readonly attempts: readonly Attempt[];
  readonly attemptCounts: { readonly total: number; readonly failed: number; readonly lost: number };
  readonly meanRunSeconds: number | null;
  readonly lostSeconds: number;
}

export interface Why {
  readonly sentence: string;
  readonly waiting: readonly {
    readonly reason: string;
    readonly tasks: number;
    readonly waitedSeconds: number;
  }[];
}

export interface Logs {
  readonly chunks: readonly {
    readonly task: number;
    readonly attempt: number;
    readonly stream: 'stdout' | 'stderr';
    readonly text: string;
  }[];
  readonly truncated: boolean;
}

export interface Policy {
  readonly policy: string;
  readonly title: string;
  readonly estimator: string;
  readonly cutoffSeconds: number;
  readonly reserve: number | 'auto';
  readonly reserveNow: number | null;
  readonly messagesPerTask: number | null;
  readonly messages: Readonly<Record<string, number>>;
}

export interface Predictor {
  readonly estimators: readonly {
    readonly estimator: string;
    readonly jobs: number;
    readonly estimated: number;
    readonly errorPercent: { readonly p50: number | null; readonly p90: number | null };
    readonly misclassifiedJobsPercent: number | null;
  }[];
}
