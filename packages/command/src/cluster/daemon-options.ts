import { LIMITS, LOG_LEVELS } from '@goshawk/core';
import type { OptionSpecs } from '../options.js';
import { ATTRIBUTE_OPTION } from './attributes.js';
import { CPUS_OPTION, GPUS_OPTION, MEMORY_OPTION, RESOURCES_OPTION } from './resources.js';

/** Options of every daemon. */
export const DAEMON_OPTIONS = {
  advertise: {
    type: 'text',
    setting: true,
    value: 'URL',
    rare: true,
    describe:
      'address that other processes connect to, if they cannot reach --bind (default for 0.0.0.0: the address of this machine, if it has only one)',
  },
  insecure: { type: 'flag', setting: true, rare: true, describe: 'listen beyond loopback without keys' },
  http: {
    type: 'text',
    setting: true,
    value: 'HOST:PORT',
    describe: 'serve /livez, /readyz, /metrics and /status over HTTP (default: no HTTP)',
  },
  httpTokenFile: {
    type: 'text',
    setting: true,
    value: 'FILE',
    describe:
      'file with the bearer token for HTTP requests; required beyond loopback, and in a cluster with keys for everything but /livez and /readyz (or set GOSHAWK_HTTP_TOKEN)',
  },
  httpPortFile: {
    type: 'text',
    setting: true,
    value: 'FILE',
    rare: true,
    describe: 'write the HTTP port to FILE, for health checks with --http HOST:0',
  },
  auditLog: {
    type: 'text',
    setting: true,
    value: 'FILE',
    describe:
      'append a JSON line to FILE for each request that changes something, each change of keys, and each rejection',
  },
  drainTimeout: {
    type: 'duration',
    setting: true,
    describe:
      'how long running work of a scheduler or worker may continue after SIGTERM; 0s stops immediately (default: no limit)',
  },
  logLevel: {
    type: 'text',
    setting: true,
    default: 'info',
    choices: LOG_LEVELS,
    value: 'LEVEL',
    describe: 'minimum log level',
  },
  withParent: {
    type: 'flag',
    setting: false,
    rare: true,
    describe: 'exit when stdin closes, that is, when the parent process exits',
  },
} as const satisfies OptionSpecs;

const CENTRAL_PORT = 7070;

/** Options of schedulers and workers, which join a cluster. */
const MEMBER_OPTIONS = {
  bind: {
    type: 'text',
    setting: true,
    value: 'URL',
    default: 'tcp://127.0.0.1:0',
    describe: 'address to listen on; port 0 picks a free port',
  },
  centralUrl: {
    type: 'text',
    setting: true,
    default: `tcp://127.0.0.1:${CENTRAL_PORT}`,
    value: 'URL',
    describe: 'address of central',
  },
} as const satisfies OptionSpecs;

/** Option of central and local clusters. */
export const USERS_OPTION = {
  type: 'text',
  setting: true,
  value: 'FILE',
  describe:
    'weights and limits of users, as {"ann": {"weight": 3, "running": 8}, "*": {"weight": 1}}; reloaded when the file changes',
} as const;

/** Options for how long schedulers keep jobs that have ended. */
export const RETENTION_OPTIONS = {
  keep: { type: 'duration', setting: true, default: '7d', describe: 'delete ended jobs after this time' },
  keepJobs: {
    type: 'count',
    setting: true,
    default: 10_000,
    describe:
      'number of ended jobs that each scheduler keeps; beyond it, the users with the most lose their oldest, but none within ten minutes of its end',
  },
} as const satisfies OptionSpecs;

/** Option of schedulers and local clusters. */
export const JOURNAL_OPTION = {
  type: 'text',
  setting: true,
  value: 'URL',
  describe:
    'PostgreSQL database (postgres://…) that stores the jobs of all schedulers, so that others can take over the jobs of a lost one (use GOSHAWK_JOURNAL to hide the password from `ps`)',
} as const;

/** Option of schedulers and local clusters. */
export const QUOTA_OPTION = {
  type: 'count',
  setting: true,
  min: 1,
  describe:
    'maximum number of waiting tasks per user and scheduler; further jobs are refused (default: no limit)',
} as const;

export const METRICS_USERS_OPTION = {
  type: 'count',
  setting: true,
  min: 0,
  max: 200,
  rare: true,
  describe:
    'number of users with separate metrics, those with the most load; all others share the label (other)',
  whenUnset: '20; 0 in a cluster with keys, because readers of metrics see names of users',
} as const;

/** Options for how schedulers report that jobs have ended. */
export const NOTIFY_OPTIONS = {
  notifyHosts: {
    type: 'text',
    setting: true,
    value: 'HOSTS',
    rare: true,
    describe:
      'what `submit --notify` may name: hosts, mail:ADDRESS, command:COMMAND, as globs: hooks.example.org,mail:*@example.org,command:*',
    whenUnset: 'any host, or none if the cluster has keys; anything in `up` if tasks run as its user',
  },
  notifySecretFile: {
    type: 'text',
    setting: true,
    value: 'FILE',
    rare: true,
    describe: 'file with the secret that signs notifications (HMAC-SHA256 in X-Goshawk-Signature)',
  },
  notifyCommand: {
    type: 'text',
    setting: true,
    value: 'COMMAND',
    rare: true,
    describe: 'shell command that the scheduler runs after each job, with the notification as JSON on stdin',
  },
} as const;

/** Option of workers and local clusters. */
export const RUN_AS_OPTION = {
  type: 'text',
  setting: true,
  choices: ['self', 'user', 'sandbox'],
  value: 'HOW',
  describe:
    'account and isolation of tasks. self: the worker’s account; user: the account with the name of the submitter’s key (the worker must be root); sandbox: a bubblewrap sandbox',
} as const;

