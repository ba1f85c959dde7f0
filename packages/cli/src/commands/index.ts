import type { Command } from '../command.js';
import { centralCommand } from './central.js';
import { schedulerCommand } from './scheduler.js';
import { upCommand } from './up.js';
import { workerCommand } from './worker.js';

/** Every command, in the order in which help lists them. One line here and one file beside it make a new one. */
export const COMMANDS = [
  upCommand,
  centralCommand,
  schedulerCommand,
  workerCommand,
] as unknown as readonly Command[];
