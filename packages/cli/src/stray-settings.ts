import { InputError, nearest } from '@goshawk/core';
import { flagOf, kebab, type OptionSpecs, type Sources, variableOf } from './options.js';

const PREFIX = 'GOSHAWK_';

/** Read by name and by nobody's option. */
const READ_BESIDE_OPTIONS = ['GOSHAWK_KEY', 'GOSHAWK_HTTP_TOKEN', 'GOSHAWK_DASHBOARD_TOKENS'];

/** For docker-compose.yml: somebody who has set them there may run commands in the same shell. */
const READ_BY_COMPOSE = ['GOSHAWK_IMAGE', 'GOSHAWK_PORT', 'GOSHAWK_PAGE_PORT', 'GOSHAWK_POSTGRES_PASSWORD'];

/** For this project's own tests, which start commands: what may not be skipped, and the image to be tested. */
const READ_BY_TESTS = ['GOSHAWK_REQUIRE', 'GOSHAWK_TEST_IMAGE', 'GOSHAWK_KUBERNETES'];

/** What a task finds in its environment, which may be a `goshawk` itself. */
const TOLD_TO_TASKS = [
  'GOSHAWK_JOB',
  'GOSHAWK_TASK',
  'GOSHAWK_ATTEMPT',
  'GOSHAWK_GPUS',
  'GOSHAWK_ARRAY_VALUE',
  'GOSHAWK_LINE',
  'GOSHAWK_PROCESS_RECORD',
];

/**
 * Kubernetes sets these variables in every pod for every service, such as one that is called `goshawk-central`. A port is a whole URL
 * there: GOSHAWK_HTTP_PORT=9090 is somebody's mistake.
 */
const SERVICE_OF_KUBERNETES =
  /^GOSHAWK_\w*(_SERVICE_HOST=|_SERVICE_PORT(_\w+)?=|_PORT=(tcp|udp|sctp):|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?=)/;

const OTHER_VARIABLES = [...READ_BESIDE_OPTIONS, ...READ_BY_COMPOSE, ...READ_BY_TESTS, ...TOLD_TO_TASKS];

/**
 * Looks for what no command would read in a file and in the environment, where empty ones are not there.
 *
 * @param specs of all commands, whichever of them is to run: they share files and the environment
 * @throws InputError that names it
 */
export function checkSettingNames(
  specs: readonly OptionSpecs[],
  { file, fileName, environment }: Pick<Sources, 'file' | 'fileName' | 'environment'>,
): void {
  const all = specs.flatMap((each) => Object.entries(each));
  const settings = new Set(all.flatMap(([name, { flagOnly }]) => (flagOnly ? [] : [name])));
  // Those that no command takes from anywhere but its command line.
  const flags = all.flatMap(([name]) => (settings.has(name) ? [] : [name]));
  for (const key of Object.keys(file)) {
    const isCalled = (name: string): boolean => name === key || kebab(name) === key;
    if ([...settings].some(isCalled)) continue;
    const flag = flags.find(isCalled);
    if (flag !== undefined) throw onlyFlag(`${fileName}: "${key}"`, flag, 'take it out');
    const names = [...settings].flatMap((name) => [name, kebab(name)]);
    throw noSetting(`${fileName}: there is no setting "${key}"`, nearest(key, names), 'take it out');
  }
  const known = new Set([...[...settings].map(variableOf), ...OTHER_VARIABLES]);
  for (const [variable, value] of Object.entries(environment)) {
    if (!variable.startsWith(PREFIX) || !value || known.has(variable)) continue;
    if (SERVICE_OF_KUBERNETES.test(`${variable}=${value}`)) continue;
    const flag = flags.find((name) => variableOf(name) === variable);
    if (flag !== undefined) throw onlyFlag(variable, flag, 'unset it');
    const words = [...known].map((name) => name.slice(PREFIX.length));
    const meant = nearest(variable.slice(PREFIX.length), words);
    throw noSetting(`there is no setting ${variable}`, meant && `${PREFIX}${meant}`, 'unset it');
  }
}

function noSetting(what: string, meant: string | undefined, remedy: string): InputError {
  return new InputError(
    'bad-config',
    meant === undefined ? what : `${what}; did you mean ${meant}?`,
    `${remedy}, or correct it: \`goshawk COMMAND --help\` lists the options; --steal-cap is steal-cap in a file, and GOSHAWK_STEAL_CAP`,
  );
}

function onlyFlag(where: string, name: string, remedy: string): InputError {
  const flag = flagOf(name);
  return new InputError(
    'bad-config',
    `${where}: ${flag} is for one command line and cannot be a setting`,
    `${remedy}, and give ${flag} where it is meant`,
  );
}
