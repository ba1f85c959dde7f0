import type { WorkerView } from '@goshawk/client';
import { compareNames, type LostWorker, type Millis, setLatest, WORKER_STATES } from '@goshawk/core';

/** States of workers. The deltas of the page contain the index in this list. */
export const SHOWN_STATES = [...WORKER_STATES, 'lost'] as const;
type ShownState = (typeof SHOWN_STATES)[number];

/** Workers listed no longer whose events are kept. */
const FORMER_MAX = 1_000;
/** Retention of lost workers (ms). */
const LOST_SHOWN_MS = 3_600_000;

interface Row {
  readonly id: number;
  view: WorkerView;
  state: ShownState;
  lostAt: Millis | undefined;
  /** The loss, as reported by central. */
  loss: Pick<LostWorker, 'cause' | 'running'> | undefined;
  /** Version at which the row was added, or its constant part changed. */
  addedAt: number;
  /** Version of the last change of the row. */
  changedAt: number;
  /** Observed changes of state, oldest first. */
  readonly events: WorkerEvent[];
}

/**
 * An observed change of state. The first one is the join of the worker, or the first observation by the
 * gateway.
 */
interface WorkerEvent {
  /** Time of the change, ms since 1970. */
  readonly at: Millis;
  readonly state: ShownState | 'joined' | 'seen';
  /** Why a worker was lost or quarantined, if known. */
  readonly cause?: string | undefined;
}
/** Maximum number of retained state changes per worker. */
const EVENTS_MAX = 20;

/**
 * Changes of workers, in a compact form: with 10,000 workers, repeated field names would be half of the data.
 */
export interface WorkerDelta {
  /** Whether the reader must discard its state. */
  readonly reset: boolean;
  /** `[id, name, slots, partition]`; partition 1: short tasks only. */
  readonly born: readonly (readonly [number, string, number, number])[];
  /** `[id, state, busy, long, queued, cpus]`; cpus: requested by running tasks; long or cpus −1: unknown. */
  readonly now: readonly (readonly [number, number, number, number, number, number])[];
}

/** All workers as last observed, with the version of each change. */
export class WorkerTable {
  readonly #rows = new Map<string, Row>();
  /** Sorted names, computed on demand, because sorting ten thousand names takes a tenth of a second. */
  #names: readonly string[] | undefined;
  #nextId = 0;
  #version = 0;
  /** Version at which a row was last removed. Readers of older versions must discard their state. */
  #removedAt = 0;
  /** Changes of state of workers that are listed no longer: while central restarts, it lists none. */
  readonly #formerEvents = new Map<string, readonly WorkerEvent[]>();

  get version(): number {
    return this.#version;
  }

