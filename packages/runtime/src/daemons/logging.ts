import { createRequire } from 'node:module';
import type { LogLevel } from '@goshawk/core';
import pino from 'pino';
import { LogSink, toStderr } from './log-sink.js';

let stderr: LogSink | undefined;

/** Number of log lines that this process could not write. */
export function droppedLogLines(): number {
  return stderr?.dropped ?? 0;
}

/** Creates the logger of a daemon: JSON lines on stderr, or readable lines on a terminal. */
export function createLogger(level: LogLevel, fields: Record<string, unknown> = {}): pino.Logger {
  stderr ??= new LogSink(toStderr());
  const logger = loggerTo(stderr, level, fields, process.stderr.isTTY === true);
  stderr.onRecovered = (dropped) =>
    logger.warn({ dropped }, 'log lines before this one could not be written');
  return logger;
}

function loggerTo(
  sink: Pick<LogSink, 'write'>,
  level: LogLevel,
  fields: Record<string, unknown>,
  isForPeople: boolean,
): pino.Logger {
  const options = { level, base: fields, timestamp: pino.stdTimeFunctions.isoTime };
  if (!isForPeople) return pino(options, sink);
  // Loaded only for terminals: most daemons have none, and a hundred may share a machine.
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty');
  const pretty = prettyFactory({ ignore: 'pid,hostname', translateTime: 'HH:MM:ss.l', colorize: true });
  return pino(options, { write: (line) => sink.write(pretty(JSON.parse(line))) });
}
