import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { JournalError } from '../errors.js';
import type { JournalUrl } from './url.js';

/** Connection timeout per host. ms */
const CONNECT_MS = 2_000;
/** Time in ms without an answer after which the server counts as unavailable. */
const SLOW_MS = 2_000;
/** Time in ms without an answer after which the connection is replaced. */
const ANSWER_MS = 10_000;
/** Minimum interval in ms between reports of different problems. */
const REPORT_MS = 5_000;
/** First and longest delay in ms between two attempts to connect. */
const PAUSE_MS = { first: 20, last: 200 };

/** Options with which the server detects that this machine is gone, and releases its locks. */
const KEEPALIVES =
  '-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 -c idle_in_transaction_session_timeout=10000';

interface LinkEvents {
  /** The server is unavailable, or now for another reason; undefined: available again. */
  away(problem: string | undefined): void;
  /** The connection was replaced: session state is lost. */
  connected?(): void;
}

interface QueryOptions {
  /** Frequent statements are prepared under a name. */
  readonly name?: string;
}

/**
 * One connection to the writable host. Queries without a reply are retried automatically until they succeed,
 * so they must be idempotent.
 */
export class Link {
  readonly #url: JournalUrl;
  readonly #application: string;
  #events: LinkEvents = { away: () => {} };
  #client: pg.Client | undefined;
  #connecting: Promise<pg.Client> | undefined;
  #host = 0;
  #problem: string | undefined;
  #reported: { readonly problem: string | undefined; readonly at: number } = { problem: undefined, at: 0 };
  /** At most one query is in flight. */
  #turn: Promise<unknown> = Promise.resolve();
  readonly #closing = new AbortController();

  constructor(url: JournalUrl, application: string) {
    this.#url = url;
    this.#application = application;
  }

  listen(events: LinkEvents): void {
    this.#events = events;
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Reason why the server is currently unavailable; undefined: it is available. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get shown(): string {
    return this.#url.shown;
  }

  /** @throws JournalError `journal-unreachable` if it cannot connect immediately */
  async open(): Promise<void> {
    try {
      await this.#connected();
    } catch (error) {
      throw new JournalError(
        'journal-unreachable',
        `cannot use ${this.#url.shown}: ${describe(error)}`,
        'check that PostgreSQL is running, and check the user, password and database',
        { cause: error },
      );
    }
  }

  /**
   * Repeats a query until it is answered.
   *
   * @throws errors of the query itself; `LinkClosed`
   */
  async ask<Row>(text: string, values: readonly unknown[] = [], options: QueryOptions = {}): Promise<Row[]> {
    for (let pauseMs = PAUSE_MS.first; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS.last)) {
      if (this.#isClosed) throw new LinkClosed();
      let client: pg.Client | undefined;
      try {
        client = await this.#connected();
        const asking = client;
        const turn = this.#turn.then(() => this.#answer<Row>(asking, text, values, options));
        this.#turn = turn.catch(() => {});
        const rows = await turn;
        this.#reportProblem(undefined);
        return rows;
      } catch (error) {
        if (this.#isClosed) throw new LinkClosed();
        if (isPermanent(error)) throw error;
        if (client !== undefined) this.#drop(client);
        this.#reportProblem(describe(error));
        await pause(pauseMs, undefined, { signal: this.#closing.signal }).catch(() => {});
      }
    }
  }

  /** Closes the connection. Unanswered queries fail with `LinkClosed`. */
  async close(): Promise<void> {
    this.#closing.abort();
    const client = this.#client;
    this.#client = undefined;
    if (client === undefined) return;
    const timer = setTimeout(() => destroy(client), CONNECT_MS);
    await client.end().catch(() => {});
    clearTimeout(timer);
  }

  async #answer<Row>(
    client: pg.Client,
    text: string,
    values: readonly unknown[],
    options: QueryOptions,
  ): Promise<Row[]> {
    const slow = setTimeout(() => this.#reportProblem(`no answer for ${SLOW_MS / 1_000} s`), SLOW_MS);
    try {
      const { rows } = await client.query({ text, values: [...values], ...options });
      return rows as Row[];
    } finally {
      clearTimeout(slow);
    }
  }

  #connected(): Promise<pg.Client> {
    if (this.#client !== undefined) return Promise.resolve(this.#client);
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** Tries the host of the last connection first. */
  async #connect(): Promise<pg.Client> {
    const { hosts } = this.#url;
    let problem: unknown;
    for (let i = 0; i < hosts.length; i++) {
      const index = (this.#host + i) % hosts.length;
      try {
        const client = await this.#connectTo(index);
        if (this.#isClosed) {
          destroy(client);
          throw new LinkClosed();
        }
        this.#host = index;
        this.#client = client;
        this.#events.connected?.();
        return client;
      } catch (error) {
        problem ??= error;
      }
    }
    throw problem;
  }

  async #connectTo(index: number): Promise<pg.Client> {
    const { user, password, database, tls, hosts } = this.#url;
    const { host, port } = hosts[index]!;
    const client = new pg.Client({
      host,
      port,
      user,
      password,
      database,
      ssl: tls && {
        ...tls,
        ...(tls.checksHost ? {} : { checkServerIdentity: () => undefined }),
      },
      application_name: this.#application,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: ANSWER_MS,
      keepAlive: true,
      options: KEEPALIVES,
    });
    client.on('error', (error) => {
      this.#drop(client);
      if (!this.#isClosed) this.#reportProblem(describe(error));
    });
    client.on('end', () => this.#drop(client));
    try {
      await client.connect();
      const rows = await this.#answer<{ standby: boolean }>(
        client,
        `select pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as standby`,
        [],
        {},
      );
      if (rows[0]!.standby) throw new Error(`${host}:${port} is a standby`);
      return client;
    } catch (error) {
      destroy(client);
      throw error;
    }
  }

  #drop(client: pg.Client): void {
    if (this.#client === client) this.#client = undefined;
    destroy(client);
  }

  #reportProblem(problem: string | undefined): void {
    if (this.#isClosed) return;
    this.#problem = problem;
    const { problem: reported, at } = this.#reported;
    if (problem === reported) return;
    const now = performance.now();
    // Two problems may alternate with each attempt.
    if (problem !== undefined && reported !== undefined && now - at < REPORT_MS) return;
    this.#reported = { problem, at: now };
    this.#events.away(problem);
  }
}

/** The link was closed during a query. */
class LinkClosed extends Error {
  override name = 'LinkClosed';

  constructor() {
    super('the connection was closed');
  }
}

/**
 * Returns whether retrying is pointless: invalid data or syntax, a size limit, a violated constraint, or Goshawk's
 * own refusal.
 */
function isPermanent(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return (
    error instanceof LinkClosed || (typeof code === 'string' && /^(22|23|42|54|GH)[0-9A-Z]{3}$/.test(code))
  );
}

function describe(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describe(error.errors[0]);
  return (error as Error).message.split('\n')[0]! || (error as { code?: string }).code || 'no connection';
}

/** Disconnects without waiting for pending queries. */
function destroy(client: pg.Client): void {
  (client as unknown as { connection?: { stream?: { destroy(): void } } }).connection?.stream?.destroy();
  client.end().catch(() => {});
}
