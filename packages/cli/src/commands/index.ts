import type { Command } from '../command.js';
import { cancelCommand } from './cancel.js';
import { centralCommand } from './central.js';
import { completionCommand } from './completion.js';
import { configShowCommand } from './config-show.js';
import { drainCommand } from './drain.js';
import { figureCommand } from './figure.js';
import { followNodesCommand } from './follow-nodes.js';
import { jobCommand } from './job.js';
import { jobsCommand } from './jobs.js';
import { journalExportCommand, journalInspectCommand, journalVerifyCommand } from './journal.js';
import { keygenCommand } from './keygen.js';
import { logsCommand } from './logs.js';
import { predictorCommand } from './predictor.js';
import { replayCommand } from './replay.js';
import { retryCommand } from './retry.js';
import { schedulerCommand } from './scheduler.js';
import { simulateCommand } from './simulate.js';
import { submitCommand } from './submit.js';
import { traceConvertCommand } from './trace-convert.js';
import { traceGenerateCommand } from './trace-generate.js';
import { traceSampleCommand } from './trace-sample.js';
import { traceStatsCommand } from './trace-stats.js';
import { upCommand } from './up.js';
import { waitCommand } from './wait.js';
import { whyCommand } from './why.js';
import { workerCommand } from './worker.js';
import { workersCommand } from './workers.js';

/** Every command, in the order in which help lists them. One line here and one file beside it make a new one. */
export const COMMANDS: readonly Command[] = [
  upCommand,
  centralCommand,
  schedulerCommand,
  workerCommand,
  keygenCommand,
  submitCommand,
  waitCommand,
  jobsCommand,
  jobCommand,
  whyCommand,
  logsCommand,
  cancelCommand,
  retryCommand,
  workersCommand,
  drainCommand,
  followNodesCommand,
  predictorCommand,
  replayCommand,
  simulateCommand,
  figureCommand,
  traceStatsCommand,
  traceGenerateCommand,
  traceConvertCommand,
  traceSampleCommand,
  journalInspectCommand,
  journalVerifyCommand,
  journalExportCommand,
  configShowCommand(() => COMMANDS),
  completionCommand(() => COMMANDS),
] as unknown as readonly Command[];

/** What the commands of two words have in common. */
export const COMMAND_GROUPS: Readonly<Record<string, string>> = {
  trace: 'look at workloads, and make them',
  journal: 'look at what a scheduler has written down of its jobs',
  config: 'look at the settings',
};
