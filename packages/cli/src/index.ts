export { LABORATORY_COMMANDS, type Laboratory } from './laboratory.js';
