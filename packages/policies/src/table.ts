import {
  describeThrownIn,
  InputError,
  LIMITS,
  type Millis,
  nearest,
  PAPER_POLICY_NAMES,
  type PolicySettings,
  PRESETS,
  type Preset,
} from '@goshawk/core';
import type { CentralPolicy, PolicyContext, PolicyModule, PolicyOption, PolicyOptions } from './contract.js';
import { checkedPolicy, madeByFile } from './custom-policy.js';
import { goshawk } from './goshawk/goshawk.js';
import { GuardedPolicy } from './guarded.js';
import { hawk } from './hawk/hawk.js';

// biome-ignore lint/suspicious/noExplicitAny: options differ by policy
type Modules = Readonly<Record<string, PolicyModule<any>>>;

/** Central's policies of this package; docs/checklists/adding-a-policy.md says how to add one. */
export const CENTRAL_POLICIES: Modules = { goshawk, hawk };

/** All policies of this process: those above and loaded ones of papers by name, custom ones by absolute path. */
const POLICIES = new Map<string, PolicyModule>(Object.entries(CENTRAL_POLICIES));
/** Presets by their names on the command line: the fixed ones, and one for each policy without a fixed one. */
const ALL_PRESETS = new Map<string, Preset>(Object.entries(PRESETS));
for (const [name, module] of Object.entries(CENTRAL_POLICIES))
  if (!ALL_PRESETS.has(name)) ALL_PRESETS.set(name, presetOf(name, module));

/** Registers policies of another package, which are named in `PAPER_POLICY_NAMES` of core. */
export function addPolicies(modules: Modules): void {
  for (const [name, module] of Object.entries(modules)) addPolicy(name, name, module);
}

function addPolicy(name: string, key: string, module: PolicyModule): void {
  POLICIES.set(key, module);
  ALL_PRESETS.set(name, presetOf(key, module));
}

/**
 * Registers a custom module like other policies: by this name for selection, by its path in settings.
 * @param path absolute
 * @param exported default export of the file
 * @throws InputError that describes the violation of the contract
 */
export function addCustomPolicy(name: string, path: string, exported: unknown): void {
  if (path.length > LIMITS.nameLengthMax)
    throw new InputError(
      'bad-policy',
      `--policy ${name}: its path has more than ${LIMITS.nameLengthMax} characters`,
    );
  addPolicy(name, path, checkedPolicy(name, exported));
}

/** Whether the preset runs a custom policy that this process has loaded. */
export function isCustomPolicy({ decidedBy }: Preset): boolean {
  return decidedBy !== undefined && isFile(decidedBy.policy);
}

/** Names accepted by `--policy`; paper policies are loaded on demand. */
export const ALL_POLICY_NAMES: readonly string[] = [...ALL_PRESETS.keys(), ...PAPER_POLICY_NAMES];

/** @throws InputError that lists the policies */
export function presetNamed(name: string): Preset {
  const preset = ALL_PRESETS.get(name);
  if (preset !== undefined) return preset;
  if (PAPER_POLICY_NAMES.includes(name)) throw notInstalled(name);
  const guess = nearest(name, ALL_POLICY_NAMES) ?? ALL_POLICY_NAMES.find((known) => known.startsWith(name));
  throw new InputError(
    'unknown-policy',
    `unknown policy "${name}"`,
    guess === undefined ? '`goshawk policies` lists all policies' : `did you mean "${guess}"?`,
  );
}

/** A preset in which central schedules all jobs with this policy. */
function presetOf(policy: string, { title, declares, gangs = 'none', packs = false }: PolicyModule): Preset {
  return {
    title,
    short: { by: 'matching', over: 'all' },
    long: { by: 'matching', over: 'all' },
    partition: false,
    stealing: false,
    decidedBy: { policy, options: {} },
    byClass: false,
    declares,
    gangs,
    abandons: false,
    packs,
  };
}

/** The preset with these policy options and the settings that follow from them. */
export function decidedWith(preset: Preset, options: PolicyOptions): Preset {
  const { policy } = preset.decidedBy;
  const module = policyModule(policy);
  const chosen = optionsOf(policy, module, options);
  try {
    return { ...preset, decidedBy: { policy, options }, abandons: module.abandons?.(chosen) === true };
  } catch (error) {
    const what = `"abandons" throws ${describeThrownIn(error, policy)}`;
    throw new InputError('bad-policy', `--policy ${policy}: ${what}`, '', { cause: error });
  }
}

/** The module of central's policy, with the preset's options. */
export function deciderOf({ decidedBy: { policy, options } }: Preset): {
  readonly module: PolicyModule;
  readonly options: PolicyOptions;
} {
  return { module: policyModule(policy), options };
}

