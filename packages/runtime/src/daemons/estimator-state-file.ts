import { open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { InputError } from '@goshawk/core';
import type { PostgresJournals } from '@goshawk/journal';
import type { EstimatorStates } from '@goshawk/scheduler';
import type { Logger } from '@goshawk/transport';

const SCHEMA = 'goshawk.learnt/1';
const NAME = 'goshawk.learnt/';

/** Write interval in ms. A crash loses changes since the last write. Serializing takes several ms per MB. */
const KEEP_EACH_MS = 300_000;
/** Timeout in ms for the last write: PostgreSQL may be unreachable, and a terminating process has only seconds. */
const CLOSE_MS = 2_000;

/** Storage of the estimator state, written atomically. */
export interface EstimatorStateStore {
  /** Display name. */
  readonly name: string;
  /** Undefined if nothing is stored. */
  read(): Promise<string | undefined>;
  /** Writes in chunks, between which the scheduler handles other events. */
  write(pieces: Iterable<string>): Promise<void>;
}

/**
 * The state of a scheduler's estimators, saved in a file or beside its journal in PostgreSQL. Estimators
 * without saved state start from scratch.
 */
export class EstimatorStateFile {
  readonly #store: EstimatorStateStore;
  readonly #logger: Logger;
  #read: () => EstimatorStates | undefined = () => undefined;
  /** Latest state that could not be written. */
  #unwritten: EstimatorStates | undefined;
  #isGivenUp = false;
  #timer: NodeJS.Timeout | undefined;
  /** The last write. Each write starts after the previous one has ended. */
  #written: Promise<void> = Promise.resolve();

  /** @param place path of a file, or another store */
  constructor(place: string | EstimatorStateStore, logger: Logger) {
    this.#store = typeof place === 'string' ? fileStore(place) : place;
    this.#logger = logger;
  }

  /**
   * Returns the saved state, or an empty state if nothing is saved.
   * @throws InputError of one line if the state has the wrong format, is damaged, or is from a newer version
   */
  async load(): Promise<EstimatorStates> {
    const text = await this.#store.read();
    return text === undefined ? {} : parsed(text, this.#store.name);
  }

  /**
   * Saves the state periodically, and once more at `close`.
   *
   * @param read returns the state; undefined if unchanged since the last call
   */
  keep(read: () => EstimatorStates | undefined, eachMs = KEEP_EACH_MS): void {
    this.#read = read;
    this.#timer = setInterval(() => this.#write(), eachMs);
    this.#timer.unref();
  }

  /** Stops writing, because the existing file must not be overwritten. */
  giveUp(): void {
    clearInterval(this.#timer);
    this.#isGivenUp = true;
  }

  /** Saves the latest state, and waits at most `CLOSE_MS`. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#write();
    await Promise.race([this.#written, pause(CLOSE_MS, undefined, { ref: false })]);
  }

  #write(): void {
    const states = this.#read() ?? this.#unwritten;
    if (states === undefined || this.#isGivenUp) return;
    this.#unwritten = undefined;
    this.#written = this.#written
      .then(() => this.#store.write(jsonPieces({ schema: SCHEMA, learnt: states })))
      .then(() => {
        this.#unwritten = undefined;
      })
      .catch((error: Error) => {
        this.#unwritten = states;
        this.#logger.error({ file: this.#store.name }, `cannot save learned run times: ${error.message}`);
      });
  }
}

function fileStore(file: string): EstimatorStateStore {
  return {
    name: file,
    read: async () => {
      try {
        return await readFile(file, 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw refused(file, `cannot be read (${(error as Error).message})`, error);
      }
    },
    write: (pieces) => replaceFile(file, pieces),
  };
}

/** Stores the state beside the journals that all schedulers share. */
export function sharedStore(journals: PostgresJournals): EstimatorStateStore {
  return {
    name: 'the estimator state in PostgreSQL',
    read: () => journals.estimatorStates(),
    write: async (pieces) => {
      const all: string[] = [];
      for (const piece of pieces) {
        all.push(piece);
        await nextTurn();
      }
      await journals.keepEstimatorStates(all.join(''));
    },
  };
}

/** Replaces the file atomically: readers see the old or the new content. */
async function replaceFile(file: string, pieces: Iterable<string>): Promise<void> {
  const partial = `${file}.partial`;
  try {
    const handle = await open(partial, 'w', 0o600);
    try {
      await writeFile(handle, pieces);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

function parsed(text: string, file: string): EstimatorStates {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw refused(file, 'is damaged', error);
  }
  const { schema, learnt: states } = (value ?? {}) as { schema?: unknown; learnt?: unknown };
  if (typeof schema !== 'string' || !schema.startsWith(NAME)) {
    throw refused(file, 'is not a file of learned run times');
  }
  if (schema !== SCHEMA)
    throw refused(file, `was written by a newer version (${schema}; this one reads ${SCHEMA})`);
  if (states === null || typeof states !== 'object') throw refused(file, 'is damaged');
  return states as EstimatorStates;
}

function refused(file: string, why: string, cause?: unknown): InputError {
  return new InputError(
    'bad-learnt-file',
    `${file} ${why}`,
    'move or delete it to start learning from scratch',
    cause === undefined ? undefined : { cause },
  );
}

/** Number of array elements written at a time. */
const ELEMENTS = 256;

/** Yields the JSON of plain values in chunks, so that the process can do other work in between. */
export function* jsonPieces(value: unknown): Generator<string> {
  if (Array.isArray(value) && value.length > ELEMENTS) {
    for (let first = 0; first < value.length; first += ELEMENTS) {
      const piece = JSON.stringify(value.slice(first, first + ELEMENTS));
      yield `${first === 0 ? '[' : ','}${piece.slice(1, -1)}`;
    }
    yield ']';
  } else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    let before = '{';
    for (const [name, of] of Object.entries(value)) {
      if (of === undefined) continue;
      yield `${before}${JSON.stringify(name)}:`;
      yield* jsonPieces(of);
      before = ',';
    }
    yield before === '{' ? '{}' : '}';
  } else {
    yield JSON.stringify(value);
  }
}
