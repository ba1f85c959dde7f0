import { InputError, parseDuration } from '@goshawk/core';
import type { Trouble } from '@goshawk/simulator';
import type { SimulateOptions } from './options.js';

/**
 * Parses `--speeds`, `--stragglers` and `--failures`.
 * @returns undefined without any of them
 * @throws InputError if one is invalid
 */
export function troubleOf({
  speeds,
  stragglers,
  failures,
}: Pick<SimulateOptions, 'speeds' | 'stragglers' | 'failures'>): Trouble | undefined {
  if (speeds === undefined && stragglers === undefined && failures === undefined) return undefined;
  return {
    ...(speeds === undefined ? {} : { speeds: speedsOf(speeds) }),
    ...(stragglers === undefined ? {} : { stragglers: stragglersOf(stragglers) }),
    ...(failures === undefined ? {} : { failures: failuresOf(failures) }),
  };
}

function speedsOf(text: string): readonly number[] {
  const speeds = text.split(',').map(numberOf);
  if (speeds.every((speed) => speed >= 0.001 && speed <= 1_000)) return speeds;
  throw new InputError(
    'bad-option',
    `--speeds: "${text}" is not a list of speeds from 0.001 to 1,000`,
    'example: 1,0.5',
  );
}

function stragglersOf(text: string): NonNullable<Trouble['stragglers']> {
  const [share, times, ...others] = text.split(',').map(numberOf);
  if (share! >= 0 && share! <= 1 && times! >= 1 && times! <= 1_000_000 && others.length === 0)
    return { share: share!, times: times! };
  throw new InputError(
    'bad-option',
    `--stragglers: "${text}" is not a fraction from 0 to 1 and a factor of at least 1`,
    'example: 0.05,8',
  );
}

function failuresOf(text: string): NonNullable<Trouble['failures']> {
  const [everyMs, downMs, ...others] = text.split(',').map((part) => parseDuration(part, '--failures'));
  // A worker that fails more often than its loss is noticed hardly ever completes a task.
  if (everyMs! >= 60_000 && downMs! >= 0 && others.length === 0)
    return { everyMs: everyMs!, downMs: downMs! };
  throw new InputError(
    'bad-option',
    `--failures: "${text}" is not a mean time of at least one minute and the time away`,
    'example: 1d,10m',
  );
}

function numberOf(text: string): number {
  return text.trim() === '' ? Number.NaN : Number(text);
}
