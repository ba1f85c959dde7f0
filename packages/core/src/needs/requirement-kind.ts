/** A kind of requirement on the value of a worker's attribute, recognized by its text. */
export interface RequirementKind {
  /** Whether the text is a requirement of this kind. */
  recognizes(text: string): boolean;
  /** @param value undefined: the worker does not have the attribute */
  isMet(text: string, value: string | undefined): boolean;
}
