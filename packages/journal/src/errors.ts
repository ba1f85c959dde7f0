import { InputError } from '@goshawk/core';

type JournalErrorCode =
  /** Another process owns the journal. */
  | 'journal-in-use'
  /** A newer version of Goshawk wrote the journal. */
  | 'journal-newer'
  /** The journal cannot be read. */
  | 'journal-damaged'
  | 'no-journal'
  /** The folder cannot be used. */
  | 'journal-folder'
  /** The URL of a PostgreSQL journal is invalid. */
  | 'journal-url'
  /** A backup cannot be read back. */
  | 'backup-failed'
  /** PostgreSQL does not answer, or refuses the connection. */
  | 'journal-unreachable';

/** A journal cannot be opened or read. The message is for people. */
export class JournalError extends InputError {
  override name = 'JournalError';

  constructor(code: JournalErrorCode, message: string, hint = '', options?: ErrorOptions) {
    super(code, message, hint, options);
  }
}

/** Another scheduler has claimed the journal, which is intact. */
export class TakenOver extends Error {
  override name = 'TakenOver';

  constructor(holder: string) {
    super(`scheduler ${holder} has taken over its jobs`);
  }
}
