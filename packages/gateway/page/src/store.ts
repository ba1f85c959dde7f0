import { WORKER_STATES } from '@goshawk/core';
import { batch, signal } from '@preact/signals';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { type ApiError, follow, get, hasToken } from './api.js';
import { type Address, parseAddress } from './router.js';
import type { Overview, Point, Role, Session, Worker, WorkerDelta } from './shapes.js';

/** States of workers by the index in deltas. */
const STATES = [...WORKER_STATES, 'lost'] as const;
const HISTORY_SECONDS = 3_600;
/** Delay (ms) before the session is requested again after a failure. */
const RETRY_MS = 1_000;
const DISMISSED = 'goshawk.dismissed';

/** All state that several parts of the page share. State of one component is in the component or in the address. */
export class Store {
  readonly address = signal<Address>(parseAddress(''));
  readonly session = signal<Session | undefined>(undefined);
  /** Whether the gateway requires a token that this tab does not have. */
  readonly needsToken = signal(false);
  readonly problem = signal<ApiError | undefined>(undefined);
  /** Message of an exception in this page. */
  readonly fault = signal('');
  readonly overview = signal<Overview | undefined>(undefined);
  readonly points = signal<readonly Point[]>([]);
  readonly workers = signal<ReadonlyMap<number, Worker>>(new Map());
  /** Number of updates so far. */
  readonly updates = signal(0);
  /** Time of the last update, ms since 1970 like `now`. */
  readonly updatedAt = signal(0);
  /** Wall clock, which ticks every second while the page is visible. */
  readonly now = signal(Date.now());
  readonly isDark = signal(false);
  /** Keys of attention items that the user has dismissed in this tab. */
  readonly dismissed = signal<ReadonlySet<string>>(new Set());
  /** The last focused link of a view, to which the focus returns. */
  readonly lastFocus = new Map<string, string>();

  may(role: Role): boolean {
    const own = this.session.value?.role;
    return own === 'operate' || own === role;
  }

  /** Connects the store to the browser. */
  start(): void {
    const dark = matchMedia('(prefers-color-scheme: dark)');
    this.isDark.value = dark.matches;
    dark.addEventListener('change', () => {
      this.isDark.value = dark.matches;
    });
    this.dismissed.value = new Set(JSON.parse(sessionStorage.getItem(DISMISSED) ?? '[]') as string[]);
    this.address.value = parseAddress(location.hash);
    addEventListener('hashchange', () => {
      this.address.value = parseAddress(location.hash);
    });
    setInterval(() => {
      if (!document.hidden) this.now.value = Date.now();
    }, 1_000);
    // Both requests start at once, because a slow line has a long round trip.
    void this.signIn();
  }

  /** Requests the session until the gateway accepts the token. */
  async signIn(): Promise<void> {
    const updates = hasToken() || !this.needsToken.value ? new AbortController() : undefined;
    if (updates !== undefined) void this.#follow(updates.signal);
    try {
      const session = await get<Session>('/v1/session');
      batch(() => {
        this.session.value = session;
        this.needsToken.value = false;
        this.problem.value = undefined;
      });
    } catch (error) {
      updates?.abort();
      const problem = error as ApiError;
      batch(() => {
        // Without a token, the page asks for one; that is no error.
        this.problem.value = problem.status === 401 && !hasToken() ? undefined : problem;
        this.needsToken.value = problem.status === 401;
      });
      if (problem.status !== 401) setTimeout(() => void this.signIn(), RETRY_MS);
    }
  }

  #follow(signal: AbortSignal): Promise<void> {
    return follow(
      '/v1/events',
      {
        state: (problem) => {
          if (problem?.status !== 401) this.problem.value = problem ?? undefined;
        },
        event: (name, data) => this.take(name, data),
      },
      signal,
    );
  }

  /** Takes an event of the cluster's stream. `workers` is the last one of each update. */
  take(name: string, data: unknown): void {
    if (name === 'overview') this.#overview = data as Overview;
    if (name === 'history') this.#addPoints(data as { reset: boolean; points: Point[] });
    if (name !== 'workers') return;
    batch(() => {
      this.workers.value = changed(this.workers.peek(), data as WorkerDelta);
      if (this.#overview !== undefined) this.overview.value = this.#overview;
      this.points.value = this.#points;
      this.updatedAt.value = this.now.value = Date.now();
      this.updates.value++;
    });
  }

  #overview: Overview | undefined;
  #points: readonly Point[] = [];

  #addPoints({ reset, points }: { reset: boolean; points: Point[] }): void {
    // Points of a time at which the gateway did not run arrive later than newer ones.
    const all = (reset ? points : [...this.#points, ...points]).toSorted((one, other) => one.at - other.at);
    const newest = all.at(-1)?.at ?? 0;
    this.#points = all.filter(({ at }) => at > newest - HISTORY_SECONDS);
  }

  /** Changes the query of the address. A change of what is listed, such as a page, is a step in the history. */
  setQuery(changes: Readonly<Record<string, string | undefined>>, isStep = false): void {
    const { query } = this.address.peek();
    const next = new URLSearchParams(query);
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined || value === '') next.delete(name);
      else next.set(name, value);
    }
    const [path = '#/'] = location.hash.split('?');
    const text = next.size === 0 ? path : `${path}?${next}`;
    if (text === location.hash) return;
    if (isStep) history.pushState(null, '', text || '#/');
    else history.replaceState(null, '', text || '#/');
    this.address.value = parseAddress(location.hash);
  }

  dismiss(key: string): void {
    this.dismissed.value = new Set([...this.dismissed.peek(), key].slice(-200));
    sessionStorage.setItem(DISMISSED, JSON.stringify([...this.dismissed.peek()]));
  }
}

/** Returns the workers after a delta. */
export function changed(
  workers: ReadonlyMap<number, Worker>,
  { reset, born, now }: WorkerDelta,
): ReadonlyMap<number, Worker> {
  if (!reset && born.length === 0 && now.length === 0) return workers;
  const next = new Map(reset ? [] : workers);
  const none = { state: 'active' as const, busy: 0, long: -1, queued: 0, cpus: -1 };
  for (const [id, name, slots, isShort] of born)
    next.set(id, { ...none, name, slots, isShort: isShort === 1 });
  for (const [id, state, busy, long, queued, cpus] of now) {
    const worker = next.get(id);
    if (worker !== undefined) next.set(id, { ...worker, state: STATES[state]!, busy, long, queued, cpus });
  }
  return next;
}

export const StoreContext = createContext(new Store());

export function useStore(): Store {
  return useContext(StoreContext);
}

/** Returns a value of the address, which links and reloads keep. */
export function useParam(name: string, fallback = ''): string {
  return useStore().address.value.query.get(name) ?? fallback;
}
