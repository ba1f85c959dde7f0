import { didYouMean, InputError, nearest } from '@goshawk/core';
import { flagOf, kebab, type OptionSpecs, type Sources, settingName, variableOf } from '../options.js';

const PREFIX = 'GOSHAWK_';

/** Variables that code reads directly, without an option. */
const VARIABLES_BESIDE_OPTIONS = ['GOSHAWK_KEY', 'GOSHAWK_HTTP_TOKEN', 'GOSHAWK_DASHBOARD_TOKENS'];

/** Variables of the Python package and of the Debian package's start script. */
const VARIABLES_BESIDE_COMMAND = ['GOSHAWK_API', 'GOSHAWK_TOKEN', 'GOSHAWK_NODE'];

/** Variables of docker-compose.yml, which may be set in a shell that also runs commands. */
const READ_BY_COMPOSE = [
  'GOSHAWK_IMAGE',
  'GOSHAWK_PULL_POLICY',
  'GOSHAWK_PORT',
  'GOSHAWK_PAGE_PORT',
  'GOSHAWK_POSTGRES_PASSWORD',
];

/**
 * Variables of this project's tests, which start commands. They name tests that must not be skipped, and the
 * image to test.
 */
const READ_BY_TESTS = ['GOSHAWK_REQUIRE', 'GOSHAWK_TEST_IMAGE', 'GOSHAWK_KUBERNETES'];

/** Environment variables of tasks, which may run `goshawk` themselves. */
const VARIABLES_OF_TASKS = [
  'GOSHAWK_JOB',
  'GOSHAWK_TASK',
  'GOSHAWK_ATTEMPT',
  'GOSHAWK_RUN',
  'GOSHAWK_GPUS',
  'GOSHAWK_ARRAY_VALUE',
  'GOSHAWK_LINE',
  'GOSHAWK_PROCESS_RECORD',
  'GOSHAWK_INPUTS',
  'GOSHAWK_RESULT',
  'GOSHAWK_RANK',
  'GOSHAWK_RANKS',
  'GOSHAWK_HOSTS',
  'GOSHAWK_MASTER',
];

/**
 * Variables that Kubernetes sets in every pod for services such as `goshawk-central`. Their ports are URLs,
 * so GOSHAWK_HTTP_PORT=9090 is a user's mistake.
 */
const SERVICE_OF_KUBERNETES =
  /^GOSHAWK_\w*(_SERVICE_HOST=|_SERVICE_PORT(_\w+)?=|_PORT=(tcp|udp|sctp):|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?=)/;

/** Variables that are not settings of options, so no option may have one of these names. */
export const VARIABLES_OF_OTHERS = [
  ...VARIABLES_BESIDE_OPTIONS,
  ...VARIABLES_BESIDE_COMMAND,
  ...READ_BY_COMPOSE,
  ...READ_BY_TESTS,
  ...VARIABLES_OF_TASKS,
];

/** Returns the names that commands define: settings, and options that are only flags. */
function namesIn(specs: readonly OptionSpecs[]): { settings: ReadonlySet<string>; flags: readonly string[] } {
  const all = specs.flatMap((each) => Object.entries(each));
  const settings = new Set(all.flatMap(([name, spec]) => settingName(name, spec) ?? []));
  const flags = all.flatMap(([name, { setting }]) =>
    setting === false && !settings.has(name) ? [name] : [],
  );
  return { settings, flags };
}

/**
 * Rejects a file with a setting that no command reads.
 *
 * @param specs options of all commands, since all commands share files
 * @throws InputError that names the setting
 */
export function checkFileNames(
  specs: readonly OptionSpecs[],
  { file, fileName }: Pick<Sources, 'file' | 'fileName'>,
): void {
  const { settings, flags } = namesIn(specs);
  for (const key of Object.keys(file)) {
    const isCalled = (name: string): boolean => name === key || kebab(name) === key;
    if ([...settings].some(isCalled)) continue;
    const flag = flags.find(isCalled);
    if (flag !== undefined) {
      throw new InputError(
        'bad-config',
        `${fileName}: "${key}": ${onlyFlag(flag)}`,
        `remove it, and pass ${flagOf(flag)} on the command line`,
      );
    }
    const names = [...settings].flatMap((name) => [name, kebab(name)]);
    const what = `${fileName}: unknown setting "${key}"${didYouMean(nearest(key, names))}`;
    throw new InputError('bad-config', what, `remove or correct it: ${NAMING_HINT}`);
  }
}

/**
 * Returns a warning for each variable that no command reads. An error would break tasks of newer workers,
 * which may set variables that this version does not define.
 *
 * @param specs options of all commands
 */
export function strayVariables(
  specs: readonly OptionSpecs[],
  { environment }: Pick<Sources, 'environment'>,
): string[] {
  const { settings, flags } = namesIn(specs);
  const known = new Set([...[...settings].map(variableOf), ...VARIABLES_OF_OTHERS]);
  return Object.entries(environment).flatMap(([variable, value]) => {
    if (!variable.startsWith(PREFIX) || !value || known.has(variable)) return [];
    if (SERVICE_OF_KUBERNETES.test(`${variable}=${value}`)) return [];
    const flag = flags.find((name) => variableOf(name) === variable);
    if (flag !== undefined) return [`${variable} is ignored: ${onlyFlag(flag)}`];
    const words = [...known].map((name) => name.slice(PREFIX.length));
    const suggestion = nearest(variable.slice(PREFIX.length), words);
    return [`${variable} is ignored: unknown setting${didYouMean(suggestion && `${PREFIX}${suggestion}`)}`];
  });
}

const NAMING_HINT =
  '`goshawk COMMAND --help` lists the options; --steal-cap is steal-cap in a file, and GOSHAWK_STEAL_CAP';

function onlyFlag(name: string): string {
  return `${flagOf(name)} is a command-line option and cannot be a setting`;
}