export const NETWORK_OPTION = {
  type: 'flag',
  setting: true,
  default: true,
  rare: true,
  describe:
    'let tasks use the network (off: --no-network, which requires --run-as sandbox; tasks then have only loopback)',
} as const;

export const SHADOW_OPTION = {
  type: 'text',
  setting: true,
  value: 'NAMES',
  describe: 'score these estimators on every job without using their estimates: pilot,history,hybrid',
} as const;

/** Options of central, except those of its policy. */
export const CENTRAL_OPTIONS = {
  bind: {
    type: 'text',
    setting: true,
    value: 'URL',
    default: `tcp://127.0.0.1:${CENTRAL_PORT}`,
    describe: 'address to listen on',
  },
  ...DAEMON_OPTIONS,
  expectSchedulers: {
    type: 'text',
    setting: true,
    value: 'NAMES',
    describe: 'schedulers to report as missing until they have joined, such as s[0-2] or s0,s1',
  },
  dataFolder: {
    type: 'text',
    setting: true,
    value: 'FOLDER',
    describe:
      'folder for state that outlives the process: the events and the history of the cluster; on a local disk (default: none; they are lost when the process exits)',
  },
  users: USERS_OPTION,
  settings: {
    type: 'text',
    value: 'JSON',
    setting: false,
    rare: true,
    describe: 'all policy settings as JSON, instead of single options',
  },
} as const satisfies OptionSpecs;

/** Options of schedulers. */
export const SCHEDULER_OPTIONS = {
  ...MEMBER_OPTIONS,
  name: {
    type: 'text',
    setting: true,
    value: 'NAME',
    describe: 'name of this process, unique in the cluster (default: from host and process)',
  },
  dataFolder: {
    type: 'text',
    setting: true,
    value: 'FOLDER',
    describe:
      'folder for state that outlives the process: the journal and learned run times; on a local disk (default: none; jobs are lost when the process exits)',
  },
  journal: JOURNAL_OPTION,
  dataFolders: {
    type: 'count',
    setting: true,
    min: 1,
    max: 1_000,
    rare: true,
    describe:
      'number of schedulers that share --data-folder; each takes a free subfolder, existing ones first',
  },
  shadow: SHADOW_OPTION,
  estimator: {
    type: 'text',
    setting: 'estimatorModule',
    value: 'FILE',
    rare: true,
    describe: 'module of a custom estimator, at the same path as on central; central selects the estimator',
  },
  activeJobsMax: {
    type: 'count',
    setting: true,
    min: 1,
    default: LIMITS.activeJobsMax,
    describe: 'maximum number of active jobs; clients retry further submissions later',
  },
  userWaitingTasksMax: QUOTA_OPTION,
  metricsUsers: METRICS_USERS_OPTION,
  ...NOTIFY_OPTIONS,
  ...RETENTION_OPTIONS,
  ...DAEMON_OPTIONS,
} as const satisfies OptionSpecs;

/** Options of worker processes. */
export const WORKER_OPTIONS = {
  ...MEMBER_OPTIONS,
  name: {
    type: 'text',
    setting: true,
    value: 'NAME',
    describe:
      'name of this process, unique in the cluster; several workers append a number (default: from host and process)',
  },
  workers: {
    type: 'count',
    setting: 'workersPerProcess',
    default: 1,
    min: 1,
    max: 10_000,
    describe: 'number of workers in this process',
  },
  numbered: { type: 'flag', setting: true, rare: true, describe: 'append a number even to a single worker' },
  firstNumber: {
    type: 'count',
    setting: true,
    default: 0,
    rare: true,
    describe: 'number of the first worker',
  },
  cpus: { ...CPUS_OPTION, whenUnset: 'an equal share of those that this process may use' },
  memory: MEMORY_OPTION,
  gpus: GPUS_OPTION,
  resources: RESOURCES_OPTION,
  attribute: ATTRIBUTE_OPTION,
  memoryShares: {
    type: 'count',
    setting: true,
    min: 1,
    rare: true,
    describe:
      'number of workers among which the CPUs, memory and GPUs of this machine are divided (default: the workers of this process)',
  },
  dataFolder: {
    type: 'text',
    setting: true,
    value: 'FOLDER',
    describe: 'folder for state that outlives the process (default: a temporary folder)',
  },
  values: {
    type: 'text',
    setting: true,
    value: 'FOLDER',
    describe:
      'folder for large values of Python calls, which the dashboard shares: on this machine, or on a network disk (default: no large values)',
  },
  taskCgroup: {
    type: 'text',
    setting: true,
    value: 'FOLDER',
    describe:
      'folder of an empty cgroup v2, used to limit commands to the CPU and memory that their job requests',
  },
  runAs: { ...RUN_AS_OPTION, default: 'self' },
  network: NETWORK_OPTION,
  hide: {
    type: 'texts',
    setting: true,
    value: 'PATH',
    rare: true,
    describe:
      'file or folder to hide from sandboxed tasks, in addition to the worker’s keys and records; repeatable',
  },
  exec: { type: 'flag', setting: true, default: true, describe: 'run commands (off: --no-exec)' },
  execOnly: {
    type: 'texts',
    setting: true,
    value: 'PATH',
    describe:
      'allow only this command (absolute path), and without the job’s environment variables; add --module-only to allow modules, too; repeatable',
  },
  moduleOnly: {
    type: 'texts',
    setting: true,
    value: 'PATH',
    describe:
      'allow only this module, or the modules in this folder (absolute path); add --exec-only to allow commands, too; repeatable',
  },
  module: {
    type: 'flag',
    setting: true,
    default: true,
    describe: 'run functions of modules (off: --no-module)',
  },
  ...DAEMON_OPTIONS,
} as const satisfies OptionSpecs;
