import { join } from 'node:path';
import { WorkloadError } from '../errors.js';
import { JobPacker, type PackedJobs } from '../packed-jobs.js';
import { Tally } from '../tally.js';
import { decimal, isSeconds } from './fields.js';
import { isFolder, namesIn } from './files.js';
import {
  checkHeader,
  checkLength,
  checkNotHeader,
  type Row,
  readRecords,
  tallyUnread,
  wrongCell,
} from './table.js';
import type { TraceFormat } from './trace-format.js';

/** The names in the trace, and those of samples of it, which have one day. */
const INVOCATIONS = /^(?:invocations_per_function_md\.anon\.d(\d+)|invocations)\.csv(\.gz)?$/;
const DURATIONS = /^(?:function_durations_percentiles\.anon\.d(\d+)|durations)\.csv(\.gz)?$/;
const ID = ['HashOwner', 'HashApp', 'HashFunction'];

/**
 * The Azure Functions trace of 2019: a folder with the tables of invocations and durations of one or more days. An
 * invocation becomes a job with one task of its function's average duration on that day; invocations of a minute are
 * spread evenly over it.
 */
export const azure2019 = {
  name: 'azure2019',
  sample: 'azure2019',
  aJob: 'no function with a duration was invoked',
  endings: [],
  // A single table; `read` explains which folder to give instead.
  recognises: (firstLine) => /^"?HashOwner"?,/i.test(firstLine.trim()),
  recognisesFolder: (names) => names.some((name) => INVOCATIONS.test(name) || DURATIONS.test(name)),
  filesIn: async (folder) =>
    (await daysOf(folder)).flatMap(({ invocations, durations }) => [invocations, durations]),
  read: readAzure2019,
} as const satisfies TraceFormat;

interface Day {
  readonly day: number;
  readonly invocations: string;
  readonly durations: string;
}

async function daysOf(folder: string): Promise<Day[]> {
  if (!(await isFolder(folder))) {
    throw new WorkloadError(
      'this is only one table of the Azure Functions trace',
      'use the folder that contains invocations_per_function_md.anon.d01.csv and function_durations_percentiles.anon.d01.csv',
      { file: folder },
    );
  }
  const names = await namesIn(folder);
  const durations = new Map(
    names.flatMap((name) => (DURATIONS.test(name) ? [[DURATIONS.exec(name)![1], name]] : [])),
  );
  return names.flatMap((name): Day[] => {
    const found = INVOCATIONS.exec(name);
    if (found === null) return [];
    const day = found[1];
    const own = durations.get(day);
    if (own === undefined) {
      const missing = day === undefined ? 'durations' : `function_durations_percentiles.anon.d${day}`;
      throw new WorkloadError(
        `the folder has no ${missing}.csv`,
        'copy it beside the invocations of that day',
        { file: folder },
      );
    }
    return [{ day: Number(day ?? 1), invocations: name, durations: own }];
  });
}

/** @throws WorkloadError with file and line at the first invalid row */
async function* readAzure2019(
  folder: string,
  tally = new Tally(),
  signal?: AbortSignal,
): AsyncGenerator<PackedJobs> {
  const days = await daysOf(folder);
  const packer = new JobPacker();
  let invoked = 0;
  tally.add(
    {
      code: 'invocations-spread',
      what: 'tables with counts per minute and daily averages: exact times are not recorded',
    },
    days.length,
  );
  for (const { day, invocations, durations } of days) {
    const averages = await averagesOf(join(folder, durations), signal);
    const midnight = (day - days[0]!.day) * 86_400;
    let isFirst = true;
    for await (const { row, places } of rowsOf(join(folder, invocations), [], signal)) {
      if (isFirst) tallyColumns(places, tally);
      isFirst = false;
      const id = idOf(row, places);
      const seconds = averages.get(id);
      const minutes = minutesOf(row, places);
      const all = minutes.reduce((sum, [, count]) => sum + count, 0);
      if (seconds === undefined) {
        tally.add(
          {
            code: 'invocations-without-duration',
            what: 'invocations of functions without a duration: omitted',
          },
          all,
        );
        continue;
      }
      invoked += all;
      if (invoked > INVOCATIONS_READ_MAX)
        throw new WorkloadError(
          `the tables have more than ${INVOCATIONS_READ_MAX} invocations`,
          'use fewer functions: an invocation is a job',
          row,
        );
      const [user, app, name] = id.split(',') as [string, string, string];
      for (const [minute, count] of minutes) {
        for (let i = 0; i < count; i++) {
          packer.roomFor(1)[0] = seconds;
          packer.close(midnight + 60 * (minute - 1 + i / count), seconds, 1, {
            name,
            user,
            logicalName: `${app}/${name}`.slice(0, 256),
          });
          if (packer.isFull) yield packer.take();
        }
      }
    }
  }
  yield packer.take();
}

