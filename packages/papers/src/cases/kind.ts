/** A kind of file of cases, recognised by its content. */
export interface CaseKind {
  /** Of whose policies it tells; a case may name one of them instead. */
  readonly policy: string;
  /** Whether it can read the file. */
  accepts(content: CaseContent): boolean;
  check(content: CaseContent): Iterable<CheckedCase>;
}

/** What a file holds: a JSON object. */
// biome-ignore lint/suspicious/noExplicitAny: each kind knows the fields of its own files
export type CaseContent = Readonly<Record<string, any>>;

export interface CheckedCase {
  readonly policy?: string;
  /** Which of the file's. */
  readonly name?: string;
  readonly expected: unknown;
  readonly got: unknown;
  /** Where equality is not the rule. */
  readonly ok?: boolean;
}
