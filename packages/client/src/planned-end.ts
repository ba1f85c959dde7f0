import {
  type ExpectedEnd,
  type JobSpec,
  type Millis,
  type PlanUnknown,
  plannedOutline,
  UnreachableError,
} from '@goshawk/core';
import type { CallOptions } from './options.js';
import { askCentral, type Session } from './session.js';

/** When a planned job would start and end if it were submitted now, or why its end is unknown. */
export type PlannedEnd = {
  /** Time until its first task starts; undefined: unknown. */
  readonly startMs?: Millis | undefined;
  /** It starts between these times in about nine of ten cases. */
  readonly startBetweenMs?: readonly [earliest: Millis, latest: Millis] | undefined;
} & (
  | { readonly expectedEnd: ExpectedEnd; readonly unknown?: undefined }
  | { readonly expectedEnd?: undefined; readonly unknown: string }
);

/** A forecast starts a few seconds after the question, and takes a few more on a large cluster. */
const PATIENCE_MS: Millis = 20_000;

const WHY: Readonly<Record<PlanUnknown, string>> = {
  'run-times': 'the run time of its tasks is unknown; --estimate states it',
  'other-run-times': 'the run times of the jobs before it are unknown',
  'too-large': 'the cluster and the job together have too many tasks for a forecast',
  'no-workers': 'no worker accepts tasks',
  silent: 'a scheduler does not answer, so its jobs are unknown',
  busy: 'too many jobs are being planned; try again in a moment',
  'no-end': 'the job does not end in the simulation of this cluster',
  off: 'central makes no forecasts',
};

/** Has central simulate the job beside the active ones. */
export async function plannedEnd(session: Session, spec: JobSpec, options: CallOptions): Promise<PlannedEnd> {
  const waits = waitsBecause(spec);
  if (waits !== undefined) return { unknown: waits };
  const outline = plannedOutline({ ...spec, user: spec.user ?? session.user }, Date.now());
  try {
    const { value } = await askCentral<'planEnd'>(
      session,
      {
        what: 'for the end of a planned job',
        build: (request) => ({ type: 'planEnd', request, outline }),
        timeoutMs: PATIENCE_MS,
      },
      options,
    );
    const { inMs: startMs, earliestMs: from = 0, latestMs: to = 0 } = value.start ?? {};
    const start = startMs === undefined ? {} : { startMs, startBetweenMs: [from, to] as const };
    if (spec.openMs !== undefined) return { ...start, unknown: 'an open job ends when it is closed' };
    if (value.unknown !== undefined) return { ...start, unknown: WHY[value.unknown] };
    const computedAt = Date.now();
    const after = (ms: Millis) => Math.round(computedAt + ms);
    const { inMs, earliestMs, latestMs } = value;
    return {
      ...start,
      expectedEnd: { at: after(inMs), earliest: after(earliestMs), latest: after(latestMs), computedAt },
    };
  } catch (error) {
    if (error instanceof UnreachableError) return { unknown: 'central does not answer in time' };
    throw error;
  }
}

function waitsBecause({ after = [], afterOk = [], hold }: JobSpec): string | undefined {
  if (after.length + afterOk.length > 0) return 'it first waits for other jobs';
  return hold ? 'it first waits for `goshawk release`' : undefined;
}
