import { InputError, quoted } from '../errors.js';
import type { Millis } from '../ids.js';
import { LIMITS } from '../limits.js';
import { parseDuration } from '../text/durations.js';

/** Earliest start of a job: a delay after its acceptance, or a time (ms since 1970). */
export type Begin = { readonly afterMs: Millis } | { readonly at: Millis };

const HINT = 'write a delay, such as 2h, or a time with its zone, such as 2026-11-25T22:00:00+01:00';
const LOCAL_HINT = 'write a delay, such as 2h, or a time, such as 22:00 or 2026-11-25T22:00';
const DATE = String.raw`(\d{4})-(\d\d)-(\d\d)`;
const TIME = String.raw`(\d\d):(\d\d)(?::(\d\d)(\.\d{1,9})?)?`;
const WITH_ZONE = new RegExp(`^${DATE}T${TIME}(?:Z|[+-]\\d\\d:?\\d\\d)$`, 'i');
const WITHOUT_ZONE = new RegExp(`^${DATE}(?:[T ]${TIME})?$`, 'i');
const OF_DAY = new RegExp(`^${TIME.replace(String.raw`(\d\d):`, String.raw`(\d\d?):`)}$`);

/**
 * Parses a delay from acceptance (`2h`, `+1h30m`) or an ISO 8601 time with a time zone. The zone is required
 * because the scheduler may be in another zone than the submitter.
 *
 * @param what names the setting in the error
 * @throws InputError
 */
export function parseBegin(text: string, what: string, hint = HINT): Begin {
  const written = text.trim();
  if (written.length <= LIMITS.quantityLengthMax && WITH_ZONE.test(written)) {
    const at = Date.parse(written.toUpperCase());
    // JavaScript moves a day that the month does not have, such as 31 April, to the next month.
    if (Number.isFinite(at) && isDay(written)) return { at };
  } else if (/^\+?\s*\d/.test(written) && /[a-z]$/.test(written))
    return { afterMs: parseDuration(written.replace(/^\+\s*/, ''), what) };
  else if (OF_DAY.test(written) || WITHOUT_ZONE.test(written))
    throw new InputError('bad-time', `${what}: ${quoted(text)} does not say its time zone`, HINT);
  throw new InputError('bad-time', `${what}: ${quoted(text)} is neither a delay nor a time`, hint);
}

/**
 * Converts a time as users write it to text that `parseBegin` accepts. `22:00` is the next occurrence of that
 * time; dates and times without a zone are local. If clocks go back, the earlier future occurrence counts; a time that clocks skip moves
 * forward by the size of the jump.
 *
 * @param now wall clock, ms since 1970
 * @param zone IANA name; default: the zone of this process
 * @throws InputError
 */
export function beginOf(text: string, what: string, now: Millis, zone?: string): string {
  const written = text.trim();
  const ofDay = OF_DAY.exec(written);
  if (ofDay !== null) {
    const [, hour, minute, second = '0'] = ofDay;
    const today = localFields(now, zone);
    for (let day = 0; day <= 2; day++) {
      const wanted = { ...today, day: today.day + day, hour: +hour!, minute: +minute!, second: +second };
      if (wanted.hour > 23 || wanted.minute > 59 || wanted.second > 59) break;
      const at = momentsOf(wanted, zone).find((moment) => moment > now);
      if (at !== undefined) return new Date(at).toISOString();
    }
    throw noSuchTime(text, what);
  }
  const dated = WITHOUT_ZONE.exec(written);
  if (dated !== null) {
    const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '0'] = dated;
    const wanted = {
      year: +year!,
      month: +month!,
      day: +day!,
      hour: +hour,
      minute: +minute,
      second: +second,
    };
    if (isDay(written) && wanted.hour <= 23 && wanted.minute <= 59 && wanted.second <= 59) {
      const moments = momentsOf(wanted, zone);
      const at = moments.find((moment) => moment > now) ?? moments[0]!;
      return new Date(at + 1_000 * Number(fraction)).toISOString();
    }
    throw noSuchTime(text, what);
  }
  parseBegin(written, what, LOCAL_HINT);
  return written;
}

/** The error for text that has the form of a local time, but names an hour or a day that does not exist. */
function noSuchTime(text: string, what: string): InputError {
  return new InputError('bad-time', `${what}: ${quoted(text)} is not a valid time`, LOCAL_HINT);
}

/** Whether the date exists, unlike 31 April. @param text starts with a date */
function isDay(text: string): boolean {
  const [, year, month, day] = new RegExp(`^${DATE}`).exec(text)!.map(Number) as [
    number,
    number,
    number,
    number,
  ];
  const date = new Date(Date.UTC(2000, month - 1, day));
  // The Date constructor maps years below 100 to 1900–1999.
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

interface Fields {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

/**
 * Returns the times at which clocks of the zone show the fields, in ascending order: two when clocks go back.
 * For a skipped time, returns the time that the clocks would have shown without the jump.
 */
function momentsOf(wanted: Fields, zone: string | undefined): Millis[] {
  const asUtc = utcOf(wanted);
  const day = 24 * 3_600_000;
  const offsets = [asUtc - day, asUtc + day].map((at) => utcOf(localFields(at, zone)) - at);
  const moments = [...new Set(offsets.map((offset) => asUtc - offset))].sort((one, other) => one - other);
  const shown = moments.filter((at) => utcOf(localFields(at, zone)) === asUtc);
  // For a skipped time, the offset before the jump yields a later time.
  return shown.length > 0 ? shown : [moments.at(-1)!];
}

function utcOf({ year, month, day, hour, minute, second }: Fields): Millis {
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** Returns the local clock fields at a time, to the second. */
function localFields(at: Millis, zone: string | undefined): Fields {
  const parts = new Intl.DateTimeFormat('en-US', {
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
    ...(zone === undefined ? {} : { timeZone: zone }),
  }).formatToParts(Math.floor(at / 1_000) * 1_000);
  const of = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  return {
    year: of('year'),
    month: of('month'),
    day: of('day'),
    hour: of('hour'),
    minute: of('minute'),
    second: of('second'),
  };
}
