import { randomUUID } from 'node:crypto';
import type { JobRecord, JobRecordOf, KeyHolder } from '@goshawk/core';
import type { Journal, JournalMetrics } from '../contract.js';
import { JournalError, TakenOver } from '../errors.js';
import { type Entry, GroupCommit } from '../group-commit.js';
import { checkIdentity, type Identity, newIdentity, succeededBy } from '../identity.js';
import { ReadCopy } from '../read-copy.js';
import { type Damaged, type Filed, readAgain, soundWithBytes } from '../reading.js';
import { FORMAT } from '../record-codec.js';
import { type SentGroup, SentGroups } from '../sent-groups.js';
import { byteaArray, int8Array } from './arrays.js';
import { type CommitPromise, checkSchema, commitPromise } from './create-schema.js';
import { Link } from './link.js';
import { OutputTable } from './output-table.js';
import { FENCED } from './schema.js';
import { parseJournalUrl } from './url.js';

interface PostgresOptions {
  /** `postgres://…`; its schema was made by `createSchema`. */
  readonly url: string;
  /** Name of the scheduler; one process at a time owns it. */
  readonly name: string;
  /** Draws the prefix of job ids of a new journal. */
  readonly newTag: () => string;
  /** Version of Goshawk, for readers of the journal. */
  readonly version: string;
  /** Folder on a local disk for copies of records that are read back; undefined: none are kept. */
  readonly copyFolder?: string | undefined;
}

export interface Row {
  readonly tag: string;
  readonly home: string;
  readonly holder: string;
  readonly claim: string;
  readonly epoch: string;
  readonly written: string;
  readonly format: number;
  readonly version: string;
  readonly formers: readonly string[];
  readonly last_job: string;
}

interface FiledRow {
  readonly job: string;
  readonly place: string;
  readonly body: Buffer;
}

/** Limits of a page when reading a journal; the last record may be any size. */
const PAGE_MAX = { records: 2_000, bytes: 4 * 1024 * 1024 };
const PAGE = `
select job, place, body from (
  select job, place, body, sum(length(body)) over (order by job, place) - length(body) as before from (
    select job, place, body from goshawk.records
    where tag = $1 and (job, place) > ($2, $3) order by job, place limit $4
  ) next
) measured where before < $5 order by job, place`;

/** Interval between epoch checks. ms */
const LOOK_MS = 1_000;
/** Time for writing pending records when a journal closes. ms */
const CLOSE_MS = 1_000;
/** Timeout after which the session of a killed process is gone. ms */
const SESSION_MS = 2_000;
const SESSION_LOOK_MS = 100;

/**
 * The journals of one scheduler's process in PostgreSQL, over one connection: its own and adopted ones. Ownership is a row with
 * an epoch. A new owner raises the epoch, and writes with the previous one fail (fencing). An additional session lock only
 * prevents two processes with one name from displacing each other.
 */
export class PostgresJournals {
  readonly promise: CommitPromise;
  readonly #link: Link;
  readonly #options: PostgresOptions;
  readonly #open = new Set<PostgresJournal>();
  readonly #timer: NodeJS.Timeout;
  #isLooking = false;
  /** A check is due while the last one is unanswered: its answer may predate a suspension of this process. */
  #isDue = false;
  #isClosing = false;

