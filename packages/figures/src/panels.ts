import type { Panel, Series } from './figure.js';

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
