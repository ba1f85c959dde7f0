import type { Command } from '../command.js';
import { centralCommand } from './central.js';
import { replayCommand } from './replay.js';
import { schedulerCommand } from './scheduler.js';
import { simulateCommand } from './simulate.js';
import { traceGenerateCommand } from './trace-generate.js';
import { traceStatsCommand } from './trace-stats.js';
import { upCommand } from './up.js';
import { workerCommand } from './worker.js';

/** Every command, in the order in which help lists them. One line here and one file beside it make a new one. */
export const COMMANDS = [
  upCommand,
  centralCommand,
  schedulerCommand,
  workerCommand,
  replayCommand,
  simulateCommand,
  traceStatsCommand,
  traceGenerateCommand,
] as unknown as readonly Command[];

/** What the commands of two words have in common. */
export const COMMAND_GROUPS: Readonly<Record<string, string>> = {
  trace: 'look at workloads, and make them',
};