  private constructor(link: Link, promise: CommitPromise, options: PostgresOptions) {
    this.#link = link;
    this.promise = promise;
    this.#options = options;
    link.listen({
      away: (problem) => {
        for (const journal of this.#open)
          journal.setState('away', problem && `${link.shown} does not answer: ${problem}`);
      },
      connected: () => {
        for (const { tag, epoch } of this.#open) void this.#lock(tag, epoch).catch(() => {});
      },
    });
    this.#timer = setInterval(() => void this.#checkOwners(), LOOK_MS);
    this.#timer.unref();
  }

  /** @throws JournalError if it cannot be reached, or its schema has another version */
  static async open(options: PostgresOptions): Promise<PostgresJournals> {
    const link = new Link(parseJournalUrl(options.url), `goshawk ${options.name}`);
    try {
      await link.open();
      await checkSchema(link);
      return new PostgresJournals(link, await commitPromise(link), options);
    } catch (error) {
      await link.close();
      throw error;
    }
  }

  /**
   * Opens the scheduler's own journal. If another scheduler has taken it over, it is claimed back, so that a name that is
   * lost repeatedly has one journal. Opens a new one if there is none.
   *
   * @param mayReclaim returns whether the journal may be claimed back: only if central will learn of its new owner
   * @throws JournalError `journal-in-use` if another process with this name owns it
   */
  async own(mayReclaim: () => Promise<boolean>): Promise<SharedJournal> {
    const { name, newTag, version } = this.#options;
    const [before] = await this.#link.ask<Row>(
      'select * from goshawk.journals where holder = $1 and not adopted',
      [name],
    );
    if (before !== undefined) {
      checkIdentity(identityOf(before), this.#link.shown);
      await this.#waitForSession(before);
      const journal = await this.#claim(before.tag, Number(before.epoch), false);
      if (journal === undefined) throw inUse(this.#link.shown, name);
      return journal;
    }
    const reclaimed = await this.#reclaimed(mayReclaim);
    if (reclaimed !== undefined) return reclaimed;
    const { tag, format, formers, lastJob } = newIdentity(newTag(), version);
    const claim = randomUUID();
    await this.#link.ask(
      `insert into goshawk.journals (tag, home, holder, claim, format, version, formers, last_job)
       values ($1, $2, $2, $3, $4, $5, $6, $7) on conflict do nothing`,
      [tag, name, claim, format, version, formers, lastJob],
    );
    const [made] = await this.#link.ask<Row>('select * from goshawk.journals where tag = $1 and claim = $2', [
      tag,
      claim,
    ]);
    // The drawn tag is already in use.
    return made === undefined ? this.own(mayReclaim) : this.#opened(made);
  }

