import type { ArrivingJob, Judgement } from './estimator.js';
import { Stateless } from './stateless.js';

/** The true mean run time of the job's tasks, which only a replay knows. */
export class Oracle extends Stateless {
  constructor() {
    super('oracle');
  }

  judge({ trueMeanMs, stages }: ArrivingJob): Judgement {
    if (trueMeanMs === undefined) return { kind: 'unknown' };
    const ofStages =
      stages === undefined ? {} : { stagesMs: stages.map((stage) => stage.trueMeanMs ?? trueMeanMs) };
    return { kind: 'estimate', estimate: { meanMs: trueMeanMs, varianceMs2: 0, by: 'oracle', ...ofStages } };
  }
}
