import { kebab, type OptionSpecs, optionsGiven } from '@goshawk/command';
import { POLICY_OPTIONS } from '@goshawk/command/policy';
import { didYouMean, InputError, nearest } from '@goshawk/core';
import { deciderOf, presetNamed } from '@goshawk/policies';

/** The settings of a run under a separate name. */
export interface Variant<Options> {
  /** Name in tables: the policy, and its differences from the command's settings. */
  readonly label: string;
  /** Options with one policy and one estimator. */
  readonly options: Options;
  /** The policy as named, and its differences from the command's settings. */
  readonly entry: string;
  readonly change: string;
}

/**
 * Returns the pairs to compare: the first policy against each other one under equal settings, if both vary;
 * otherwise none.
 */
export function pairsOf(
  variants: readonly Pick<Variant<unknown>, 'label' | 'entry' | 'change'>[],
): readonly (readonly [policy: string, baseline: string])[] | undefined {
  const entries = new Set(variants.map(({ entry }) => entry));
  const changes = new Set(variants.map(({ change }) => change));
  if (entries.size < 2 || changes.size < 2) return undefined;
  return [...changes].flatMap((change) => {
    const [first, ...others] = variants.filter((variant) => variant.change === change);
    return others.map((other) => [first!.label, other.label] as const);
  });
}

/** The `--vary` option of all comparing commands. */
export const VARY_OPTION = {
  type: 'texts',
  value: 'NAME=VALUES',
  setting: false,
  describe:
    'compare values of a setting: steal-cap=1,10,30 (with ; between values that contain commas); repeat it for all combinations',
} as const;

interface VariedSettings {
  readonly policy: string;
  readonly estimator: string;
  readonly vary: readonly string[];
}

/** A setting with one value and its label; without values, the command's setting applies. */
type Change = {
  readonly label: string;
  readonly values: Readonly<Record<string, unknown>>;
  /** Options of policies that `--vary` names, with their part of the label; other policies ignore them. */
  readonly of?: ReadonlyMap<string, string>;
};

/**
 * Returns the variants to compare: each policy with the settings of its entry (`hawk:no-stealing`,
 * `hawk:steal-cap=1`), under each estimator and each combination of `--vary`.
 * @param specs of the settings that may differ
 * @throws InputError for unknown, fixed or repeated settings
 */
export function variantsOf<Options extends VariedSettings>(
  options: Options,
  specs: OptionSpecs,
): Variant<Options>[] {
  const policies = listed(options.policy).map((entry) => ownSettings(entry, specs));
  const estimators = listed(options.estimator);
  const named = policies.map(({ policy }) => policy);
  const axes = options.vary.map((text) => axisOf(text, specs, named));
  if (estimators.length > 1) axes.unshift(estimators.map((value) => changeOf('estimator', value, specs)));
  let changes: Change[] = [{ label: '', values: {} }];
  for (const axis of axes) {
    changes = changes.flatMap((before) => axis.map((change) => joined(before, change)));
  }
  const variants = policies.flatMap(({ policy, label, values }) =>
    changesFor(policy, changes).map((change) => ({
      label: change.label === '' ? label : `${label} ${change.label}`,
      entry: label,
      change: change.label,
      options: {
        ...options,
        ...change.values,
        ...values,
        ...setsOf((options as { set?: readonly string[] }).set, change.values.set, values.set),
        policy,
      },
    })),
  );
  const labels = variants.map(({ label }) => label);
  const duplicate = labels.find((label, index) => labels.indexOf(label) !== index);
  if (duplicate !== undefined) throw new InputError('bad-option', `--policy lists ${duplicate} twice`);
  return variants;
}

function joined(one: Change, other: Change): Change {
  return {
    label: `${one.label} ${other.label}`.trim(),
    values: { ...one.values, ...other.values, ...setsOf(one.values.set, other.values.set) },
    ...((one.of ?? other.of) && { of: new Map([...(one.of ?? []), ...(other.of ?? [])]) }),
  };
}

/** Returns the values of `--set` in all lists; the last one of a name applies. */
function setsOf(...lists: readonly unknown[]): { readonly set?: readonly string[] } {
  const given = lists.filter((list): list is readonly string[] => Array.isArray(list) && list.length > 0);
  if (given.length === 0) return {};
  const byName = new Map(given.flat().map((text) => [text.split('=')[0]!.trim(), text]));
  return { set: [...byName.values()] };
}