  /** Claims the last journal of this scheduler that another one has taken over and this version can read. */
  async #reclaimed(mayReclaim: () => Promise<boolean>): Promise<SharedJournal | undefined> {
    const [taken] = await this.#link.ask<Row>(
      `select * from goshawk.journals where home = $1 and adopted and format <= $2
       order by claimed_at desc limit 1`,
      [this.#options.name, FORMAT],
    );
    if (taken === undefined || !(await mayReclaim())) return undefined;
    return this.#claim(taken.tag, Number(taken.epoch), false);
  }

  /** Opens the journals that this scheduler had adopted before it restarted. */
  async adopted(): Promise<SharedJournal[]> {
    const rows = await this.#link.ask<Row>('select * from goshawk.journals where holder = $1 and adopted', [
      this.#options.name,
    ]);
    const journals = await Promise.all(rows.map(({ tag, epoch }) => this.#claim(tag, Number(epoch), true)));
    return journals.filter((journal) => journal !== undefined);
  }

  /**
   * Takes over a journal.
   * @param epoch of the lost owner
   * @returns undefined if another scheduler was faster
   * @throws JournalError `journal-newer`: it is left unchanged
   */
  takeOver(tag: string, epoch: number): Promise<SharedJournal | undefined> {
    return this.#claim(tag, epoch, true);
  }

  /** Returns all nonempty journals, by the scheduler that created each. */
  async all(): Promise<{ name: string; tag: string; epoch: number }[]> {
    const rows = await this.#link.ask<Pick<Row, 'tag' | 'home' | 'epoch'>>(
      `select tag, home, epoch from goshawk.journals j
       where exists (select from goshawk.records r where r.tag = j.tag) order by claimed_at`,
    );
    return rows.map(({ tag, home, epoch }) => ({ name: home, tag, epoch: Number(epoch) }));
  }

  /** Saved estimator state of this scheduler, or of another one if it has none. */
  async estimatorStates(): Promise<string | undefined> {
    const [row] = await this.#link.ask<{ body: string }>(
      'select body from goshawk.learnt order by (scheduler = $1) desc, at desc limit 1',
      [this.#options.name],
    );
    return row?.body;
  }

  async keepEstimatorStates(body: string): Promise<void> {
    await this.#link.ask(
      `insert into goshawk.learnt (scheduler, body) values ($1, $2)
       on conflict (scheduler) do update set body = excluded.body, at = now()`,
      [this.#options.name, body],
    );
  }

  /** Closes open journals first. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#isClosing = true;
    await Promise.all([...this.#open].map((journal) => journal.close()));
    await this.#link.close();
  }

  async #claim(tag: string, epoch: number, adopted: boolean): Promise<SharedJournal | undefined> {
    const claim = randomUUID();
    await this.#link.ask(
      `update goshawk.journals set epoch = epoch + 1, holder = $3, adopted = $4, claim = $5, claimed_at = now()
       where tag = $1 and epoch = $2 and format <= $6`,
      [tag, epoch, this.#options.name, adopted, claim, FORMAT],
    );
    const [row] = await this.#link.ask<Row>('select * from goshawk.journals where tag = $1', [tag]);
    if (row?.claim === claim) return this.#opened(row);
    // It stays with its owner if this version cannot read it.
    if (Number(row?.epoch) === epoch) checkIdentity(identityOf(row!), this.#link.shown);
    return undefined;
  }

  async #opened(row: Row): Promise<SharedJournal> {
    const identity = checkIdentity(identityOf(row), this.#link.shown);
    const epoch = Number(row.epoch);
    await this.#lock(row.tag, epoch);
    const { home, written } = row;
    const filed = await filedUnder(this.#link, row.tag);
    const opened = { home, identity, epoch, written: Number(written), filed };
    const { url, version, copyFolder } = this.#options;
    const stored = await this.#link.ask<{ job: string }>(
      'select distinct job from goshawk.output where tag = $1',
      [row.tag],
    );
    const jobs = stored.map(({ job }) => Number(job));
    const output = new OutputTable(url, row.tag, jobs);
    const copy = copyFolder === undefined ? undefined : ReadCopy.ifPossible(copyFolder);
    const journal = new PostgresJournal(this.#link, opened, version, copy, output, async () => {
      this.#open.delete(journal);
      await output.close();
      await copy?.close();
      await this.#unlock(row.tag, epoch);
    });
    this.#open.add(journal);
    return journal;
  }

  /** Waits for the lock of the previous owner's session, which proves that this owner is gone. */
  async #waitForSession({ tag, epoch }: Row): Promise<void> {
    const until = performance.now() + SESSION_MS;
    while (!(await this.#lock(tag, Number(epoch)))) {
      if (performance.now() > until) throw inUse(this.#link.shown, this.#options.name);
      await new Promise((resolve) => setTimeout(resolve, SESSION_LOOK_MS));
    }
    await this.#unlock(tag, Number(epoch));
  }

  async #lock(tag: string, epoch: number): Promise<boolean> {
    const [row] = await this.#link.ask<{ has: boolean }>(
      'select pg_try_advisory_lock(hashtextextended($1, 0)) as has',
      [`${tag}/${epoch}`],
    );
    return row!.has;
  }

  async #unlock(tag: string, epoch: number): Promise<void> {
    // Locks end with their connection.
    if (this.#isClosing || this.#link.problem !== undefined) return;
    await this.#link.ask('select pg_advisory_unlock(hashtextextended($1, 0))', [`${tag}/${epoch}`]);
  }

  /** Checks the epochs, so that an idle owner learns, too, that it lost its journal or cannot write. */
  async #checkOwners(): Promise<void> {
    this.#isDue = this.#isLooking;
    if (this.#isLooking || this.#open.size === 0) return;
    this.#isLooking = true;
    // More journals may be opened before the answer arrives.
    const asked = [...this.#open];
    try {
      const rows = await this.#link.ask<{ tag: string; epoch: string; holder: string; bytes: number }>(
        `select tag, epoch, holder, pg_total_relation_size('goshawk.records')::float8 as bytes
         from goshawk.journals where tag = any($1)`,
        [asked.map(({ tag }) => tag)],
        { name: 'look' },
      );
      for (const journal of asked) {
        journal.bytes = rows[0]?.bytes ?? 0;
        const row = rows.find(({ tag }) => tag === journal.tag);
        if (row === undefined || Number(row.epoch) > journal.epoch) journal.fence(row?.holder);
      }
    } catch {
      // It was closed meanwhile, or the next write will report the problem.
    } finally {
      this.#isLooking = false;
    }
    if (this.#isDue) void this.#checkOwners();
  }
}

/** A journal that others may take over. */
export interface SharedJournal extends Journal {
  /** The scheduler that created it. */
  readonly home: string;
  readonly output: OutputTable;
  /** Closes it permanently, and releases one without jobs. */
  discard(): Promise<void>;
}

