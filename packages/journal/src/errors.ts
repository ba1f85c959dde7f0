import { InputError } from '@goshawk/core';

type JournalErrorCode =
  /** Another process has it. */
  | 'journal-in-use'
  /** A newer version of Goshawk has written it. */
  | 'journal-newer'
  /** It cannot be read. */
  | 'journal-damaged'
  | 'no-journal'
  /** The folder cannot be used. */
  | 'journal-folder'
  /** The URL of a journal in PostgreSQL cannot be used. */
  | 'journal-url'
  /** A backup cannot be read back. */
  | 'backup-failed'
  /** PostgreSQL does not answer, or does not let us in. */
  | 'journal-unreachable';

/** A journal cannot be opened or read. The message is for people. */
export class JournalError extends InputError {
  override name = 'JournalError';

  constructor(code: JournalErrorCode, message: string, hint = '', options?: ErrorOptions) {
    super(code, message, hint, options);
  }
}

/** Another scheduler has claimed the journal: nothing is wrong with it. */
export class TakenOver extends Error {
  override name = 'TakenOver';

  constructor(holder: string) {
    super(`scheduler ${holder} has taken over its jobs`);
  }
}
