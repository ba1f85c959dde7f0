/** What the page says about itself beyond the comparison. */
export interface PageMeta {
  /** The command line that makes the page again. */
  readonly command: string;
  /** Name and version of the program, "goshawk 0.1.0". */
  readonly generator: string;
  /** A sentence under the heading: a scale, a caveat. */
  readonly note?: string;
}
