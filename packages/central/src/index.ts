export { Central } from './central.js';
export * from './contract.js';
