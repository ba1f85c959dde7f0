import {
  counted,
  formatDuration,
  type Millis,
  type MissingScheduler,
  rendezvous,
  type SchedulerIntroduction,
  type Schedulers,
  type SchedulerView,
  UnreachableError,
} from '@goshawk/core';
import { anyIncarnationOf, parsePartyName, probeEndpoint } from '@goshawk/transport';
import { abortable, pause } from './abort.js';
import type { Destination, Route } from './attempts.js';
import {
  badAnswer,
  jobsOwnerMissing,
  keyRejection,
  silentProcess,
  unknownJob,
  unreachableCluster,
} from './errors.js';
import type { ClientTimings } from './options.js';
import type { Answer, Requests } from './requests.js';

/** A scheduler of the cluster, and how to address it. */
export interface KnownScheduler extends Destination {
  readonly name: string;
  readonly tag: string;
  /** Epoch of its journal; 0: a local journal, and each key belongs to one scheduler. */
  readonly epoch: number;
  readonly adopted: boolean;
}

/** Time to probe whether a process listens at an address. */
const PROBE_MS: Millis = 500;

interface AskOptions {
  readonly timeoutMs?: Millis | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The schedulers of the cluster. The last list is used while central is unavailable; the list of a central that has
 * just started is incomplete and removes no entry.
 */
export class Roster {
  readonly #requests: Requests;
  readonly #timings: ClientTimings;
  /** Configured endpoints: of central, or of any scheduler. */
  readonly #seeds: readonly string[];
  #central: Destination | undefined;
  /** The incarnation of central that answered most recently. */
  #presentCentral: Destination | undefined;
  #schedulers: readonly KnownScheduler[] = [];
  #away: readonly KnownScheduler[] = [];
  /** The highest known epoch of each journal. */
  readonly #epochs = new Map<string, number>();
  #warnings: readonly string[] = [];
  /** Expected schedulers that central has not seen. */
  #missing: readonly MissingScheduler[] = [];
  /** Schedulers that others named while central did not answer. */
  readonly #named = new Set<string>();
  /** Whether central's list is complete. */
  #isComplete = true;
  #updatedAt: Millis = Number.NEGATIVE_INFINITY;
  #askedAt: Millis = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<void> | undefined;

  constructor(requests: Requests, timings: ClientTimings, seeds: readonly string[]) {
    this.#requests = requests;
    this.#timings = timings;
    this.#seeds = seeds;
  }

  get schedulers(): readonly KnownScheduler[] {
    return this.#schedulers;
  }

  /** Problems reported by central that an operator must fix. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** Display names of absent schedulers that keep their jobs. */
  get missing(): readonly string[] {
    const missing = this.#missing.filter(({ takenOver }) => !takenOver);
    const unreached = [...this.#named].filter(
      (name) => !this.#schedulers.some((known) => known.name === name),
    );
    return [
      ...this.#away.map(({ title }) => title),
      ...missing.map(missingTitle),
      ...unreached.map((name) => `scheduler ${name}, whose address is unknown while central is silent`),
    ];
  }

