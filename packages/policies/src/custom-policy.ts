import { describeThrownIn, GANG_RULES, InputError, misnamedField, nameProblem } from '@goshawk/core';
import { ClusterBooks } from './books/books.js';
import { BookedDraft } from './books/draft.js';
import type { CentralPolicy, PolicyContext, PolicyModule, PolicyOption, PolicyOptions } from './contract.js';

/**
 * Validates the default export of a file as a custom policy. It is created once here, and plans for an empty
 * cluster.
 * @param name of the file, as given
 * @throws InputError that describes the violation of the contract
 */
export function checkedPolicy(name: string, exported: unknown): PolicyModule {
  const broken = (what: string): never => {
    throw brokenPolicy(name, what);
  };
  if (typeof exported !== 'object' || exported === null)
    return broken('its default export is not an object { title, declares, options, make }');
  const module = exported as PolicyModule;
  const misnamed = misnamedField(module, POLICY_FIELDS);
  if (misnamed !== undefined) broken(misnamed);
  const { title, declares, options, make } = module;
  if (typeof title !== 'string' || nameProblem(title) !== undefined)
    broken('"title" is not one line of text, of 1 to 256 characters');
  if (typeof declares !== 'boolean')
    broken('"declares" is neither true (owners declare whole jobs) nor false');
  if (typeof options !== 'object' || options === null) broken('"options" is not an object; use {} for none');
  for (const [name, option] of Object.entries(options)) {
    if (!['number', 'string', 'boolean'].includes(typeof option?.default) || typeof option.help !== 'string')
      broken(`option "${name}" is not a { default, help } with a number, text, true or false as default`);
    const wrong = misnamedField(option, OPTION_FIELDS);
    if (wrong !== undefined) broken(`option "${name}": ${wrong}`);
    for (const bound of ['min', 'max'] as const)
      if (option[bound] !== undefined && !(Math.abs(option[bound]) >= 0))
        broken(`"${bound}" of option "${name}" is not a number`);
    if (option.choices !== undefined && !Array.isArray(option.choices))
      broken(`"choices" of option "${name}" is not a list`);
  }
  if (module.gangs !== undefined && !GANG_RULES.includes(module.gangs))
    broken(
      '"gangs" is neither "asked" (stages with `gang` start together), "all" (all stages do) nor "none"',
    );
  for (const name of ['packs', 'solves'] as const)
    if (!['boolean', 'undefined'].includes(typeof module[name]))
      broken(`"${name}" is neither true nor false`);
  if (!['function', 'undefined'].includes(typeof module.abandons)) broken('"abandons" is not a function');
  if (module.solves === true && typeof options.cycleMs?.default !== 'number')
    broken('a policy that uses the solver needs an option "cycleMs"');
  if (typeof make !== 'function') broken('"make" is not a function');
  const policy = madeByFile(name, module, defaultsOf(module), {
    cutoffMs: 10_000,
    sizesAreGiven: true,
    reserve: 'auto',
    random: () => 0.5,
  });
  let problem: string | undefined;
  try {
    const books = new ClusterBooks();
    problem =
      lateProblem('update', policy.update([], 0)) ??
      lateProblem('plan', policy.plan(books, new BookedDraft(books, 1, 0), 0));
  } catch (error) {
    problem = `it cannot plan for an empty cluster: ${describeThrownIn(error, name)}`;
  }
  if (problem !== undefined) broken(problem);
  return module;
}

/**
 * Calls `make` of a custom policy, which may fail each time that it is called.
 *
 * @throws InputError that describes what `make` threw, or what its policy lacks
 */
export function madeByFile<Options extends PolicyOptions>(
  name: string,
  module: PolicyModule<Options>,
  options: Options,
  context: PolicyContext,
): CentralPolicy {
  let policy: CentralPolicy | undefined;
  let problem: string | undefined;
  try {
    policy = module.make(options, context);
    problem = lateProblem('make', policy) ?? missingIn(policy);
  } catch (error) {
    problem = `"make" throws ${describeThrownIn(error, name)}`;
  }
  if (problem !== undefined) throw brokenPolicy(name, problem);
  return policy!;
}

function missingIn(policy: CentralPolicy | undefined): string | undefined {
  const missing = (['update', 'plan'] as const).find((method) => typeof policy?.[method] !== 'function');
  return missing && `the object that "make" returns has no function "${missing}"`;
}

/** Finds a promise, whose later rejection without a handler would crash the process. */
function lateProblem(method: string, answer: unknown): string | undefined {
  const later = answer as
    | { readonly then?: (done: () => void, failed: () => void) => void }
    | null
    | undefined;
  if (typeof later?.then !== 'function') return undefined;
  later.then(ignore, ignore);
  return `"${method}" is asynchronous; a policy must return synchronously`;
}

const ignore = (): void => {};

function brokenPolicy(name: string, what: string): InputError {
  return new InputError('bad-policy', `--policy ${name}: ${what}`, HINT);
}

const POLICY_FIELDS: readonly (keyof PolicyModule)[] = [
  'title',
  'declares',
  'options',
  'make',
  'gangs',
  'packs',
  'solves',
  'abandons',
];
const OPTION_FIELDS: readonly (keyof PolicyOption<unknown>)[] = [
  'default',
  'help',
  'min',
  'max',
  'flag',
  'scales',
  'choices',
];

const HINT = 'the contract is PolicyModule of @goshawk/policies; docs/POLICIES.md explains it';

/** Default of each option. */
function defaultsOf<Options extends PolicyOptions>({
  options,
}: Pick<PolicyModule<Options>, 'options'>): Options {
  const defaults = Object.entries(options).map(([name, option]) => [name, option!.default]);
  return Object.fromEntries(defaults) as Options;
}
