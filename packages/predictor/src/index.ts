export * from './estimator.js';
export * from './estimators.js';
export * from './guarded.js';
export * from './history/features.js';
export * from './history/histogram.js';
export * from './history/history.js';
export * from './settings.js';