  /** @throws UnreachableError if its address is unknown */
  get central(): Destination {
    if (this.#central === undefined) throw centralUnknown(this.#seeds);
    return this.#central;
  }

  /**
   * For actions that must not be performed by a central that starts after the caller has given up. Undefined until
   * central has answered.
   */
  get presentCentral(): Destination | undefined {
    return this.#presentCentral;
  }

  /** @throws UnreachableError if none of the configured endpoints answers */
  async join(signal: AbortSignal | undefined): Promise<void> {
    const timeoutMs = this.#timings.connectTimeoutMs;
    // One endpoint may list schedulers while central is unavailable.
    const introductions = this.#seeds.map((seed) => this.#introduce(seed, { timeoutMs, signal }));
    const joined = Promise.any(introductions);
    const isOver = new AbortController();
    try {
      await Promise.race([
        joined,
        this.#refusal(AbortSignal.any([isOver.signal, ...(signal ? [signal] : [])])),
      ]);
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof AggregateError ? await this.#noneReachable(error.errors) : error;
    } finally {
      isOver.abort();
      joined.catch(() => {});
    }
  }

  /**
   * Returns the scheduler that a key belongs to, without those excluded by name. It may be unavailable unless its
   * journal is shared: then all schedulers know the key, and an available one takes the job.
   */
  forKey(key: string, excluded?: ReadonlySet<string>): KnownScheduler | undefined {
    const away = this.#away.filter(({ epoch }) => epoch === 0);
    const present = this.#schedulers.filter(({ adopted }) => !adopted);
    return rendezvous(key, [...present, ...away], excluded);
  }

  /** Whether central's list is complete, because it has run for a while. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  isAway(scheduler: KnownScheduler): boolean {
    return this.#away.includes(scheduler);
  }

  /** Whether only a restart of the absent scheduler brings its jobs back: another one can take over only a shared journal. */
  isLost(scheduler: KnownScheduler): boolean {
    return this.isAway(scheduler) && scheduler.epoch === 0;
  }

  get #all(): readonly KnownScheduler[] {
    return this.#away.length === 0 ? this.#schedulers : [...this.#schedulers, ...this.#away];
  }

  /** Returns the scheduler that owns a job, if known. */
  ownerOf(id: string): KnownScheduler | undefined {
    const tag = id.slice(0, Math.max(id.lastIndexOf('-'), 0));
    return tag === '' ? undefined : this.#all.find((scheduler) => scheduler.tag === tag);
  }

