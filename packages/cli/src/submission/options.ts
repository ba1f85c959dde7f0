import { LIMITS } from '@goshawk/core';
import type { OptionSpecs, Resolved } from '../options.js';

const TASKS_MAX = LIMITS.tasksPerJobMax;

/** What the job runs, and how often. Said for one submission, so only as flags. */
const WORK = {
  tasks: { type: 'count', flagOnly: true, min: 1, max: TASKS_MAX, describe: 'so many tasks, all alike [1]' },
  array: {
    type: 'text',
    flagOnly: true,
    describe:
      'a task a value: 1-100, 1-100:2 or 1,3,7-9; a command finds it in place of {} and in $GOSHAWK_ARRAY_VALUE, a module gets it as input',
  },
  eachLine: {
    type: 'text',
    flagOnly: true,
    describe:
      'a task a line of FILE (- is stdin); a command reads the line, newline included, from stdin, and finds its text in place of {} and in $GOSHAWK_LINE; a module gets its text as input',
  },
  sleep: { type: 'duration', flagOnly: true, describe: 'tasks that do nothing for so long: 100ms' },
  module: {
    type: 'text',
    flagOnly: true,
    describe: 'tasks that call a function of an ES module: PATH, or PATH#EXPORT',
  },
  input: { type: 'text', flagOnly: true, describe: 'with --module: what the function gets, as JSON' },
  shell: { type: 'flag', flagOnly: true, describe: 'the command is a line for /bin/sh, then its $1, $2, …' },
  env: { type: 'texts', flagOnly: true, describe: 'a variable for the command: NAME=VALUE; several times' },
  cwd: {
    type: 'text',
    flagOnly: true,
    describe: 'the folder that tasks run in, on the workers (default: this folder)',
  },
  stdin: { type: 'text', flagOnly: true, describe: 'a file that every task reads from stdin (- is stdin)' },
  stdout: {
    type: 'text',
    flagOnly: true,
    describe:
      'a file on the worker that stdout goes to, in place of the log: out/{index}.txt; {job}, {index} and {attempt} are filled in',
  },
  stderr: { type: 'text', flagOnly: true, describe: 'the same for stderr; may be the file of --stdout' },
} as const satisfies OptionSpecs;

/** What is said about the job as a whole. With a job file they go before what the file says. */
const JOB = {
  name: { type: 'text', flagOnly: true, describe: 'what the job is called (default: what it runs)' },
  user: { type: 'text', describe: 'whose job it is (default: the user of this system)' },
  estimate: { type: 'duration', flagOnly: true, describe: 'mean run time of a task, as you believe it' },
  key: {
    type: 'text',
    flagOnly: true,
    describe: 'names the submission: the same key is the same job, however often it is submitted',
  },
  retries: { type: 'count', max: LIMITS.retriesMax, describe: 'a task that fails is run again so often [0]' },
  retryBackoff: {
    type: 'duration',
    flagOnly: true,
    describe:
      'a task that failed rests about so long before it is run again, twice as long the next time: 1s',
  },
  retryOn: {
    type: 'text',
    flagOnly: true,
    describe: 'exit codes that are run again, others are not: 75,137 (137: ended by SIGKILL)',
  },
  taskTimeout: { type: 'duration', describe: 'a task that runs longer is killed and has failed: 30s' },
  timeLimit: {
    type: 'duration',
    flagOnly: true,
    describe: 'what of the job has not ended so long after its first start is killed, and has failed: 10m',
  },
  cpus: { type: 'number', describe: 'cores that each task needs' },
  memory: { type: 'text', describe: 'memory that each task needs: 1GiB' },
  resource: {
    type: 'texts',
    flagOnly: true,
    describe: 'anything else that each task needs: NAME=AMOUNT; several times',
  },
  deadline: {
    type: 'duration',
    flagOnly: true,
    describe: 'end by then, counted from now: 30m; for policies that plan by deadlines (docs/3SIGMA.md)',
  },
  value: { type: 'number', flagOnly: true, describe: 'what meeting the deadline is worth [10]' },
  prefer: {
    type: 'texts',
    flagOnly: true,
    describe:
      'an attribute that workers should have, or several of which one will do: rack=r1,r2; several times; for policies that choose by it',
  },
  priority: {
    type: 'text',
    flagOnly: true,
    describe:
      'low, normal or high, in the order of `goshawk` and where jobs share by weight; nobody waits for ever [normal]',
  },
  maxRunning: { type: 'count', min: 1, describe: 'at most so many of its tasks run at a time' },
} as const satisfies OptionSpecs;

/** What the command does once the job is submitted. */
const AFTERWARDS = {
  wait: {
    type: 'flag',
    describe:
      'wait for the end, and exit with 0 only if all tasks completed, with 4 if they did after the deadline',
  },
  waitTimeout: { type: 'duration', describe: 'wait so long at most, then exit with 124; the job goes on' },
  cancelOnExit: { type: 'flag', describe: 'cancel the job when the waiting ends before the job does' },
  logs: { type: 'flag', describe: 'wait, and show what the tasks print as they print it' },
  results: { type: 'flag', describe: 'wait, and print what the tasks returned, as JSON, a line a task' },
} as const satisfies OptionSpecs;

export const SUBMIT_OPTIONS = { ...WORK, ...JOB, ...AFTERWARDS } as const satisfies OptionSpecs;

export type SubmitOptions = Resolved<typeof SUBMIT_OPTIONS>;