/** Number of cycles without an answer after which a solver is restarted. */
const HUNG_CYCLES = 10;

/**
 * Time after which a silent solver is considered hung. The policy continues without an answer after one cycle;
 * restarting a merely slow solver would cost more than waiting. In ms; undefined: no solver.
 */
export function solverTimeoutMs(preset: Preset): Millis | undefined {
  const { module, options } = deciderOf(preset);
  const cycleMs = Number(options.cycleMs ?? module.options.cycleMs?.default);
  return module.solves ? HUNG_CYCLES * cycleMs : undefined;
}

/** @throws InputError that lists the policies */
export function policyModule(name: string): PolicyModule {
  const module = POLICIES.get(name);
  if (module !== undefined) return module;
  if (PAPER_POLICY_NAMES.includes(name)) throw notInstalled(name);
  throw new InputError(
    'unknown-policy',
    `unknown central policy "${name}"`,
    `known policies: ${Object.keys(CENTRAL_POLICIES).join(', ')}`,
  );
}

function isFile(policy: string): boolean {
  return (
    POLICIES.has(policy) && !Object.hasOwn(CENTRAL_POLICIES, policy) && !PAPER_POLICY_NAMES.includes(policy)
  );
}

function notInstalled(name: string): InputError {
  return new InputError(
    'unknown-policy',
    `policy ${name} is in @goshawk/papers, which is not installed`,
    '`npm install @goshawk/papers` beside @goshawk/cli',
  );
}

/**
 * Creates the policy with these options; omitted ones have defaults.
 *
 * @throws InputError that names an unknown or invalid option, or what a custom policy threw
 */
export function makePolicy(name: string, given: PolicyOptions, context: PolicyContext): CentralPolicy {
  const module = policyModule(name);
  const options = optionsOf(name, module, given);
  return isFile(name) ? madeByFile(name, module, options, context) : module.make(options, context);
}

/** @throws InputError that names an unknown or invalid option */
export function optionsOf(policy: string, module: PolicyModule, given: PolicyOptions): PolicyOptions {
  const known = Object.keys(module.options);
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const guess = nearest(name, known);
    throw new InputError(
      'unknown-option',
      `policy ${policy} has no option "${name}"`,
      guess === undefined ? `its options: ${known.join(', ') || 'none'}` : `did you mean "${guess}"?`,
    );
  }
  return Object.fromEntries(
    Object.entries(module.options).map(([name, option]) => {
      const value = given[name] ?? option.default;
      check(`${policy}: ${name}`, option, value);
      return [name, value];
    }),
  );
}

function check(
  what: string,
  { default: normal, min, max, choices }: PolicyOption<unknown>,
  value: unknown,
): void {
  const fail = (wanted: string): never => {
    throw new InputError(
      'bad-option',
      `${what}: expected ${wanted}, got ${typeof value === 'number' ? value : JSON.stringify(value)}`,
    );
  };
  if (typeof value !== typeof normal) fail(`a ${typeof normal}`);
  if (choices !== undefined && !choices.includes(value)) fail(`one of ${choices.join(', ')}`);
  if (typeof value !== 'number') return;
  const least = min ?? Number.NEGATIVE_INFINITY;
  const most = max ?? Number.POSITIVE_INFINITY;
  if (!(value >= least && value <= most)) fail(`a number from ${least} to ${most}`);
}

/**
 * Creates central's policy for these settings.
 *
 * @param cutoffMs current cutoff, if central learns it
 * @param joinMs time within which workers register with a new central
 * @param failed receives exceptions of a custom policy; without it they propagate
 * @throws InputError later, if the policy plans something invalid and no handler is given
 */
export function policyOf(
  { policy: name, reserve, lend, estimator, preset }: PolicySettings,
  cutoffMs: () => Millis,
  joinMs: Millis,
  random: () => number,
  failed: (error: unknown) => void = (error) => {
    throw new InputError('policy-failed', `the policy ${name} threw: ${describeThrownIn(error, name)}`);
  },
): CentralPolicy {
  const { policy, options } = preset.decidedBy;
  const sizesAreGiven = estimator === 'given';
  const context = {
    get cutoffMs() {
      return cutoffMs();
    },
    // Short tasks that central does not match cannot borrow.
    lend: preset.short.by === 'matching' ? lend : 'none',
    ...{ reserve, sizesAreGiven, joinMs, random },
  };
  const made = makePolicy(policy, options, context);
  return isFile(policy) ? new GuardedPolicy(made, preset.gangs === 'all', failed) : made;
}