  /**
   * Returns the scheduler that owns a job, after a refresh if necessary.
   *
   * @throws InputError `unknown-job` if there is none; UnreachableError if no party answers
   */
  async findOwner(id: string, signal?: AbortSignal): Promise<KnownScheduler> {
    const known = this.ownerOf(id);
    if (known !== undefined) return known;
    if (id.lastIndexOf('-') <= 0) throw unknownJob(id);
    for (;;) {
      await this.refresh(signal);
      const found = this.ownerOf(id);
      if (found !== undefined) return found;
      const missing = this.#missing.find(({ tag }) => tag !== undefined && id.startsWith(`${tag}-`));
      if (missing !== undefined) throw jobsOwnerMissing(id, missing);
      if (this.#isComplete) throw unknownJob(id);
      await pause(this.#timings.retryMs, signal);
    }
  }

  /** Refreshes the list; concurrent calls share one request. @throws UnreachableError */
  refresh(signal?: AbortSignal): Promise<void> {
    if (this.#refreshing === undefined) {
      this.#refreshing = this.#ask().finally(() => {
        this.#refreshing = undefined;
      });
      // It may fail after all callers have given up.
      this.#refreshing.catch(() => {});
    }
    return abortable(this.#refreshing, signal);
  }

  /** Refreshes in the background, unless that was done recently. */
  refreshSoon(): void {
    if (performance.now() - this.#askedAt < this.#timings.rosterPauseMs) return;
    // Not awaited: the known list stays in use.
    this.refresh().catch(() => {});
  }

  /** Lets requests to schedulers follow a scheduler that moves. */
  get upkeep(): Required<Pick<Route, 'onSilence' | 'refresh'>> {
    return { onSilence: () => this.refreshSoon(), refresh: () => this.refresh() };
  }

  /** Refreshes an old list in the background, and sooner if it lacks schedulers, which may be back. */
  keepFresh(): void {
    const { rosterAgeMaxMs, rosterPauseMs } = this.#timings;
    const isComplete = this.#away.length === 0 && this.#missing.length === 0;
    const ageMaxMs = isComplete ? rosterAgeMaxMs : Math.min(rosterPauseMs, rosterAgeMaxMs);
    if (performance.now() - this.#updatedAt > ageMaxMs) this.refreshSoon();
  }

  /** Returns the schedulers known to central, and refreshes the list. @throws UnreachableError */
  async fetchNow(options: AskOptions = {}): Promise<Schedulers> {
    return this.#load(this.central, options);
  }

  async #load(central: Destination, options: AskOptions): Promise<Schedulers> {
    const answer = await this.#find(central, options);
    if (answer.type !== 'schedulers') throw badAnswer(answer.peer, 'the schedulers of the cluster');
    this.#take(central, answer);
    return answer.value;
  }

  async #ask(): Promise<void> {
    this.#askedAt = performance.now();
    if (this.#central !== undefined) {
      try {
        return void (await this.fetchNow());
      } catch (error) {
        // Central may have moved, and schedulers know its address.
        const timeoutMs = this.#timings.pollTimeoutMs;
        await Promise.allSettled(this.#seeds.map((seed) => this.#introduce(seed, { timeoutMs })));
        if (this.#updatedAt < this.#askedAt) throw error;
        return;
      }
    }
    try {
      await Promise.any(this.#seeds.map((seed) => this.#introduce(seed, {})));
    } catch (error) {
      throw await this.#noneReachable((error as AggregateError).errors);
    }
  }

  /**
   * Rejects if after `absentTimeoutMs`, in which a process may restart, no address has a listener, or all reject the key;
   * otherwise never settles.
   */
  async #refusal(signal: AbortSignal): Promise<never> {
    const { absentTimeoutMs, connectTimeoutMs } = this.#timings;
    await pause(Math.min(absentTimeoutMs, connectTimeoutMs), signal).catch(() => {});
    if (signal.aborted) return new Promise<never>(() => {});
    const rejections = this.#seeds.flatMap(
      (seed) => keyRejection(seed, this.#requests.authFailureOf(anyPartyAt(seed))) ?? [],
    );
    if (rejections.length === this.#seeds.length) throw rejections[0];
    if ((await this.#isRefused()) && !signal.aborted)
      throw unreachableCluster(this.#seeds, new Error('the connection was refused'), true);
    return new Promise<never>(() => {});
  }

  /** Whether nothing listens at any address. */
  async #isRefused(): Promise<boolean> {
    const probes = await Promise.all(
      this.#seeds.map((seed) => probeEndpoint(seed, PROBE_MS).catch(() => 'unreachable')),
    );
    return probes.every((probe) => probe === 'refused');
  }

  async #noneReachable(causes: readonly unknown[]): Promise<unknown> {
    const other = causes.find(
      (cause) =>
        !(cause instanceof UnreachableError) ||
        cause.code.startsWith('keys-') ||
        cause.code === 'no-handshake' ||
        cause.code === 'other-version',
    );
    if (other !== undefined) return other;
    const silent = this.#seeds.find((seed) => this.#requests.isConnectedTo(anyPartyAt(seed)));
    return silent === undefined
      ? unreachableCluster(this.#seeds, causes[0], await this.#isRefused())
      : silentProcess(silent, causes[0]);
  }

  async #introduce(seed: string, options: AskOptions): Promise<void> {
    const answer = await this.#find({ party: anyPartyAt(seed), title: seed }, options);
    if (answer.type === 'schedulers') return this.#take(centralAt(seed, 0), answer);
    this.#addIntroduced(seed, answer.from, answer.value);
    // A scheduler's list suffices for a while if central is unavailable.
    const central = centralNamed(answer.value.central);
    if (central === undefined) return;
    this.#central ??= central;
    const { pollTimeoutMs, absentTimeoutMs } = this.#timings;
    await this.#load(central, { ...options, timeoutMs: Math.min(pollTimeoutMs, absentTimeoutMs) }).catch(
      () => {},
    );
    options.signal?.throwIfAborted();
  }

  /** Uses the address through which this client reached central, which may differ from the one for others. */
  #centralAnswered({ party, title }: Destination, from: string): void {
    const [at, answered] = [parseParty(party), parseParty(from)];
    if (at === undefined || answered === undefined) return;
    this.#presentCentral = { party: `${at.endpoint}!${answered.incarnation}/${at.index}`, title };
  }

  #find(to: Destination, { timeoutMs, signal }: AskOptions): Promise<Answer<'findSchedulers'>> {
    return this.#requests.ask({
      what: 'for the schedulers of the cluster',
      build: (request) => ({ type: 'findSchedulers', request }),
      to: () => to,
      timeoutMs,
      signal,
    });
  }

