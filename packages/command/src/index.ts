export { type Column, renderTable } from '@goshawk/core';
export {
  COMPLETED,
  type Command,
  type Completed,
  defineCommand,
  ExitCode,
  FROM,
  type Positionals,
  pageOf,
  refuseSurplusWords,
  wholeList,
  wordsFor,
} from './command.js';
export { type Context, GLOBAL_OPTIONS, type OutputStream, writeAll } from './context.js';
export {
  DetachedError,
  describeFailure,
  type Failure,
  throwAll,
  WaitTimeoutError,
} from './failure.js';
export { readGivenFile } from './given-file.js';
export { untilInterrupted, whenAborted, whenOrphaned } from './interruption.js';
export { JobWord, jobWords } from './job-word.js';
export { isCustom, isLoaded } from './module-names.js';
export {
  flagOf,
  kebab,
  type OptionSpec,
  type OptionSpecs,
  type Origin,
  optionsGiven,
  type Resolved,
  resolveOptions,
  settingName,
  variableOf,
} from './options.js';
export { pairsIn, valueListsIn } from './pairs.js';
export { START_FOLDER } from './start-folder.js';
export { commandLine, durationText, flagsFor } from './terminal/command-line.js';
export { type Painter, painter, paintJobState, paintState, plain } from './terminal/paint.js';
export { type Progress, startProgress } from './terminal/progress.js';
export { redrawing } from './terminal/redrawing.js';
export { page, type Section, section } from './terminal/sections.js';
export { cellWidth, cut } from './terminal/width.js';
export { VERSION } from './version.js';
export { withoutPasswords } from './without-passwords.js';
