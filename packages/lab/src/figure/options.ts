import type { OptionSpecs, Resolved } from '@goshawk/cli';

export const FIGURE_OPTIONS = {
  list: { type: 'flag', flagOnly: true, describe: 'the figures that there are' },
  jobs: {
    type: 'count',
    flagOnly: true,
    min: 1,
    describe: 'jobs of the generated workload; of live figures, jobs drawn from it (default: see --list)',
  },
  trace: {
    type: 'text',
    flagOnly: true,
    describe: 'run on this workload instead: a trace file, or a generator with its options',
  },
  features: {
    type: 'text',
    flagOnly: true,
    describe:
      'of figures about learning, on a .tr file: what is known of its jobs beside their times, a CSV file',
  },
  history: {
    type: 'text',
    flagOnly: true,
    describe:
      'of figures about learning: jobs that ended before, a CSV file (default: the first half of the workload)',
  },
  workers: {
    type: 'text',
    flagOnly: true,
    describe: 'sizes of the cluster, such as 10000,15000; one, where the figure varies something else',
  },
  seeds: { type: 'count', default: 1, min: 1, max: 1_000, describe: 'run so many seeds, and average' },
  parallel: {
    type: 'count',
    min: 1,
    max: 64,
    describe: 'simulations at a time, each in a thread (default: one a core)',
  },
  for: {
    type: 'duration',
    flagOnly: true,
    describe:
      'of live figures: how long a policy takes at each load, about (default: 30s, or as the figure has it)',
  },
  out: { type: 'text', default: 'figures', describe: 'the folder for ID.json, ID.svg and ID.html' },
} as const satisfies OptionSpecs;

export type FigureOptions = Resolved<typeof FIGURE_OPTIONS>;