/** Returns the changes as they apply to a policy: without options that it does not have, and each once. */
function changesFor(policy: string, changes: readonly Change[]): readonly Change[] {
  const found: Change[] = [];
  const reduced = new Set<string>();
  for (const change of changes) {
    const foreign = [...(change.of ?? [])].filter(([name]) => !hasOption(policy, name));
    const labels = foreign.map(([, label]) => label);
    const label = change.label
      .split(' ')
      .filter((part) => !labels.includes(part))
      .join(' ');
    const names = foreign.map(([name]) => name);
    const set = ((change.values.set ?? []) as readonly string[]).filter(
      (text) => !names.includes(text.split('=')[0]!),
    );
    if (foreign.length === 0) found.push(change);
    else if (!reduced.has(label)) found.push({ label, values: { ...change.values, set } });
    if (foreign.length > 0) reduced.add(label);
  }
  return found;
}

/** Whether a policy has an option of its module with this name, for `--set`. */
function hasOption(policy: string, name: string): boolean {
  const { options } = deciderOf(presetNamed(policy)).module;
  return Object.hasOwn(options, name) && options[name]!.flag === undefined;
}

function listed(text: string): string[] {
  return text.split(',').map((part) => part.trim());
}

/** Parses an entry such as `hawk:no-stealing:steal-cap=1`. */
function ownSettings(entry: string, specs: OptionSpecs): Change & { readonly policy: string } {
  const [policy = '', ...settings] = entry.split(':');
  const changes = settings.map((text) => {
    const [name, value] = pairOf(text);
    if (value !== undefined)
      return hasOption(policy, name) && !isSetting(name, specs)
        ? { label: text, values: { set: [text] } }
        : changeOf(name, value, specs, '--policy', [policy]);
    const [option, flag] = name.startsWith('no-') ? [name.slice(3), 'false'] : [name, 'true'];
    return changeOf(option, flag, specs, '--policy');
  });
  return { ...changes.reduce(joined, { label: '', values: {} }), label: entry, policy };
}

/** Parses an axis such as `steal-cap=1,10,30`. */
function axisOf(text: string, specs: OptionSpecs, policies: readonly string[]): Change[] {
  const [name, list] = pairOf(text);
  if (list === undefined || list === '') {
    throw new InputError(
      'bad-option',
      `--vary: "${text}" is not NAME=VALUE,VALUE,…`,
      'for example steal-cap=1,10,30',
    );
  }
  const values = list.split(list.includes(';') ? ';' : ',').map((value) => value.trim());
  if (!isSetting(name, specs) && policies.some((policy) => hasOption(policy, name)))
    return values.map((value) => {
      const label = `${name}=${value}`;
      return { label, values: { set: [label] }, of: new Map([[name, label]]) };
    });
  // The text `set=ageing=0,1` has two values of one option of the policy.
  const [option, first] = name === 'set' ? values[0]!.split('=') : [];
  if (first !== undefined)
    return values.map((value) => changeOf(name, value.includes('=') ? value : `${option}=${value}`, specs));
  return values.map((value) => changeOf(name, value, specs, '--vary', policies));
}

function isSetting(name: string, specs: OptionSpecs): boolean {
  return Object.keys(specs).some((known) => kebab(known) === name || known === name);
}

function pairOf(text: string): [name: string, value: string | undefined] {
  const equals = text.indexOf('=');
  return equals < 0 ? [text.trim(), undefined] : [text.slice(0, equals).trim(), text.slice(equals + 1)];
}

/**
 * @param said the option that names the setting
 * @param policies whose options the name may mean
 */
function changeOf(
  name: string,
  value: string,
  specs: OptionSpecs,
  said = '--vary',
  policies: readonly string[] = [],
): Change {
  const option = Object.keys(specs).find((known) => kebab(known) === name || known === name);
  if (option === undefined) {
    const own = policies.flatMap((policy) => Object.keys(deciderOf(presetNamed(policy)).module.options));
    const names = [...new Set([...Object.keys(specs).map(kebab), ...own])];
    const suggestion = nearest(name, names);
    const ownOnes = own.length === 0 ? 'none' : [...new Set(own)].join(', ');
    const ofPolicies = policies.length === 0 ? '' : `options of ${policies.join(' and ')}: ${ownOnes}; `;
    throw new InputError(
      'bad-option',
      `${said}: unknown setting "${name}"${didYouMean(suggestion)}`,
      `${ofPolicies}known settings are ${names.join(', ')}`,
    );
  }
  const only = { [option]: specs[option]! };
  return { label: `${kebab(name)}=${value}`, values: optionsGiven(only, { [option]: value }) };
}

/** Settings in which runs of one workload on one cluster may differ. */
export const POLICY_SETTINGS: OptionSpecs = specsOf(
  POLICY_OPTIONS,
  Object.keys(POLICY_OPTIONS).filter((name) => name !== 'policy'),
);

/** Selects some of a command's settings by name. */
export function specsOf(specs: OptionSpecs, names: readonly string[]): OptionSpecs {
  return Object.fromEntries(names.map((name) => [name, specs[name]!]));
}
