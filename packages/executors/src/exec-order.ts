import { type ExecPayload, outputPath } from '@goshawk/core';
import type { RunOrder } from './contract.js';
import type { SpawnOrder } from './spawner-protocol.js';

const SHELL = '/bin/sh';

/** Builds the order for the spawner, with shell and environment resolved. Variables of the order override the payload's. */
export function spawnOrder(order: RunOrder, payload: ExecPayload): SpawnOrder {
  const [command, ...args] = payload.exec;
  return {
    // $0 is the shell's name, as in any script.
    ...(payload.shell === true
      ? { command: SHELL, args: ['-c', command!, SHELL, ...args] }
      : { command: command!, args }),
    env: { ...payload.env, ...order.env },
    ...(payload.cwd === undefined ? {} : { cwd: payload.cwd }),
    outputBytesMax: order.outputBytesMax,
    ...outputFiles(order, payload),
    ...(order.limits === undefined ? {} : { limits: order.limits }),
    hasStdin: payload.stdin !== undefined,
  };
}

function outputFiles({ env }: RunOrder, { stdout, stderr }: ExecPayload): Pick<SpawnOrder, 'files'> {
  if (stdout === undefined && stderr === undefined) return {};
  const names = { job: env.GOSHAWK_JOB, index: env.GOSHAWK_TASK, attempt: env.GOSHAWK_ATTEMPT };
  const filledIn = (path: string): string => outputPath(path, names);
  return {
    files: {
      ...(stdout === undefined ? {} : { stdout: filledIn(stdout) }),
      ...(stderr === undefined ? {} : { stderr: filledIn(stderr) }),
    },
  };
}
