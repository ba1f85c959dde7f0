import type { OptionSpecs, Resolved } from '@goshawk/command';
import { ON_OPTION, PARALLEL_OPTION, SEEDS_OPTION } from '../simulate/options.js';

export const FIGURE_OPTIONS = {
  list: { type: 'flag', setting: false, describe: 'list the figures' },
  jobs: {
    type: 'count',
    setting: false,
    min: 1,
    describe: 'number of jobs in the workload (default: see --list)',
  },
  trace: {
    type: 'text',
    value: 'WORKLOAD',
    setting: false,
    describe: 'workload to use instead of that of the figure: a trace file, or a generator with options',
  },
  features: {
    type: 'text',
    value: 'FILE',
    setting: false,
    describe: 'CSV file with features of the jobs of a .tr file, for figures about learning',
  },
  history: {
    type: 'text',
    value: 'FILE',
    setting: false,
    describe: 'CSV file with past jobs, for figures about learning (default: the first half of the workload)',
  },
  workers: {
    type: 'text',
    value: 'NUMBERS',
    setting: false,
    describe: 'cluster sizes: 10000,15000; only one if the figure varies another setting',
  },
  without: {
    type: 'text',
    value: 'POLICIES',
    setting: false,
    describe: 'leave these out of the figure: goshawk, or several separated by commas',
  },
  seeds: SEEDS_OPTION,
  parallel: PARALLEL_OPTION,
  on: ON_OPTION,
  for: {
    type: 'duration',
    setting: false,
    describe: 'live figures: time per policy and load (default: 30s for most figures)',
  },
  width: {
    type: 'text',
    setting: true,
    value: 'ROOM',
    choices: ['page', 'column'],
    default: 'page',
    describe:
      'room for the pictures: page, 7 inches with two panels beside each other, or column, 3.5 inches with one',
  },
  out: {
    type: 'text',
    setting: true,
    value: 'FOLDER',
    default: 'figures',
    describe: 'folder for ID.json, .csv, .runs.csv (a row per run), .svg, .pdf, .tex (pgfplots) and .html',
  },
} as const satisfies OptionSpecs;

export type FigureOptions = Resolved<typeof FIGURE_OPTIONS>;
