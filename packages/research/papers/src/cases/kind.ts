/** A kind of case file, recognized by its content. */
export interface CaseKind {
  /** The policy that the file tests, unless a case names a related one. */
  readonly policy: string;
  /** Whether this kind can read the file. */
  accepts(content: CaseContent): boolean;
  check(content: CaseContent): Iterable<CheckedCase>;
}

/** The content of a file: a JSON object. */
// biome-ignore lint/suspicious/noExplicitAny: fields differ by kind
export type CaseContent = Readonly<Record<string, any>>;

export interface CheckedCase {
  readonly policy?: string;
  /** Name of the case in the file. */
  readonly name?: string;
  readonly expected: unknown;
  readonly got: unknown;
  /** Set if the comparison is not equality. */
  readonly ok?: boolean;
}