interface Opened {
  readonly home: string;
  readonly identity: Identity;
  readonly epoch: number;
  readonly written: number;
  readonly filed: readonly Filed[];
}

class PostgresJournal extends GroupCommit implements SharedJournal {
  readonly home: string;
  readonly output: OutputTable;
  readonly tag: string;
  readonly epoch: number;
  readonly previousIncarnations: readonly string[];
  readonly lastJob: number;
  /** The epoch, which the database guards, decides who owns a shared journal. */
  readonly lineage = { moves: 0, copyOf: undefined };
  readonly readRecord: Journal['readRecord'];
  readonly readJobRecords = undefined;
  /** Size of all journals at the last check. */
  bytes = 0;
  readonly #link: Link;
  readonly #identity: Identity;
  readonly #version: string;
  readonly #copy: ReadCopy | undefined;
  readonly #closed: () => Promise<void>;
  readonly #groups: SentGroups;
  #filed: readonly Filed[];

  constructor(
    link: Link,
    { home, identity, epoch, filed, written }: Opened,
    version: string,
    copy: ReadCopy | undefined,
    output: OutputTable,
    closed: () => Promise<void>,
  ) {
    super();
    this.home = home;
    this.#link = link;
    this.#identity = identity;
    this.#version = version;
    this.#copy = copy;
    this.output = output;
    this.readRecord = copy && ((job, place) => copy.readRecord(job, place));
    this.#closed = closed;
    this.#filed = filed;
    this.tag = identity.tag;
    this.epoch = epoch;
    this.previousIncarnations = identity.formers;
    this.lastJob = filed.reduce((last, [job]) => Math.max(last, job ?? 0), identity.lastJob);
    this.#groups = new SentGroups(written);
    this.nextPlace = filed.reduce((next, [, , place]) => Math.max(next, place + 1), 0);
    // Ends whose copy could not be written would be lost to their readers, but the journal still has them.
    copy?.listen({
      recorded: () => {},
      stateChanged: (state) => {
        if (state.kind === 'failed') this.fail(new Error(`its local copy: ${state.message}`));
      },
    });
  }

  admitted(): void {}

  /** Ends of attempts are copied, and no record is kept in memory. */
  *entries(
    onDamage: (damaged: Damaged) => void,
  ): Iterable<readonly [place: number | undefined, record: JobRecord]> {
    const filed = this.#filed;
    this.#filed = [];
    for (const [place, record, bytes] of soundWithBytes(filed, onDamage))
      yield [this.#copied(record, { job: record.job, place, bytes }), record];
  }

  override append(record: JobRecord): number | undefined {
    return this.#copied(record, this.add(this.encoded(record)));
  }

  /** @returns the place of a record that can be read */
  #copied({ kind }: JobRecord, entry: Entry): number | undefined {
    if (this.#copy === undefined || (kind !== 'attempt' && kind !== 'forgotten')) return undefined;
    return this.#copy.copy(entry) ? entry.place : undefined;
  }

  async begin(self: string, skipped = 0): Promise<void> {
    const version = this.#version;
    const { format, formers, lastJob } = succeededBy(this.#identity, self, version, this.lastJob, skipped);
    const rows = await this.#link.ask(
      `update goshawk.journals set format = $3, version = $4, formers = $5, last_job = greatest(last_job, $6)
       where tag = $1 and epoch = $2 returning 1`,
      [this.tag, this.epoch, format, version, formers, lastJob],
    );
    if (rows.length === 0) throw inUse(this.#link.shown, this.tag);
  }

  /** Writes a group in one round trip and one transaction. It may be sent twice, but is applied once. */
  protected async write(group: readonly Entry[]): Promise<'written'> {
    const sent = this.#groups.next(group);
    const taken = await writeGroup(this.#link, this, sent).catch(async (error: { code?: unknown }) => {
      throw error.code === FENCED ? await this.#fencedError() : error;
    });
    for (const { job, key } of this.#groups.answered(sent, taken))
      this.listener?.keyTaken?.(job, await this.#holderOf(key));
    return 'written';
  }

  /** Stops writing because another scheduler has taken over the journal. */
  fence(holder: string | undefined): void {
    this.fail(fenced(holder));
  }

  metrics(): JournalMetrics {
    const unknown = { freeBytes: undefined, backupAgeMs: undefined };
    return this.metricsWith({ fileBytes: this.bytes, usedBytes: this.bytes, ...unknown });
  }

  close(onWritten?: () => void): Promise<void> {
    return this.end(() => {
      onWritten?.();
      return this.#closed();
    }, CLOSE_MS);
  }

  async discard(): Promise<void> {
    await this.close();
    await this.#link.ask(
      `with gone as (
         delete from goshawk.journals j where tag = $1 and epoch = $2
         and not exists (select from goshawk.records r where r.tag = j.tag and r.job > 0) returning tag
       ), printed as (
         delete from goshawk.output o using gone where o.tag = gone.tag
       )
       delete from goshawk.records r using gone where r.tag = gone.tag`,
      [this.tag, this.epoch],
    );
  }

  async #fencedError(): Promise<Error> {
    const [row] = await this.#link.ask<{ holder: string }>(
      'select holder from goshawk.journals where tag = $1',
      [this.tag],
    );
    return fenced(row?.holder);
  }

