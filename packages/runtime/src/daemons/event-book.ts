import { Deque, EVENTS_KEPT_MS, type EventPage, firstIndex, type HappenedEvent, LIMITS } from '@goshawk/core';
import type { Logger } from '@goshawk/transport';
import { linesOf, RotatedFile } from '../audit/rotated-file.js';

/** Events of a folder: one file, and one rotated file. Enough for the number of events that are kept. Bytes. */
const FILE_BYTES_MAX = 8 * 1024 * 1024;
/** Events of one kind in a second that are written one by one; the rest are counted in one event. */
const BURST_MAX = 5;
const BURST_MS = 1_000;
/** Kinds of which thousands may occur at once. */
const IN_BURSTS: ReadonlySet<string> = new Set([
  'worker-joined',
  'worker-left',
  'worker-lost',
  'worker-missing',
]);
/** Events that are searched for a repeated one, and the difference of clocks after which it is another one. */
const REPEATED_MAX = 2_000;
const SAME_MS = 2_000;
/** Names in an event about several workers. */
const NAMES_MAX = 3;

/** An event without its number. `at`: default now */
export type NewEvent = Pick<HappenedEvent, 'kind' | 'text'> &
  Partial<Pick<HappenedEvent, 'worker' | 'scheduler' | 'by' | 'at'>>;

/** Events of one kind that occurred in quick succession. */
interface Burst {
  count: number;
  readonly rest: NewEvent[];
}

/**
 * Events of the cluster for seven days, at most 20,000: in memory, and in a file, from which the next process reads them.
 * Numbers increase from one process to the next, so that a reader gets each event once.
 */
export class EventBook {
  readonly #events = new Deque<HappenedEvent>();
  readonly #file: RotatedFile | undefined;
  readonly #now: () => number;
  readonly #bursts = new Map<string, Burst>();
  #timer: NodeJS.Timeout | undefined;
  #last: number;
  /** Wall clock since which events are known. */
  #since: number;

  /**
   * @param path of the file; undefined: events are lost when the process ends
   * @throws InputError `bad-event-log` if the file cannot be written
   */
  constructor(path: string | undefined, logger: Logger, now: () => number = Date.now) {
    this.#now = now;
    this.#since = now();
    for (const event of path === undefined ? [] : storedIn(path)) this.#events.push(event);
    this.#since = Math.min(this.#since, this.#events.at(0)?.at ?? this.#since);
    // Without a file, the numbers of the next process must be higher, too.
    this.#last = Math.max(this.last?.number ?? 0, path === undefined ? now() : 0);
    const about = { what: 'event log', option: '--data-folder' };
    this.#file = path === undefined ? undefined : new RotatedFile(path, logger, FILE_BYTES_MAX, 1, about);
  }

  /** The last event of this kind. */
  latest(kind: string): HappenedEvent | undefined {
    for (let index = this.#events.length - 1; index >= 0; index--)
      if (this.#events.at(index)!.kind === kind) return this.#events.at(index);
    return undefined;
  }

  get last(): HappenedEvent | undefined {
    const { length } = this.#events;
    return length === 0 ? undefined : this.#events.at(length - 1);
  }

  add(event: NewEvent): void {
    if (event.at !== undefined && this.#has(event)) return;
    if (!IN_BURSTS.has(event.kind)) return this.#append(event);
    const burst = this.#bursts.get(event.kind) ?? { count: 0, rest: [] };
    this.#bursts.set(event.kind, burst);
    this.#timer ??= setTimeout(() => this.#endBursts(), BURST_MS).unref();
    if (++burst.count <= BURST_MAX) this.#append(event);
    else burst.rest.push(event);
  }

  /** @param after number of the last event that the reader has; 0: none */
  page(after: number, since = 0): EventPage {
    this.#dropOld();
    const events: HappenedEvent[] = [];
    for (let index = this.#firstAfter(after); index < this.#events.length; index++) {
      const event = this.#events.at(index)!;
      if (event.at < since) continue;
      if (events.length === LIMITS.eventsPerPageMax)
        return { events, next: events.at(-1)!.number, atEnd: false, since: this.#since };
      events.push(event);
    }
    return { events, next: Math.max(after, this.#last), atEnd: true, since: this.#since };
  }

  close(): void {
    this.#endBursts();
    this.#file?.close();
  }

  /** Index of the first event with a higher number. */
  #firstAfter(after: number): number {
    return firstIndex(this.#events.length, (index) => this.#events.at(index)!.number > after);
  }

  #endBursts(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const [kind, { rest }] of this.#bursts) {
      if (rest.length === 1) this.#append(rest[0]!);
      else if (rest.length > 1) this.#append({ kind, text: textOfBurst(kind, rest) });
    }
    this.#bursts.clear();
  }

  #append(event: NewEvent): void {
    const { at = this.#now(), kind, text, worker, scheduler, by } = event;
    const happened = { number: ++this.#last, at, kind, text, worker, scheduler, by };
    this.#events.push(happened);
    this.#dropOld();
    this.#file?.write(happened);
  }

  /** Whether an event with a time of its own was added before: a central that restarts gets it again. */
  #has({ kind, text, scheduler, at = 0 }: NewEvent): boolean {
    for (
      let index = this.#events.length - 1;
      index >= Math.max(0, this.#events.length - REPEATED_MAX);
      index--
    ) {
      const event = this.#events.at(index)!;
      const isSame = event.kind === kind && event.scheduler === scheduler && event.text === text;
      if (isSame && Math.abs(event.at - at) < SAME_MS) return true;
    }
    return false;
  }

  #dropOld(): void {
    const oldest = this.#now() - EVENTS_KEPT_MS;
    while (this.#events.length > LIMITS.eventsMax || (this.#events.at(0)?.at ?? oldest) < oldest)
      this.#since = Math.max(oldest, this.#events.shift()!.at);
  }
}

function textOfBurst(kind: string, events: readonly NewEvent[]): string {
  const names = events.slice(0, NAMES_MAX).flatMap(({ worker }) => worker ?? []);
  const more = events.length - names.length;
  const what = { 'worker-joined': 'joined', 'worker-left': 'left', 'worker-lost': 'are lost' }[kind];
  const who = more === 0 ? names.join(', ') : `${names.join(', ')} and ${more} more`;
  return `workers ${who} ${what ?? 'did not return after central restarted'}`;
}

/** Returns the events of a file in order, without damaged lines. */
function storedIn(path: string): HappenedEvent[] {
  const events: HappenedEvent[] = [];
  for (const line of linesOf(path)) {
    const event = parsed(line);
    if (event !== undefined && event.number > (events.at(-1)?.number ?? 0)) events.push(event);
  }
  return events.slice(-LIMITS.eventsMax);
}

function parsed(line: string): HappenedEvent | undefined {
  try {
    const { number, at, kind, text, worker, scheduler, by } = JSON.parse(line);
    const isEvent = Number.isSafeInteger(number) && Number.isFinite(at) && [kind, text].every(isText);
    if (!isEvent) return undefined;
    const named = (value: unknown): string | undefined => (isText(value) ? value : undefined);
    return {
      ...{ number, at, kind, text },
      ...{ worker: named(worker), scheduler: named(scheduler), by: named(by) },
    };
  } catch {
    return undefined;
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
