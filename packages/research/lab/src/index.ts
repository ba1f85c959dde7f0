/**
 * The laboratory's commands by name. `goshawk` lists them from a separate table, and a test compares both.
 */
export const commands: Readonly<Record<string, () => Promise<unknown>>> = {
  simulate: async () => (await import('./commands/simulate.js')).simulateCommand,
  replay: async () => (await import('./commands/replay.js')).replayCommand,
  compare: async () => (await import('./commands/compare.js')).compareCommand,
  whatif: async () => (await import('./commands/whatif.js')).whatifCommand,
  predictor: async () => (await import('./commands/predictor.js')).predictorCommand,
  figure: async () => (await import('./commands/figure.js')).figureCommand,
  'trace stats': async () => (await import('./commands/trace-stats.js')).traceStatsCommand,
  'trace generate': async () => (await import('./commands/trace-generate.js')).traceGenerateCommand,
  'trace convert': async () => (await import('./commands/trace-convert.js')).traceConvertCommand,
  'trace sample': async () => (await import('./commands/trace-sample.js')).traceSampleCommand,
  'trace export': async () => (await import('./commands/trace-export.js')).traceExportCommand,
};

/** Predicts the start of a job under changes of its cluster. */
export const whatIfJob = async (...asked: Parameters<typeof import('./whatif/what-if-job.js').whatIfJob>) =>
  (await import('./whatif/what-if-job.js')).whatIfJob(...asked);

/** Lists for `goshawk completion KIND`. */
export const completions = {
  workloads: async () => Object.keys((await import('@goshawk/traces')).GENERATORS),
  figures: async () => (await import('@goshawk/papers/figures')).FIGURES.map(({ id }) => id),
};

/** JSON Schemas for `goshawk schema`. */
export const schemas = async () => (await import('./schemas.js')).laboratorySchemas();
