export { loadCustomEstimator, loadPolicy, withCustomModules } from './custom-modules.js';
export { findPapers, findSolver } from './papers.js';
export { POLICY_OPTIONS, type PolicyOptions, settingsUsedBy } from './policy-options.js';
export { setOptions } from './set-options.js';
export {
  clusterSettings,
  NO_FACTS,
  policyNames,
  policyRecord,
  policySettings,
  SHARING_POLICIES,
  schedulersEstimator,
  type WorkloadFacts,
} from './settings.js';
export { shadowNames } from './shadow-names.js';
