import type { Command } from '@goshawk/command';
import { InputError, isAbsent, type PublishedSchemas } from '@goshawk/core';
import type { Predict } from '@goshawk/gateway';

/** The exports of `@goshawk/lab`. */
export interface Laboratory {
  readonly commands: Readonly<Record<string, () => Promise<unknown>>>;
  /** Lists for `goshawk completion KIND`. */
  readonly completions: Readonly<Record<'workloads' | 'figures', () => Promise<readonly string[]>>>;
  /** Predicts the start of a job under changes. */
  readonly whatIfJob: Predict;
  /** JSON Schemas of its outputs, for `goshawk schema`. */
  readonly schemas: () => Promise<PublishedSchemas>;
}

/**
 * Descriptions of the laboratory's commands in the order of help, which lists them even if they are not
 * installed.
 */
export const LABORATORY_COMMANDS: Readonly<Record<string, string>> = {
  simulate: 'compare policies on a workload in virtual time',
  replay: 'compare policies on a workload on real clusters',
  compare: 'compare results of `simulate --json` and `replay --json`',
  whatif: 'simulate the past jobs of a cluster under other settings',
  predictor: 'show the accuracy of shadow estimators',
  figure: 'reproduce a figure of a paper, and check its claims',
  'trace stats': 'print statistics of a workload',
  'trace generate': 'generate a workload',
  'trace convert': 'convert a trace to another format',
  'trace sample': 'write part of a workload',
  'trace export': 'write a timeline of jobs and workers for a viewer',
};

/** Typed as `string` because the laboratory is built after this package and may not be installed. */
const PACKAGE: string = '@goshawk/lab';

/** @returns undefined if it is not installed */
export async function findLaboratory(): Promise<Laboratory | undefined> {
  try {
    return (await import(PACKAGE)) as Laboratory;
  } catch (error) {
    if (isAbsent(error, PACKAGE)) return undefined;
    throw error;
  }
}

/**
 * Loads a command of the laboratory.
 *
 * @throws InputError if it is not installed
 */
export async function laboratoryCommand(name: string): Promise<Command> {
  const { commands } = await laboratoryFor(name);
  return (await commands[name]!()) as Command;
}

/**
 * @param name name of the command that needs it
 * @throws InputError if it is not installed
 */
export async function laboratoryFor(name: string): Promise<Laboratory> {
  const laboratory = await findLaboratory();
  if (laboratory !== undefined) return laboratory;
  throw new InputError(
    'no-laboratory',
    `${name}: this command is in ${PACKAGE}, which is not installed`,
    `\`npm install ${PACKAGE}\` beside @goshawk/cli`,
  );
}
