import type { Attribute } from './fields/records.js';
import type { Millis } from './ids.js';
import type { ForecastEnd, ForecastOutcome, JobOutline, PlannedEnd } from './job/outline.js';
import type { PolicySettings } from './policy/settings.js';
import type { Resources } from './resources/resources.js';
import type { UserGrants } from './users.js';

/** A worker that accepts tasks. */
export interface WorkerOutline {
  readonly slots: number;
  readonly places: number;
  readonly capacity: Resources;
  readonly attributes: readonly Attribute[];
}

/** The state of a cluster from which a forecast starts, as plain data. */
export interface ClusterOutline {
  /** When the schedulers answered, by central's clock. */
  readonly at: Millis;
  readonly policy: PolicySettings;
  readonly users: UserGrants | undefined;
  readonly workers: readonly WorkerOutline[];
  readonly schedulers: readonly SchedulerOutline[];
  /** Jobs that were not submitted, each of which is simulated alone beside the others. */
  readonly planned: readonly JobOutline[];
}

/** The active jobs of a scheduler, oldest first, and outcomes of earlier forecasts. */
export interface SchedulerOutline {
  readonly tag: string;
  readonly jobs: readonly JobOutline[];
  readonly outcomes: readonly ForecastOutcome[];
}

/** The ends of the jobs of each scheduler, by its tag; a job without one has an unknown end. */
export interface Forecast {
  readonly ends: ReadonlyMap<string, readonly ForecastEnd[]>;
  /** The ends of the planned jobs, in their order; empty: the computation failed. */
  readonly planned: readonly PlannedEnd[];
  /** How long the computation took. */
  readonly tookMs: Millis;
}
