import type { OptionSpecs, Resolved } from '@goshawk/command';
import { LIMITS, PRIORITIES } from '@goshawk/core';

const TASKS_MAX = LIMITS.tasksPerJobMax;

/** Options for the tasks and their number. Flags only, because they describe one submission. */
const WORK = {
  tasks: { type: 'count', setting: false, min: 1, max: TASKS_MAX, describe: 'number of identical tasks [1]' },
  array: {
    type: 'text',
    value: 'VALUES',
    setting: false,
    describe:
      'run one task per value: 1-100, 1-100:2, 001-100 (keeps the zeros) or 1,3,7-9; a command gets the value in {} and $GOSHAWK_ARRAY_VALUE, a module in its input',
  },
  eachLine: {
    type: 'text',
    value: 'FILE',
    setting: false,
    describe:
      'run one task per line of FILE (- for stdin); a command gets the line on stdin and in {} and $GOSHAWK_LINE, a module in its input',
  },
  colsep: {
    type: 'text',
    value: 'TEXT',
    setting: false,
    rare: true,
    describe: '--each-line: separator that splits a line into columns {1}, {2}, …; \\t is a tab',
  },
  header: {
    type: 'flag',
    setting: false,
    rare: true,
    describe: '--each-line: the first line names the columns: {name}',
  },
  param: {
    type: 'texts',
    value: 'NAME=VALUES',
    setting: false,
    describe:
      'run one task per value, substituted for {NAME}: rate=0.1,0.01, rate=0.1:1:0.1 (from, to, step), or @FILE (one task per row of a CSV file with a header); repeat it, or add --array or --each-line, for all combinations',
  },
  resume: {
    type: 'flag',
    setting: false,
    describe:
      'skip tasks whose values completed or are in progress in earlier jobs of the same name and user',
  },
  skipExisting: {
    type: 'text',
    value: 'FILE',
    setting: false,
    rare: true,
    describe: 'skip tasks whose file exists here: out/{rate}.txt',
  },
  returns: {
    type: 'flag',
    setting: false,
    rare: true,
    describe:
      'the result of a task is the JSON that its command writes to the file $GOSHAWK_RESULT; `goshawk results` shows it',
  },
  sleep: { type: 'duration', setting: false, describe: 'run tasks that only sleep: 100ms' },
  module: {
    type: 'text',
    value: 'PATH[#EXPORT]',
    setting: false,
    describe: 'run tasks that call a function of an ES module',
  },
  input: {
    type: 'text',
    value: 'JSON',
    setting: false,
    rare: true,
    describe: 'argument to pass to the function of --module',
  },
  shell: {
    type: 'flag',
    setting: false,
    describe: 'run the command with /bin/sh; further arguments are $1, $2, …',
  },
  env: {
    type: 'texts',
    value: 'NAME=VALUE',
    setting: false,
    describe: 'environment variable of the command; repeatable',
  },
  exportEnv: {
    type: 'text',
    value: '[NAMES]',
    valueOptional: true,
    setting: false,
    rare: true,
    describe:
      'pass these variables of this shell to the command: CC,LC_*; without NAMES, all except session variables',
  },
  cwd: {
    type: 'text',
    value: 'FOLDER',
    setting: false,
    rare: true,
    describe: 'working folder of the tasks on the workers (default: the current folder)',
  },
  image: {
    type: 'text',
    value: 'NAME',
    setting: false,
    rare: true,
    describe:
      'container image to run the command in, with the working folder mounted; needs workers with Docker or Podman',
  },
  stdin: {
    type: 'text',
    value: 'FILE',
    setting: false,
    rare: true,
    describe: 'stdin of every task (- for the stdin of this command)',
  },
  stdout: {
    type: 'text',
    value: 'FILE',
    setting: false,
    rare: true,
    describe:
      'file on the worker for stdout, instead of the log: out/{index}.txt; {job}, {index} and {attempt} are filled in',
  },
  stderr: {
    type: 'text',
    value: 'FILE',
    setting: false,
    rare: true,
    describe: 'file on the worker for stderr, as for --stdout; may be the same file',
  },
} as const satisfies OptionSpecs;