  async #holderOf(key: string): Promise<KeyHolder> {
    const rows = await this.#link.ask<{ tag: string; job: string; body: Buffer }>(
      `select r.tag, r.job, r.body from goshawk.records r
       join goshawk.records k on k.tag = r.tag and k.job = r.job where k.key = $1 order by r.place`,
      [Buffer.from(key)],
    );
    const [first] = rows;
    if (first === undefined) return { id: '', accepted: undefined, ended: undefined };
    const records = rows.map(({ job, body }) => readAgain(body, Number(job)));
    const accepted = records.find((record) => record?.kind === 'accepted') as
      | JobRecordOf<'accepted'>
      | undefined;
    const last = records.findLast((record) => record?.kind === 'ended' || record?.kind === 'retried');
    return {
      id: `${first.tag}-${first.job}`,
      accepted,
      ended: last?.kind === 'ended' ? last.state : undefined,
    };
  }
}

/**
 * Reads all records of a journal in pages: a single query could exceed the timeout and would block writes of this process.
 * Records are appended per job and deleted with it, so each job is a consistent snapshot.
 */
export async function filedUnder(link: Link, tag: string): Promise<Filed[]> {
  const filed: Filed[] = [];
  let last: readonly unknown[] = [-1, -1];
  for (;;) {
    const page = await link.ask<FiledRow>(PAGE, [tag, ...last, PAGE_MAX.records, PAGE_MAX.bytes]);
    const end = page.at(-1);
    if (end === undefined) return filed;
    for (const { job, place, body } of page) filed.push([Number(job), body, Number(place)]);
    last = [end.job, end.place];
  }
}

/**
 * Writes a group with the schema's function.
 *
 * @returns jobs whose key another job has
 * @throws errors of PostgreSQL, `FENCED` for a stale epoch
 */
export async function writeGroup(
  link: Link,
  { tag, epoch }: Pick<Journal, 'tag' | 'epoch'>,
  { number, kept, forgotten }: SentGroup,
): Promise<number[]> {
  const [row] = await link.ask<{ taken: string[] | null }>(
    'select goshawk.write($1, $2, $3, $4, $5, $6, $7, $8) as taken',
    [
      tag,
      epoch,
      number,
      int8Array(kept.map(({ job }) => job)),
      int8Array(kept.map(({ place }) => place)),
      byteaArray(kept.map(({ key }) => (key === undefined ? undefined : Buffer.from(key)))),
      byteaArray(kept.map(({ bytes }) => bytes)),
      forgotten.length === 0 ? null : int8Array(forgotten),
    ],
    { name: 'write' },
  );
  return (row!.taken ?? []).map(Number);
}

export function identityOf({ format, tag, version, formers, last_job }: Row): Identity {
  return { format, tag, version, formers, lastJob: Number(last_job) };
}

function fenced(holder: string | undefined): Error {
  return holder === undefined ? new Error('it no longer exists') : new TakenOver(holder);
}

function inUse(where: string, name: string): JournalError {
  return new JournalError(
    'journal-in-use',
    `another scheduler uses the journal of ${name} at ${where}`,
    'stop that scheduler first, or use another --name for this one',
  );
}
