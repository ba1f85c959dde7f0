export { type GangPolicy, runGangExperiment, SIGMA_FEATURES } from './gangs.js';
export { normalBelief } from './normal-belief.js';
export { runStagedTrial, type StagedTrial } from './stages.js';
export * from './trial.js';
