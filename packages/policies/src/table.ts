import {
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
import { goshawk } from './goshawk/goshawk.js';
import { GuardedPolicy } from './guarded.js';
import { hawk } from './hawk/hawk.js';
import { checkedPolicy, inOneLine } from './own.js';

/** The one table of central policies: a folder and a line here make a new one. */
// biome-ignore lint/suspicious/noExplicitAny: each has options of its own
export const CENTRAL_POLICIES: Readonly<Record<string, PolicyModule<any>>> = {
  goshawk,
  hawk,
};

/** Policies that this process has loaded: those of the papers by name, those of files by absolute path. */
const LOADED_POLICIES = new Map<string, PolicyModule>();
/** Presets of loaded policies by the name that options have for them. */
const LOADED_PRESETS = new Map<string, Preset>();

/** Registers policies of another package, which are named in `PAPER_POLICY_NAMES` of core. */
// biome-ignore lint/suspicious/noExplicitAny: each has options of its own
export function addPolicies(modules: Readonly<Record<string, PolicyModule<any>>>): void {
  for (const [name, module] of Object.entries(modules)) addPolicy(name, name, module);
}

function addPolicy(name: string, key: string, module: PolicyModule): void {
  LOADED_POLICIES.set(key, module);
  LOADED_PRESETS.set(name, presetOf(key, module));
}

/**
 * Registers a custom module like other policies: by this name for selection, by its path in settings.
 * @param path absolute
 * @param exported default export of the file
 * @throws InputError that describes the violation of the contract
 */
export function addOwnPolicy(name: string, path: string, exported: unknown): void {
  if (path.length > LIMITS.nameLengthMax)
    throw new InputError(
      'bad-policy',
      `--policy ${name}: its path has more than ${LIMITS.nameLengthMax} characters`,
    );
  addPolicy(name, path, checkedPolicy(name, exported));
}

/** Whether a file that somebody has named decides. */
export function isOwnPolicy({ decidedBy }: Preset): boolean {
  return decidedBy !== undefined && isFile(decidedBy.policy);
}

/** Every policy by its name: those of known parts, and those that one of these policies decides. */
const ALL_PRESETS: Readonly<Record<string, Preset>> = {
  ...PRESETS,
  ...Object.fromEntries(
    Object.entries(CENTRAL_POLICIES)
      .filter(([name]) => !Object.hasOwn(PRESETS, name))
      .map(([name, module]) => [name, presetOf(name, module)]),
  ),
};

/** Names that `--policy` takes; those of the papers are loaded when they are chosen. */
export const ALL_POLICY_NAMES: readonly string[] = [...Object.keys(ALL_PRESETS), ...PAPER_POLICY_NAMES];

/** @throws InputError that names the policies there are */
export function presetNamed(name: string): Preset {
  if (Object.hasOwn(ALL_PRESETS, name)) return ALL_PRESETS[name]!;
  const loaded = LOADED_PRESETS.get(name);
  if (loaded !== undefined) return loaded;
  if (PAPER_POLICY_NAMES.includes(name)) throw notInstalled(name);
  const guess = nearest(name, ALL_POLICY_NAMES) ?? ALL_POLICY_NAMES.find((known) => known.startsWith(name));
  throw new InputError(
    'unknown-policy',
    `unknown policy "${name}"`,
    guess === undefined ? '`goshawk policies` lists all policies' : `did you mean "${guess}"?`,
  );
}

/** Every job by central, which this policy decides about. */
function presetOf(policy: string, { title, declares, gangs = false, packs = false }: PolicyModule): Preset {
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

/** The preset with these options of its policy, and what follows from them. */
export function decidedWith(preset: Preset, options: PolicyOptions): Preset {
  const { policy } = preset.decidedBy;
  const module = policyModule(policy);
  const abandons = module.abandons?.(optionsOf(policy, module, options)) ?? false;
  return { ...preset, decidedBy: { policy, options }, abandons };
}

/** Module of central's policy, with the preset's options. */
export function deciderOf({ decidedBy: { policy, options } }: Preset): {
  readonly module: PolicyModule;
  readonly options: PolicyOptions;
} {
  return { module: policyModule(policy), options };
}

/** So many cycles without an answer. */
const HANGING_CYCLES = 10;

/**
 * For how long a solver may be silent before it is taken to hang. The policy does without it after a cycle; to end one that is only
 * slow would have the next one load and warm up, which is slower. ms; undefined: none is asked
 */
export function solverTimeoutMs(preset: Preset): Millis | undefined {
  const { module, options } = deciderOf(preset);
  const cycleMs = Number(options.cycleMs ?? module.options.cycleMs?.default);
  return module.solves ? HANGING_CYCLES * cycleMs : undefined;
}

/** @throws InputError that names the policies there are */
export function policyModule(name: string): PolicyModule {
  const loaded = LOADED_POLICIES.get(name);
  if (loaded !== undefined) return loaded;
  if (PAPER_POLICY_NAMES.includes(name)) throw notInstalled(name);
  if (!Object.hasOwn(CENTRAL_POLICIES, name)) {
    const known = Object.keys(CENTRAL_POLICIES);
    throw new InputError(
      'unknown-policy',
      `unknown central policy "${name}"`,
      `known policies: ${known.join(', ')}`,
    );
  }
  return CENTRAL_POLICIES[name]!;
}

function isFile(policy: string): boolean {
  return LOADED_POLICIES.has(policy) && !PAPER_POLICY_NAMES.includes(policy);
}

function notInstalled(name: string): InputError {
  return new InputError(
    'unknown-policy',
    `policy ${name} is in @goshawk/papers, which is not installed`,
    '`npm install @goshawk/papers` beside @goshawk/cli',
  );
}

/**
 * The policy with these options; those that are left out have their defaults.
 *
 * @throws InputError that names an option that is unknown or out of its bounds
 */
export function makePolicy(name: string, given: PolicyOptions, context: PolicyContext): CentralPolicy {
  const module = policyModule(name);
  return module.make(optionsOf(name, module, given), context);
}

/** @throws InputError that names an option that is unknown or out of its bounds */
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
    throw new InputError('bad-option', `${what}: expected ${wanted}, got ${JSON.stringify(value)}`);
  };
  if (typeof value !== typeof normal) fail(`a ${typeof normal}`);
  if (choices !== undefined && !choices.includes(value)) fail(`one of ${choices.join(', ')}`);
  if (typeof value !== 'number') return;
  const least = min ?? Number.NEGATIVE_INFINITY;
  const most = max ?? Number.POSITIVE_INFINITY;
  if (!(value >= least && value <= most)) fail(`a number from ${least} to ${most}`);
}

/**
 * The policy by which central decides in a cluster of these settings.
 *
 * @param cutoffMs at present, where central learns it
 * @param joinMs within which all workers come back to a new central
 * @param failed gets what a policy of one's own throws; without it, that is thrown on
 * @throws InputError later, when it plans and there is nobody to tell
 */
export function policyOf(
  { policy: name, reserve, estimator, preset }: PolicySettings,
  cutoffMs: () => Millis,
  joinMs: Millis,
  random: () => number,
  failed: (error: unknown) => void = (error) => {
    throw new InputError('policy-failed', `the policy ${name} threw: ${inOneLine(error, name)}`);
  },
): CentralPolicy {
  const { policy, options } = preset.decidedBy;
  const sizesAreGiven = estimator === 'given';
  const context = {
    get cutoffMs() {
      return cutoffMs();
    },
    ...{ reserve, sizesAreGiven, joinMs, random },
  };
  const made = makePolicy(policy, options, context);
  return isFile(policy) ? new GuardedPolicy(made, preset.gangs, failed) : made;
}
