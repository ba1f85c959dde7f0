export { completionScript, completionsOf, SHELLS, type Shell } from './completion.js';
export { helpOn, optionRows, optionsByUse } from './help.js';
export { parse } from './parser.js';
export type { Program } from './program.js';
export { unreadableVariables } from './raw-arguments.js';
export { codeOfInterruption, errorFormat, run, tellFailure } from './run.js';
export { VARIABLES_OF_OTHERS } from './stray-settings.js';
