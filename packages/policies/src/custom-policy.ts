import { describeThrownIn, GANG_RULES, InputError, misnamedField, nameProblem } from '@goshawk/core';
import { ClusterBooks } from './books/books.js';
import { BookedDraft } from './books/draft.js';
import type { CentralPolicy, PolicyModule, PolicyOption, PolicyOptions } from './contract.js';

/**
 * Validates the default export of a file as a custom policy. It is created once here, and plans for an empty
 * cluster.
 * @param name of the file, as given
 * @throws InputError that describes the violation of the contract
 */
export function checkedPolicy(name: string, exported: unknown): PolicyModule {
  const broken = (what: string): never => {
    throw new InputError('bad-policy', `--policy ${name}: ${what}`, HINT);
  };
  // A later rejection without a handler would crash the process.
  const refuseLater = (method: string, answer: unknown): void => {
    const later = answer as { readonly then?: (done: () => void, failed: () => void) => void } | undefined;
    if (typeof later?.then !== 'function') return;
    later.then(ignore, ignore);
    broken(`"${method}" is asynchronous; a policy must return synchronously`);
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
  let policy: CentralPolicy;
  try {
    policy = make(defaultsOf(module), {
      cutoffMs: 10_000,
      sizesAreGiven: true,
      reserve: 'auto',
      random: () => 0.5,
    });
  } catch (error) {
    return broken(`"make" throws ${describeThrownIn(error, name)}`);
  }
  refuseLater('make', policy);
  for (const method of ['update', 'plan'] as const)
    if (typeof policy?.[method] !== 'function')
      broken(`the object that "make" returns has no function "${method}"`);
  try {
    const books = new ClusterBooks();
    refuseLater('update', policy.update([], 0));
    refuseLater('plan', policy.plan(books, new BookedDraft(books, 1, 0), 0));
  } catch (error) {
    if (error instanceof InputError) throw error;
    broken(`it cannot plan for an empty cluster: ${describeThrownIn(error, name)}`);
  }
  return module;
}

const ignore = (): void => {};

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
