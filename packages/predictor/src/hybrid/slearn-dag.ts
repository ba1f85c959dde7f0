import type { Millis } from '@goshawk/core';
import { z } from 'zod';
import type { ArrivingJob, EndedJob, Evidence, Prediction, SamplePlan, Verdict } from '../estimator.js';
import { HistoryEstimator } from '../history/history-estimator.js';
import { inverseSquareEstimate } from '../history/points.js';
import { Pilot } from '../pilot/pilot.js';
import type { EstimatorSettings } from '../settings.js';
import { estimateOfStages } from '../stages.js';
import { notSavedBy } from '../stateless.js';
import { noteOf, type PilotsNote } from './note.js';

/**
 * SLearn-DAG (SLearn §6): history estimates all stages, and pilots measure the first one. The estimates of the other
 * stages are multiplied by the ratio of measurement to estimate of the first. A job with one stage is sampled as by
 * `pilot`. If the first stage is too small to sample, the estimates are not corrected.
 */
export class SLearnDag extends HistoryEstimator {
  readonly #pilot: Pilot;
  readonly #thinLimit: number;

  /** @throws InputError for an unknown feature */
  constructor(settings: EstimatorSettings) {
    super('slearn-dag', settings, inverseSquareEstimate);
    this.#pilot = new Pilot(settings);
    this.#thinLimit = settings.thinLimit;
  }

  override get savedCharactersMax(): number {
    return super.savedCharactersMax + this.#pilot.savedCharactersMax + OWN_CHARACTERS;
  }

  override predict(job: ArrivingJob): Prediction {
    const stagesMs = this.stagesMs(job);
    if (stagesMs === undefined) return this.#pilot.predict(job);
    if (job.startable < this.#thinLimit) return super.predict(job);
    const { note: ofPilot, ...plan } = this.#pilot.predict({ ...job, tasks: job.startable }) as SamplePlan;
    return { ...plan, guess: estimateOfStages(job, stagesMs, 'history'), note: { ofPilot, stagesMs } };
  }

  override weigh(job: ArrivingJob, plan: SamplePlan, evidence: Evidence, cutoffMs: Millis): Verdict {
    const { ofPilot, stagesMs } = noteOf<Note>(plan.note);
    const verdict = this.#pilot.weigh(job, { ...plan, note: ofPilot }, evidence, cutoffMs);
    if (verdict.kind === 'wait' || stagesMs === undefined) return verdict;
    const { meanMs, by } = verdict.estimate;
    const { stage: sampled = 0 } = evidence;
    const historyMs = stagesMs[sampled]!;
    const ratio = historyMs > 0 ? meanMs / historyMs : 1;
    const adjusted = stagesMs.map((ms, stage) => (stage === sampled ? meanMs : ms * ratio));
    return {
      ...verdict,
      estimate: estimateOfStages(job, adjusted, `${by}, and history of the other stages`),
    };
  }

  override learn(ended: EndedJob): void {
    const { prediction } = ended;
    this.#pilot.learn({ ...ended, prediction: { ...prediction, note: noteOf(prediction.note).ofPilot } });
    super.learn(ended);
  }

  override save(): unknown {
    return { kind: 'slearn-dag/1', pilot: this.#pilot.save(), history: super.save() };
  }

  override load(saved: unknown): void {
    const { success, data } = savedSchema.safeParse(saved);
    if (!success) throw notSavedBy(this.name);
    super.load(data.history);
    this.#pilot.load(data.pilot);
  }
}

const OWN_CHARACTERS = 128;

const savedSchema = z.lazy(() =>
  z.strictObject({ kind: z.literal('slearn-dag/1'), pilot: z.unknown(), history: z.unknown() }),
);

interface Note extends PilotsNote {
  readonly stagesMs?: readonly Millis[];
}