  /**
   * Updates the table from a reply of central.
   *
   * @param now monotonic clock, ms
   * @param at wall clock
   * @param lost workers that central has lost, possibly before the first update
   */
  update(
    workers: readonly WorkerView[],
    now: Millis,
    at: Millis = 0,
    lost: readonly LostWorker[] = [],
  ): void {
    this.#version++;
    const there = new Set<string>();
    for (const view of workers) {
      there.add(view.name);
      this.#updateRow(view, at);
    }
    // Central lists lost workers. One that it lists neither here nor there has left, or was taken off the list.
    const listed = new Set(lost.map(({ name }) => name));
    for (const row of this.#rows.values())
      if (row.state === 'lost' && !there.has(row.view.name) && !listed.has(row.view.name)) this.#forget(row);
    for (const row of this.#rows.values()) if (!there.has(row.view.name)) this.#missed(row, now, at);
    for (const worker of lost) if (!there.has(worker.name)) this.#lost(worker, now, at);
  }

  /** Returns the retained changes of state of a worker, oldest first. */
  eventsOf(name: string): readonly WorkerEvent[] {
    return this.#rows.get(name)?.events ?? this.#formerEvents.get(name) ?? [];
  }

  /** Returns the present and lost workers by name. */
  rows(): ReadonlyMap<string, Pick<Row, 'view' | 'state' | 'loss'>> {
    return this.#rows;
  }

  /** Returns the names of `rows()` in numeric order: `w2` precedes `w10`. */
  names(): readonly string[] {
    this.#names ??= [...this.#rows.keys()].sort(compareNames);
    return this.#names;
  }

  /** Returns the number of workers by state. */
  counts(): Record<ShownState, number> {
    const counts = { active: 0, draining: 0, drained: 0, quarantined: 0, lost: 0 };
    for (const { state } of this.#rows.values()) counts[state]++;
    return counts;
  }

  /** Returns the lost workers, with the times of their loss by the wall clock. */
  lost(): { readonly name: string; readonly cause: string | undefined; readonly at: Millis | undefined }[] {
    return [...this.#rows.values()]
      .filter(({ state }) => state === 'lost')
      .map(({ view, loss, events }) => ({ name: view.name, cause: loss?.cause, at: events.at(-1)?.at }));
  }

  /**
   * Returns the changes since a version.
   *
   * @param seen the version that the reader has; 0: none
   */
  since(seen: number): WorkerDelta {
    const reset = seen < this.#removedAt || seen > this.#version;
    const from = reset ? 0 : seen;
    const born: WorkerDelta['born'][number][] = [];
    const now: WorkerDelta['now'][number][] = [];
    for (const { id, view, state, addedAt, changedAt } of this.#rows.values()) {
      if (changedAt <= from) continue;
      const { name, slots, partition, busy, long = -1, queued, cpus = -1 } = view;
      if (addedAt > from) born.push([id, name, slots, partition === 'short' ? 1 : 0]);
      now.push([id, SHOWN_STATES.indexOf(state), busy, long, queued, cpus]);
    }
    return { reset: reset || seen === 0, born, now };
  }

  #updateRow(view: WorkerView, at: Millis): void {
    const { name, state } = view;
    const row = this.#rows.get(name);
    const version = this.#version;
    if (row === undefined) {
      const id = this.#nextId++;
      const events = (this.#formerEvents.get(name) ?? []).slice(1 - EVENTS_MAX);
      events.push({ at, state: version === 1 ? 'seen' : 'joined' });
      if (state !== 'active') events.push({ at, state, cause: view.quarantine });
      this.#names = undefined;
      this.#rows.set(name, {
        id,
        view,
        state,
        lostAt: undefined,
        loss: undefined,
        addedAt: version,
        changedAt: version,
        events,
      });
      return;
    }
    const { slots, partition, busy, long, queued, cpus } = row.view;
    if (slots !== view.slots || partition !== view.partition) row.addedAt = row.changedAt = version;
    const isSame =
      busy === view.busy &&
      long === view.long &&
      queued === view.queued &&
      cpus === view.cpus &&
      row.state === state;
    if (!isSame) row.changedAt = version;
    if (row.state !== state)
      addEvent(row, { at, state: row.state === 'lost' ? 'joined' : state, cause: view.quarantine });
    Object.assign(row, { view, state, lostAt: undefined, loss: undefined });
  }

  /** Records the cause of a loss from central, and adds a worker that this table does not contain. */
  #lost({ name, address, cause, running, lostMsAgo }: LostWorker, now: Millis, at: Millis): void {
    const row = this.#rows.get(name);
    if (row !== undefined) {
      const event = row.events.at(-1)!;
      if (event.state === 'lost') Object.assign(event, { at: at - lostMsAgo, cause });
      row.loss = { cause, running };
      return;
    }
    if (lostMsAgo > LOST_SHOWN_MS) return;
    const version = this.#version;
    this.#names = undefined;
    this.#rows.set(name, {
      id: this.#nextId++,
      view: {
        ...{ name, address, slots: 0, capacity: {}, attributes: {}, partition: 'general', state: 'active' },
        ...{ busy: 0, queued: 0, heardMsAgo: lostMsAgo },
      },
      state: 'lost',
      loss: { cause, running },
      lostAt: now - lostMsAgo,
      addedAt: version,
      changedAt: version,
      events: [{ at: at - lostMsAgo, state: 'lost', cause }],
    });
  }

  /** Handles a worker that central no longer lists. A drained worker has left on purpose. */
  #missed(row: Row, now: Millis, at: Millis): void {
    if (row.state === 'lost') {
      if (now - row.lostAt! > LOST_SHOWN_MS) this.#forget(row);
    } else if (row.state === 'draining' || row.state === 'drained') this.#forget(row);
    else {
      const view = { ...row.view, busy: 0, queued: 0, long: undefined, cpus: undefined };
      Object.assign(row, { view, state: 'lost', lostAt: now, changedAt: this.#version });
      addEvent(row, { at, state: 'lost' });
    }
  }

  #forget({ view, events }: Row): void {
    setLatest(this.#formerEvents, view.name, events, FORMER_MAX);
    this.#rows.delete(view.name);
    this.#names = undefined;
    this.#removedAt = this.#version;
  }
}

function addEvent({ events }: Row, event: WorkerEvent): void {
  events.push(event);
  if (events.length > EVENTS_MAX) events.shift();
}
