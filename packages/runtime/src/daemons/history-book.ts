import type { HistorySample } from '@goshawk/central';
import {
  CounterRates,
  HISTORY_KEPT_MS,
  HISTORY_POINTS_PER_PAGE,
  type HistoryPage,
  type HistoryPoint,
  type HistoryRoster,
  UNKNOWN_RATES,
  useOf,
} from '@goshawk/core';
import type { Logger } from '@goshawk/transport';
import { linesOf, RotatedFile } from '../audit/rotated-file.js';

/** A day of 10,000 workers takes about 10 MB in one file, and one rotated file is kept. Bytes. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;
/** Points after which the file repeats the list of workers, because rotation may remove the earlier one. */
const ROSTER_REPEATED = 30;

const NO_RATES = { seconds: 0, short: UNKNOWN_RATES, long: UNKNOWN_RATES };

/** The state of the cluster every two minutes, for a day: in memory, and in a file, from which the next process reads it. */
export class HistoryBook {
  readonly #points: HistoryPoint[] = [];
  readonly #rosters = new Map<number, HistoryRoster>();
  readonly #rates = new CounterRates();
  readonly #file: RotatedFile | undefined;
  readonly #now: () => number;
  #roster: HistoryRoster = { id: 0, workers: [] };
  #untilRoster = 0;

  /**
   * @param path of the file; undefined: the history is lost when the process ends
   * @throws InputError `bad-history` if the file cannot be written
   */
  constructor(path: string | undefined, logger: Logger, now: () => number = Date.now) {
    this.#now = now;
    this.#rosters.set(this.#roster.id, this.#roster);
    if (path === undefined) return;
    for (const line of linesOf(path)) this.#read(line);
    this.#dropOld();
    this.#file = new RotatedFile(path, logger, FILE_BYTES_MAX, 1, {
      what: 'history',
      option: '--data-folder',
    });
  }

  /** Adds a point. The first one after a start has no predecessor, so its rates are unknown. */
  add({ waiting, busy, slots, shares, workers, counters }: HistorySample): void {
    const at = this.#now();
    const rates = this.#rates.add(at, counters);
    const seconds = Math.round(at / 1_000);
    // Points that lie in the future after the clock was set back.
    while ((this.#points.at(-1)?.at ?? 0) >= seconds) this.#points.pop();
    const roster = this.#rosterOf(workers);
    const loads = Uint8Array.from(workers, ({ load }) => load);
    const { use, capacity } = useOf(shares);
    const point = {
      ...{ at: seconds, waiting, busy, slots, use, capacity, ...(rates ?? NO_RATES) },
      ...{ roster, loads },
    };
    this.#points.push(point);
    this.#dropOld();
    this.#file?.write({ ...point, loads: Buffer.from(loads).toString('base64') });
  }

  /** Returns points after a time, in seconds since 1970. */
  page(after: number): HistoryPage {
    this.#dropOld();
    const first = this.#points.findIndex(({ at }) => at > after);
    if (first < 0) return { points: [], rosters: [], atEnd: true };
    const points = this.#points.slice(first, first + HISTORY_POINTS_PER_PAGE);
    const rosters = [...new Set(points.map(({ roster }) => roster))].flatMap(
      (id) => this.#rosters.get(id) ?? [],
    );
    return { points, rosters, atEnd: first + points.length === this.#points.length };
  }

  close(): void {
    this.#file?.close();
  }

  /** Returns the number of the list of these workers, and writes the list if it is new or was written long ago. */
  #rosterOf(workers: HistorySample['workers']): number {
    const known = this.#roster.workers;
    const isSame =
      known.length === workers.length &&
      workers.every(({ name, slots }, at) => known[at]!.name === name && known[at]!.slots === slots);
    if (!isSame) {
      const list = workers.map(({ name, slots }) => ({ name, slots }));
      this.#roster = { id: Math.max(0, ...this.#rosters.keys()) + 1, workers: list };
      this.#rosters.set(this.#roster.id, this.#roster);
      this.#untilRoster = 0;
    }
    if (this.#untilRoster-- <= 0) {
      this.#file?.write(this.#roster);
      this.#untilRoster = ROSTER_REPEATED;
    }
    return this.#roster.id;
  }

  /** Reads a line of the file. Damaged lines are skipped. */
  #read(line: string): void {
    try {
      const value = JSON.parse(line) as HistoryRoster | (Omit<HistoryPoint, 'loads'> & { loads: string });
      if ('workers' in value) {
        this.#rosters.set(value.id, value);
      } else if (value.at > (this.#points.at(-1)?.at ?? 0) && typeof value.loads === 'string') {
        this.#points.push({
          ...value,
          // JSON omits undefined values, which messages must state.
          short: { ...UNKNOWN_RATES, ...value.short },
          long: { ...UNKNOWN_RATES, ...value.long },
          loads: Uint8Array.from(Buffer.from(value.loads, 'base64')),
        });
      }
    } catch {
      // A process that was killed may have written a part of a line.
    }
  }

  #dropOld(): void {
    const oldest = (this.#now() - HISTORY_KEPT_MS) / 1_000;
    const isOld = ({ at }: HistoryPoint): boolean => at < oldest;
    if (this.#points.length === 0 || !isOld(this.#points[0]!)) return;
    const first = this.#points.findIndex((point) => !isOld(point));
    this.#points.splice(0, first < 0 ? this.#points.length : first);
    const used = new Set(this.#points.map(({ roster }) => roster)).add(this.#roster.id);
    for (const id of this.#rosters.keys()) if (!used.has(id)) this.#rosters.delete(id);
  }
}
