import { createRequire } from 'node:module';
import { InputError } from '@goshawk/core';
import pino from 'pino';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/**
 * The logger of a daemon: JSON lines on stderr, or lines for people when that is a terminal.
 *
 * @throws InputError for a level that there is not
 */
export function createLogger(level: string, fields: Record<string, unknown> = {}): pino.Logger {
  if (!LOG_LEVELS.includes(level as (typeof LOG_LEVELS)[number])) {
    throw new InputError(
      'bad-log-level',
      `--log-level: there is no level "${level}"`,
      `levels: ${LOG_LEVELS.join(', ')}`,
    );
  }
  const options = { level, base: fields, timestamp: pino.stdTimeFunctions.isoTime };
  if (!process.stderr.isTTY) return pino(options, pino.destination({ dest: 2, sync: true }));
  // Loaded where somebody looks at it: most daemons are nobody's foreground, and a hundred share a machine.
  const pretty = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty');
  const stream = pretty({ destination: 2, sync: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss.l' });
  return pino(options, stream);
}
