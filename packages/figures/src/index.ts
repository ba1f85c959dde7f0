export { assess, type RunsAt, type Swept } from './assess.js';
export type { Axis, Tick } from './axis.js';
export { workersAxis } from './axis.js';
export type { Figure, FigureWorkload, Paper, Variant, Verdict } from './figure.js';
export { FIGURES, figuresNamed, GROUPS } from './figures.js';
export type { FinishedRun, JobTimes } from './measure.js';
export type { FigureResult, JudgedClaim } from './result.js';
export type { RunSettings } from './settings.js';
