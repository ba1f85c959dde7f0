export * from './estimator.js';
export * from './estimators.js';
export * from './guarded.js';
export * from './settings.js';
