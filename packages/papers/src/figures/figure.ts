import type { Axis } from './axis.js';
import type { Pair, Point } from './point.js';
import type { PackingSetUp, RunSettings } from './settings.js';

/** The source of a figure. */
export interface Paper {
  /** Short name for text: "Hawk". */
  readonly name: string;
  readonly reference: string;
}

/** One kind of run at each place of the axis. Its settings win over those of the place. */
export interface Variant {
  readonly name: string;
  readonly settings: RunSettings;
  /** Live figures have variants of both kinds, on the same jobs at the same times. */
  readonly mode?: 'live' | 'simulated';
}

export interface Series {
  readonly name: string;
  /** Undefined where the point lacks the run, or the run a job of the class. */
  readonly value: (point: Point, all: readonly Point[]) => number | undefined;
  /** How its numbers are written. */
  readonly unit: 'ratio' | 'share' | 'seconds' | 'hours' | 'tasks';
  /** Values that the paper's text states at some places of the axis. */
  readonly paper?: readonly (readonly [x: number, value: number])[];
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
   * Cumulative distributions at the first place of the axis, a line a variant: of the run times of a class, or of the
   * errors of predictions.
   */
  | {
      readonly kind: 'distribution';
      readonly title: string;
      readonly of: 'short' | 'long' | 'errors';
      readonly variants: readonly string[];
    }
  /** The ratio that was chosen for each sampled job of the first seed, one after another, at a place of the axis. */
  | {
      readonly kind: 'course';
      readonly title: string;
      readonly at: number;
      readonly variants: readonly string[];
    };

export type FigureMode = 'simulated' | 'live' | 'predicted' | 'planned' | 'modelled' | 'staged';

export const VERDICTS = ['holds', 'in direction', 'does not hold', 'too few jobs', 'not judged'] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface Judgement {
  readonly verdict: Verdict;
  /** Our numbers, in a few words. */
  readonly ours: string;
}

export type Judge = (points: readonly Point[], where?: (x: number) => boolean) => Judgement;

/** Something that the paper says of a figure, and how to tell whether it is so here. */
export interface Claim {
  readonly section: string;
  /** As the paper says it, as closely as one sentence allows. */
  readonly text: string;
  readonly judge: Judge;
}

/** Default workload of a figure: a generator, and its number of jobs. */
export interface FigureWorkload {
  readonly generator: string;
  /** Further options of the generator, `key=value,…`. */
  readonly options?: string;
  readonly jobs: number;
  /** Jobs of the paper's own workload, where it says so. */
  readonly paperJobs?: number;
  /** Whether the figure means something on another workload (`--trace`). */
  readonly isReplaceable: boolean;
  /** There is no generator for it: it has to be named. */
  readonly traceNeeded?: { readonly what: string; readonly hint: string };
  /** Simulated figures: each seed runs so many jobs of no more tasks, drawn from those. */
  readonly draw?: { readonly jobs: number; readonly tasksMax: number };
}

/** A figure of a paper, as data: what it runs, what is drawn, and what the paper says of it. */
export interface Figure {
  readonly id: string;
  readonly title: string;
  readonly paper: Paper;
  readonly section: string;
  /** One or two sentences: what is run, and how to read it. */
  readonly about: string;
  /**
   * Predicted figures run nothing: estimators are asked about jobs, and learn what these took. Planned ones run a central
   * policy by itself, on jobs all of whose tasks start together; staged ones on jobs of stages with demands. Modelled ones
   * run policies in the model of their paper, without messages.
   */
  readonly mode: FigureMode;
  /** Set-up of modelled figures; variants are named after the policies. */
  readonly model?: PackingSetUp;
  readonly workload: FigureWorkload;
  readonly settings: RunSettings;
  readonly axis: Axis;
  readonly variants: readonly Variant[];
  /** Variants whose jobs are compared one by one. */
  readonly pairs?: readonly Pair[];
  readonly panels: readonly Panel[];
  readonly claims: readonly Claim[];
}

/** Policies side by side, each as its name says. */
export function policies(...names: readonly string[]): Variant[] {
  return names.map((policy) => ({ name: policy, settings: { policy } }));
}

export function lines(title: string, axisName: string, series: readonly Series[]): Panel {
  return { kind: 'lines', title, axisName, series };
}

export function bars(title: string, axisName: string, series: readonly Series[]): Panel {
  return { kind: 'bars', title, axisName, series };
}

/** Numbers that the paper states in its text. */
export function table(title: string, series: readonly Series[]): Panel {
  return { kind: 'table', title, series };
}

/** Claims of a section of the paper, each with a judge. */
export function claims(section: string, judges: Readonly<Record<string, Judge>>): Claim[] {
  return Object.entries(judges).map(([text, judge]) => ({ section, text, judge }));
}
