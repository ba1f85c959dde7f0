export { ATTRIBUTE_OPTION, attributesOfAll, parseAttributes } from './attributes.js';
export { connect, findCluster, openCluster } from './cluster.js';
export { type Command, defineCommand, ExitCode } from './command.js';
export { SHADOW_OPTION } from './commands/daemon-options.js';
export type { Context } from './context.js';
export { describeFailure, type Failure } from './failure.js';
export { untilInterrupted } from './interruption.js';
export { LABORATORY_COMMANDS, type Laboratory } from './laboratory.js';
export { LocalCluster } from './local/cluster.js';
export { journalIn } from './local/free-folder.js';
export {
  flagOf,
  kebab,
  type OptionSpecs,
  type Origin,
  optionsGiven,
  type Resolved,
} from './options.js';
export { loadOwnEstimator, loadPolicy } from './own-modules.js';
export { isOwn } from './own-names.js';
export { POLICY_OPTIONS, type PolicyOptions } from './policy-options.js';
export {
  capacityOf,
  RESOURCES_OPTION,
  SLOTS_OPTION,
  SLOTS_OR_NONE_OPTION,
  timesAll,
} from './resources.js';
export { setOptions } from './set-options.js';
export {
  checkSlots,
  NO_FACTS,
  policyNames,
  policyRecord,
  policySettings,
  schedulersEstimator,
  type WorkloadFacts,
} from './settings.js';
export { shadowNames } from './shadow-names.js';
export { commandLine } from './terminal/command-line.js';
export { painter } from './terminal/paint.js';
export { type Progress, startProgress } from './terminal/progress.js';
export { type Column, renderTable } from './terminal/table.js';
export { decodeText } from './text.js';
export { VERSION } from './version.js';