/** Properties of the whole job. They override those of a job file. */
const JOB = {
  name: {
    type: 'text',
    value: 'NAME',
    setting: false,
    describe: 'name of the job (default: from the command)',
  },
  user: {
    type: 'text',
    setting: true,
    value: 'NAME',
    rare: true,
    describe: 'user that the job belongs to (default: the current user)',
  },
  estimate: { type: 'duration', setting: false, describe: 'expected mean run time of a task: 2s' },
  key: {
    type: 'text',
    value: 'KEY',
    setting: false,
    describe: 'idempotency key: submissions with the same key create one job',
  },
  retries: { type: 'count', setting: true, max: LIMITS.retriesMax, describe: 'retries of a failed task [0]' },
  retryBackoff: {
    type: 'duration',
    setting: false,
    rare: true,
    describe: 'maximum delay before the first retry; it doubles with each further retry: 1s',
  },
  retryOn: {
    type: 'text',
    value: 'CODES',
    setting: false,
    rare: true,
    describe: 'retry only after these exit codes and signals: 75,SIGXCPU (137 is SIGKILL)',
  },
  taskTimeout: {
    type: 'duration',
    setting: true,
    describe: 'kill a task that runs longer than this, and count it as failed: 30s',
  },
  timeLimit: {
    type: 'duration',
    setting: false,
    rare: true,
    describe:
      'time from the first task start to the end of the job; remaining tasks are then killed and fail: 10m',
  },
  after: {
    type: 'jobs',
    value: 'ID',
    setting: false,
    describe: 'start after that job has ended; repeatable',
  },
  afterOk: {
    type: 'jobs',
    value: 'ID',
    setting: false,
    describe: 'start after that job has completed; if it fails, wait until a retry completes; repeatable',
  },
  hold: { type: 'flag', setting: false, rare: true, describe: 'start nothing until `goshawk release ID`' },
  begin: {
    type: 'text',
    value: 'TIME',
    setting: false,
    describe:
      'do not start before that time: 22:00, 2026-11-25T22:00 (local time unless it names a zone), or after a delay: +2h',
  },
  cpus: { type: 'number', setting: true, describe: 'CPUs of each task' },
  memory: { type: 'text', setting: true, value: 'SIZE', describe: 'memory of each task: 1GiB' },
  gpus: {
    type: 'number',
    setting: false,
    describe: 'GPUs of each task; a fraction such as 0.5 shares a GPU',
  },
  resource: {
    type: 'texts',
    value: 'NAME=AMOUNT',
    setting: false,
    rare: true,
    describe: 'other resource of each task: license=1; repeatable',
  },
  deadline: {
    type: 'duration',
    setting: false,
    rare: true,
    describe:
      'deadline from now, also with --begin: 30m; used by the policy `goshawk` and those of docs/3SIGMA.md',
  },
  value: { type: 'number', setting: false, rare: true, describe: 'value of meeting the deadline [10]' },
  require: {
    type: 'texts',
    value: 'NAME=VALUES',
    setting: false,
    rare: true,
    describe:
      'required attribute of workers: zone=eu, model=a100,h100 (one of them), rack=!r1,r2 (none of them); repeatable',
  },
  spread: {
    type: 'texts',
    value: 'NAME[=N]',
    setting: false,
    rare: true,
    describe:
      'runs at most N tasks of the job at workers with the same attribute: rack, rack=2; default: 1; repeatable',
  },
  prefer: {
    type: 'texts',
    value: 'NAME=VALUES',
    setting: false,
    rare: true,
    describe:
      'preferred attribute of workers: rack=r1,r2 (one of them); repeatable; only for policies that use attributes',
  },
  priority: {
    type: 'text',
    value: 'LEVEL',
    setting: false,
    rare: true,
    choices: PRIORITIES,
    describe: 'priority of the job; policies without priorities ignore it [normal]',
  },
  notify: {
    type: 'text',
    value: 'TO',
    setting: false,
    rare: true,
    describe:
      'notify an HTTP URL (POST), mail:ADDRESS or command:COMMAND when the job has ended; the scheduler must allow it',
  },
  gang: {
    type: 'flag',
    setting: false,
    rare: true,
    describe:
      'start all tasks together or none; each gets $GOSHAWK_RANK, _RANKS, _HOSTS and _MASTER; if one fails, all restart',
  },
  preemptible: {
    type: 'flag',
    setting: false,
    rare: true,
    describe:
      'allow running tasks to be killed and restarted later for a job that would otherwise miss its deadline',
  },
  lend: {
    type: 'flag',
    default: true,
    setting: false,
    rare: true,
    describe:
      'let running tasks pause while others use their CPUs (off: --no-lend, for programs that must answer at any time or measure time)',
  },
  maxRunning: {
    type: 'count',
    setting: true,
    min: 1,
    rare: true,
    describe: 'maximum number of running tasks of the job',
  },
} as const satisfies OptionSpecs;

/** Options for the time after submission, which `plan` does not take. */
const AFTERWARDS = {
  wait: {
    type: 'flag',
    setting: true,
    describe:
      'wait for the job to end; exit with 0 if all tasks completed, with 4 if they completed after the deadline',
  },
  waitTimeout: {
    type: 'duration',
    setting: true,
    rare: true,
    describe: 'wait at most this long, then exit with 124; the job continues',
  },
  cancelOnExit: {
    type: 'flag',
    setting: true,
    rare: true,
    describe: 'cancel the job if this command exits before the job ends',
  },
  logs: {
    type: 'flag',
    setting: true,
    describe: 'wait, and print the output of the tasks: live on a terminal, otherwise in task order',
  },
  prefix: {
    type: 'text',
    with: 'logs',
    value: 'WHEN',
    default: 'auto',
    choices: ['auto', 'always', 'never'],
    setting: false,
    rare: true,
    describe:
      'with --logs: prefix each line with its task id and print it live; auto: for jobs of several tasks on a terminal',
  },
  results: {
    type: 'flag',
    setting: true,
    describe: 'wait, and print the results like `wait --results`: one JSON line per task',
  },
} as const satisfies OptionSpecs;

export const PLAN_OPTIONS = { ...WORK, ...JOB } as const satisfies OptionSpecs;

/** Options of `run`, which replaces a single command. */
export const RUN_OPTIONS = pick({ ...WORK, ...JOB }, [
  'shell',
  'env',
  'cwd',
  'stdin',
  'name',
  'user',
  'estimate',
  'taskTimeout',
  'cpus',
  'memory',
  'gpus',
  'resource',
  'require',
  'spread',
  'prefer',
  'priority',
]);

function pick<T extends OptionSpecs, const N extends keyof T>(specs: T, names: readonly N[]): Pick<T, N> {
  return Object.fromEntries(names.map((name) => [name, specs[name]])) as Pick<T, N>;
}

export const SUBMIT_OPTIONS = { ...WORK, ...JOB, ...AFTERWARDS } as const satisfies OptionSpecs;

export type SubmitOptions = Resolved<typeof SUBMIT_OPTIONS>;

/** Options that describe a job. */
export type JobOptions = Resolved<typeof PLAN_OPTIONS>;
