export { checkFile } from './check.js';
