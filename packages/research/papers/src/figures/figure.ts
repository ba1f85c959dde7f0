import type { Axis } from './axis.js';
import type { Pair, Point } from './point.js';
import type { PackingSetUp, RunSettings } from './settings.js';

/** The source of a figure. */
export interface Paper {
  /** Short name for text: "Hawk". */
  readonly name: string;
  readonly reference: string;
}

/** One kind of run at each point of the axis. Its settings override those of the point. */
export interface Variant {
  readonly name: string;
  readonly settings: RunSettings;
  /** Live figures have variants of both kinds, on the same jobs at the same times. */
  readonly mode?: 'live' | 'simulated';
}

export interface Series {
  readonly name: string;
  /** Returns undefined if the point lacks the run, or the run has no job of the class. */
  readonly value: (point: Point, all: readonly Point[]) => number | undefined;
  /** Unit for display. */
  readonly unit: 'ratio' | 'index' | 'share' | 'seconds' | 'hours' | 'tasks';
  /** Values that the paper's text states at some points of the axis. */
  readonly paper?: readonly (readonly [x: number, value: number])[];
  /** Whether this project added the line to those of the paper; charts draw it differently. */
  readonly isAddition?: boolean;
}

export type Panel =
  | {
      readonly kind: 'lines' | 'bars';
      readonly title: string;
      readonly axisName: string;
      readonly series: readonly Series[];
    }
  /** Numbers that the paper states in its text. */
  | { readonly kind: 'table'; readonly title: string; readonly series: readonly Series[] }
  /**
   * Cumulative distributions at the first point of the axis, one line per variant: of the run times of a class or, in
   * staged figures, of all jobs, or of the errors of predictions.
   */
  | {
      readonly kind: 'distribution';
      readonly title: string;
      readonly of: 'short' | 'long' | 'staged' | 'errors';
      readonly variants: readonly string[];
    }
  /** The ratio chosen for each sampled job of the first seed, in order, at a point of the axis. */
  | {
      readonly kind: 'course';
      readonly title: string;
      readonly at: number;
      readonly variants: readonly string[];
    };

export type FigureMode = 'simulated' | 'live' | 'predicted' | 'planned' | 'modelled' | 'staged';

/**
 * `not confirmed`: a tie, an effect no larger than its spread over the seeds or, with one seed, than 5% (20% for 625 jobs), or too
 * few jobs.
 * `not judged`: the run does not cover the claim.
 */
export const VERDICTS = ['holds', 'in direction', 'does not hold', 'not confirmed', 'not judged'] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface Judgement {
  readonly verdict: Verdict;
  /** Our numbers, briefly. */
  readonly ours: string;
  /** Effects: the ratios that were judged; 1 is no effect. */
  readonly ratios?: readonly number[];
}

/**
 * A claim states an effect of one variant over another, which a tie does not confirm; that variants are alike; or a value of
 * one variant.
 */
export type ClaimKind = 'effect' | 'alike' | 'value';

export interface Judge {
  (points: readonly Point[], where?: (x: number) => boolean): Judgement;
  readonly kind: ClaimKind;
}

/** A statement of the paper about a figure, with a function that judges whether the statement holds here. */
export interface Claim {
  readonly section: string;
  /** Close to the paper's words, in one sentence. */
  readonly text: string;
  readonly judge: Judge;
}

/** Default workload of a figure: a generator, and its number of jobs. */
export interface FigureWorkload {
  readonly generator: string;
  /** Further options of the generator, `key=value,…`. */
  readonly options?: string;
  readonly jobs: number;
  /** Number of jobs of the paper's workload, if the paper states it. */
  readonly paperJobs?: number;
  /** Whether `generator` is the whole workload: a generator with its options, or the path of a trace. */
  readonly isGiven?: boolean;
  /** Whether the figure is meaningful with another workload (`--trace`). */
  readonly isReplaceable: boolean;
  /** The trace that must be given, if no generator exists for the figure. */
  readonly traceNeeded?: { readonly what: string; readonly hint: string };
  /** Simulated figures: each seed runs this many jobs, drawn from those with at most this many tasks. */
  readonly draw?: { readonly jobs: number; readonly tasksMax: number };
}

/** A figure of a paper as data: its runs, its panels, and the paper's claims. */
export interface Figure {
  readonly id: string;
  readonly title: string;
  readonly paper: Paper;
  readonly section: string;
  /** One or two sentences: what runs, and how to read it. */
  readonly about: string;
  /**
   * `predicted`: estimators predict jobs and learn from them, without a cluster. `planned`: a central policy
   * runs alone, on gangs. `staged`: the same, on jobs with stages and demands. `modelled`: policies run in
   * the model of their paper, without messages.
   */
  readonly mode: FigureMode;
  /** Whether its claims are about wall times or live runs, which depend on the machine and its load. */
  readonly isTimed?: true;
  /** Set-up of modelled figures; variants are named after the policies. */
  readonly model?: PackingSetUp;
  readonly workload: FigureWorkload;
  readonly settings: RunSettings;
  readonly axis: Axis;
  readonly variants: readonly Variant[];
  /** Variants to compare job by job. */
  readonly pairs?: readonly Pair[];
  readonly panels: readonly Panel[];
  readonly claims: readonly Claim[];
}

/** Variants for policies, each with its name. */
export function policies(...names: readonly string[]): Variant[] {
  return names.map((policy) => ({ name: policy, settings: { policy } }));
}

export function lines(title: string, axisName: string, series: readonly Series[]): Panel {
  return { kind: 'lines', title, axisName, series };
}

export function bars(title: string, axisName: string, series: readonly Series[]): Panel {
  return { kind: 'bars', title, axisName, series };
}

/** A table of numbers that the paper states in its text. */
export function table(title: string, series: readonly Series[]): Panel {
  return { kind: 'table', title, series };
}

/** Claims of a section of the paper, each with a judge. */
export function claims(section: string, judges: Readonly<Record<string, Judge>>): Claim[] {
  return Object.entries(judges).map(([text, judge]) => ({ section, text, judge }));
}