/** Counts columns of the invocations that are ignored, and minutes without a column. */
function tallyColumns(places: ReadonlyMap<string, number>, tally: Tally): void {
  const names = [...places.keys()];
  tallyUnread(
    tally,
    names.filter((name) => !ID.includes(name) && name !== 'Trigger' && minuteOf(name) === undefined),
  );
  const minutes = names.filter((name) => minuteOf(name) !== undefined).length;
  tally.add(
    { code: 'minutes-missing', what: 'minutes of a day without a column: read as without invocations' },
    MINUTES - minutes,
  );
}

async function* rowsOf(
  file: string,
  needed: readonly string[],
  signal?: AbortSignal,
): AsyncGenerator<{ readonly row: Row; readonly places: ReadonlyMap<string, number> }> {
  let places: Map<string, number> | undefined;
  for await (const row of readRecords(file, { delimiter: ',', hasQuotes: true }, signal)) {
    if (places === undefined) {
      places = new Map(row.cells.map((name, place) => [name, place]));
      checkHeader(row);
      const missing = [...ID, ...needed].filter((name) => !places!.has(name));
      if (missing.length > 0)
        throw new WorkloadError(
          `missing column ${missing.join(', ')}`,
          'copy or download the file again',
          row,
        );
      continue;
    }
    checkLength(row, places.size);
    checkNotHeader(row, [...places.keys()]);
    yield { row, places };
  }
}

function idOf({ cells }: Row, places: ReadonlyMap<string, number>): string {
  return ID.map((name) => cells[places.get(name)!]!.slice(0, 250)).join(',');
}

/** Average durations in seconds, by function. */
async function averagesOf(file: string, signal?: AbortSignal): Promise<Map<string, number>> {
  const averages = new Map<string, number>();
  for await (const { row, places } of rowsOf(file, ['Average'], signal)) {
    const place = places.get('Average')!;
    const seconds = decimal(row.cells[place]!) / 1_000;
    // A few durations are negative because of wrong clocks.
    if (seconds < 0) continue;
    if (!isSeconds(seconds)) throw wrongCell(row, place, 'Average', 'it must be a number of milliseconds');
    averages.set(idOf(row, places), seconds);
  }
  return averages;
}

/** Minutes of a day. */
const MINUTES = 1_440;

/** Returns the minute of a column, from 1; undefined for other columns. */
function minuteOf(name: string): number | undefined {
  const minute = /^\d{1,4}$/.test(name) ? Number(name) : 0;
  return minute >= 1 && minute <= MINUTES ? minute : undefined;
}

/** More invocations per minute are invalid. */
const INVOCATIONS_MAX = 10_000_000;
/** More jobs take too long to read. */
const INVOCATIONS_READ_MAX = 100_000_000;

/** Minutes 1 to 1440, with the number of invocations in each. */
function minutesOf(
  row: Row,
  places: ReadonlyMap<string, number>,
): (readonly [minute: number, count: number])[] {
  const counts: (readonly [number, number])[] = [];
  for (const [name, place] of places) {
    const minute = minuteOf(name);
    if (minute === undefined) continue;
    const count = decimal(row.cells[place]!);
    if (!Number.isInteger(count) || count < 0 || count > INVOCATIONS_MAX)
      throw wrongCell(
        row,
        place,
        `minute ${minute}`,
        `it must be a whole number from 0 to ${INVOCATIONS_MAX}`,
      );
    if (count > 0) counts.push([minute, count]);
  }
  return counts;
}