  #addIntroduced(endpoint: string, address: string, { name, tag, others = [] }: SchedulerIntroduction): void {
    // Central's list, once it was received, has them.
    if (this.#updatedAt === Number.NEGATIVE_INFINITY) for (const other of others) this.#named.add(other);
    if (this.#schedulers.some((known) => known.tag === tag)) return;
    this.#schedulers = [
      ...this.#schedulers,
      ...knownScheduler({ name, tag, endpoint, address, epoch: 0, adopted: false }),
    ];
  }

  /** A former owner of the journal is ignored, even if a reply lists it. */
  #isLatest({ tag, epoch }: KnownScheduler): boolean {
    const highest = this.#epochs.get(tag) ?? 0;
    if (epoch > highest) this.#epochs.set(tag, epoch);
    return epoch >= highest;
  }

  #take(central: Destination, { from, value: answer }: { from: string; value: Schedulers }): void {
    this.#central = central;
    this.#centralAnswered(central, from);
    this.#updatedAt = performance.now();
    this.#named.clear();
    const known = (views: readonly SchedulerView[]) =>
      views.flatMap(knownScheduler).filter((scheduler) => this.#isLatest(scheduler));
    const away = known(answer.away);
    const present = known(answer.present);
    this.#isComplete = answer.complete;
    this.#warnings = answer.warnings;
    this.#missing = answer.missing ?? [];
    const unnamed = (before: readonly KnownScheduler[]) =>
      this.#isComplete ? [] : before.filter((scheduler) => !isListedIn(scheduler, [...present, ...away]));
    this.#schedulers = [...present, ...unnamed(this.#schedulers)];
    this.#away = [...away, ...unnamed(this.#away)];
    this.#requests.resendMoved();
  }
}

/** Returns the first party of any process at an endpoint. */
function anyPartyAt(endpoint: string): string {
  return `${endpoint}!*/0`;
}

/** Text to follow `no answer from`. */
export function missingTitle({ name, jobs, missingMs }: MissingScheduler): string {
  const ago = `${formatDuration(missingMs)} ago`;
  if (jobs === undefined) return `scheduler ${name}, not connected since central started (${ago})`;
  return `scheduler ${name}, lost ${ago}${jobs === 0 ? '' : ` with ${counted(jobs, 'job')}`}`;
}

/** Returns whether it or its successor is listed. */
function isListedIn({ name, tag, epoch }: KnownScheduler, others: readonly KnownScheduler[]): boolean {
  return others.some((other) => (other.name === name && epoch === 0) || other.tag === tag);
}

/**
 * A job belongs to one incarnation of a scheduler, and so do requests about it. The endpoint is the one for clients,
 * which may differ from the one for other processes.
 *
 * @returns undefined for a scheduler whose address central does not know
 */
function knownScheduler(
  view: Pick<SchedulerView, 'name' | 'tag' | 'endpoint' | 'address' | 'epoch' | 'adopted'>,
): KnownScheduler[] {
  const { name, tag, endpoint, address, epoch, adopted } = view;
  const party = parseParty(address);
  if (party === undefined) return [];
  const { incarnation, index } = party;
  const title = `scheduler ${name} at ${endpoint}`;
  return [{ name, tag, epoch, adopted, party: `${endpoint}!${incarnation}/${index}`, title }];
}

/** Returns central in any incarnation, because a restarted central has the same role. */
function centralAt(endpoint: string, index: number): Destination {
  const party = `${endpoint}!${anyIncarnationOf('central')}/${index}`;
  return { party, title: `central at ${endpoint}` };
}

function centralNamed(name: string): Destination | undefined {
  const party = parseParty(name);
  return party && centralAt(party.endpoint, party.index);
}

function parseParty(name: string): { endpoint: string; incarnation: string; index: number } | undefined {
  try {
    const { process, index } = parsePartyName(name);
    const mark = process.lastIndexOf('!');
    return { endpoint: process.slice(0, mark), incarnation: process.slice(mark + 1), index };
  } catch {
    return undefined;
  }
}

function centralUnknown(seeds: readonly string[]): UnreachableError {
  return new UnreachableError(
    'unreachable',
    `${seeds.join(', ')} does not know the address of central`,
    'pass the endpoint of central itself',
  );
}
