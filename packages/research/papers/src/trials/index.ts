export { type GangPolicy, runGangExperiment, SIGMA_FEATURES } from './gangs.js';
export { normalEstimates } from './normal-estimates.js';
export { runStagedTrial, type StagedTrial } from './stages.js';
export * from './trial.js';
