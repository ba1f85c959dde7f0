import type { Millis } from '@goshawk/core';
import { z } from 'zod';
import type {
  ArrivingJob,
  EndedJob,
  Estimator,
  Evidence,
  Prediction,
  SamplePlan,
  Verdict,
} from '../estimator.js';
import { History, type HistoryPrediction, type HistorySettings } from '../history/history.js';
import {
  expertsEstimate,
  historySettings,
  learnFrom,
  never,
  type WithDistribution,
} from '../history/history-estimator.js';
import { Spread, spreadOf } from '../history/spread.js';
import { Pilot } from '../pilot/pilot.js';
import { combine, type Prior } from '../posterior.js';
import type { EstimatorSettings } from '../settings.js';
import { given, notSavedBy } from '../stateless.js';
import { noteOf, type PilotsNote } from './note.js';

/** Spread assumed until a job with two tasks has ended. In a Google sample, half of the jobs have a smaller one. */
const FIRST_SPREAD = 0.01;

/**
 * For a job with a known name, history replaces pilots once `PROVEN_RUNS` similar jobs have run and the standard
 * deviation of ln(estimate ÷ actual) is at most `PROVEN_DEVIATION`: about as accurate as one pilot.
 */
const PROVEN_RUNS = 10;
const PROVEN_DEVIATION = 0.25;

/**
 * Combines history with pilots: history gives a first guess, which is then combined with the pilots' result, weighted by
 * past errors.
 *
 * `hybrid` classifies jobs that are too small for pilots by history. `auto` uses the submitter’s estimate if there is
 * one, then proven history, which is as accurate as a pilot and delays no task.
 */
export class Hybrid implements Estimator {
  readonly name: 'hybrid' | 'auto';
  readonly #settings: Partial<HistorySettings>;
  readonly #withDistribution: WithDistribution;
  readonly #mayRunPilots: boolean;
  readonly #pilot: Pilot;
  #history: History;
  /** Typical spread of the tasks of one job, for jobs without a history. */
  #spread = new Spread();

  /** @throws InputError for an unknown feature */
  constructor(settings: EstimatorSettings, name: 'hybrid' | 'auto' = 'hybrid') {
    this.name = name;
    this.#settings = historySettings(settings);
    this.#withDistribution = settings.withDistribution ?? never;
    this.#mayRunPilots = name === 'hybrid' || settings.sampling !== false;
    this.#pilot = new Pilot(settings);
    this.#history = new History(this.#settings);
  }

  get savedCharactersMax(): number {
    return this.#history.savedCharactersMax + this.#pilot.savedCharactersMax + OWN_CHARACTERS;
  }

  predict(job: ArrivingJob): Prediction {
    if (this.name === 'auto' && job.givenMs !== undefined) return given(job);
    const prediction = this.#history.predict(job);
    if (prediction.samples === 0) return this.#mayRunPilots ? this.#pilot.predict(job) : { kind: 'unknown' };
    const estimate = expertsEstimate(job, prediction, this.#withDistribution);
    const isTrusted = this.name === 'auto' && isProven(prediction);
    if (isTrusted || !this.#mayRunPilots) return { kind: 'estimate', estimate };
    const ofPilots = this.#pilot.predict(job);
    switch (ofPilots.kind) {
      case 'thin':
        return this.name === 'hybrid' ? { kind: 'estimate', estimate } : { ...ofPilots, guess: estimate };
      case 'sample':
        return { ...ofPilots, guess: estimate, note: this.#note(ofPilots.note, prediction) };
      default:
        return ofPilots;
    }
  }

  #note(ofPilot: unknown, prediction: HistoryPrediction): Note {
    if (prediction.expert === undefined) return { ofPilot };
    const prior: Prior = {
      meanMs: prediction.estimateMs,
      logVariance: prediction.logVariance,
      taskSpread: prediction.taskSpread ?? this.#spread.typical ?? FIRST_SPREAD,
    };
    return { ofPilot, prior };
  }

  weigh(job: ArrivingJob, plan: SamplePlan, evidence: Evidence, cutoffMs: Millis): Verdict {
    const { ofPilot, prior } = noteOf<Note>(plan.note);
    const ofPilots = { ...plan, note: ofPilot };
    if (prior === undefined) return this.#pilot.weigh(job, ofPilots, evidence, cutoffMs);
    const verdict = this.#pilot.weighPilotsOnly(job, ofPilots, evidence, cutoffMs);
    const pilots = evidence.runsMs.length;
    // History cannot overrule a decision that the elapsed time of running pilots proves.
    const isEarly = evidence.elapsedMs.length > 0;
    if (verdict.kind === 'wait' || pilots === 0 || isEarly) return verdict;
    const { estimate } = verdict;
    const meanMs = combine(estimate.meanMs, pilots, prior);
    return { kind: 'decided', estimate: { meanMs, by: `${estimate.by} and history` } };
  }

  learn(ended: EndedJob): void {
    const { prediction, completed, runsMs } = ended;
    this.#pilot.learn({ ...ended, prediction: { ...prediction, note: noteOf(prediction.note).ofPilot } });
    learnFrom(this.#history, ended);
    const spread = completed ? spreadOf(runsMs) : undefined;
    if (spread !== undefined) this.#spread.add(spread);
  }

  save(): unknown {
    return {
      kind: `${this.name}/1`,
      pilot: this.#pilot.save(),
      history: this.#history.save(),
      spread: this.#spread.save(),
    };
  }

  load(saved: unknown): void {
    const { success, data } = savedSchema.safeParse(saved);
    if (!success || data.kind !== `${this.name}/1`) throw notSavedBy(this.name);
    const history = History.load(data.history, this.#settings);
    this.#pilot.load(data.pilot);
    this.#history = history;
    this.#spread = Spread.load(data.spread);
  }
}

const OWN_CHARACTERS = 256;

const savedSchema = z.lazy(() =>
  z.strictObject({
    kind: z.enum(['hybrid/1', 'auto/1']),
    pilot: z.unknown(),
    history: z.unknown(),
    spread: z.tuple([z.number(), z.number()]),
  }),
);

/** Returns whether history is accurate enough to replace pilots. The feature must include a name, because a user may submit a long job after many short ones. */
function isProven({ samples, expert, logVariance }: HistoryPrediction): boolean {
  const isNamed = expert?.feature
    .split('+')
    .some((attribute) => attribute === 'name' || attribute === 'logical');
  return isNamed === true && samples >= PROVEN_RUNS && logVariance <= PROVEN_DEVIATION ** 2;
}

interface Note extends PilotsNote {
  readonly prior?: Prior;
}
