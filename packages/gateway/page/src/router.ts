export const PARTS = ['', 'jobs', 'workers', 'users', 'submit', 'policy'] as const;

/** The view in an address: `#/PART/ID?QUERY`. The query holds all that the view shows, so that a link shows the same. */
export interface Address {
  readonly part: (typeof PARTS)[number];
  /** Path after the part, decoded; empty: none. */
  readonly id: string;
  readonly query: URLSearchParams;
}

/** Decodes text of an address. Invalid encoding is returned unchanged. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Parses the hash of an address. An unknown part is the overview. */
export function parseAddress(hash: string): Address {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [name = '', ...more] = path.split('/');
  const part = PARTS.find((known) => known === name) ?? '';
  return { part, id: decoded(more.join('/')), query: new URLSearchParams(query) };
}

/** Returns the hash of a view. Empty and undefined values are left out. */
export function addressOf(
  part: string,
  id = '',
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => (entry[1] ?? '') !== '');
  const path = id === '' ? part : `${part}/${encodeURIComponent(id)}`;
  return `#/${path}${given.length === 0 ? '' : `?${new URLSearchParams(given)}`}`;
}

/** Address of a job with the log of one task. */
export function taskLink(job: string, task: number): string {
  return addressOf('jobs', job, { task: String(task) });
}

/** Address of the list of jobs that match a query. */
export function jobsLink(q: string): string {
  return addressOf('jobs', '', { q });
}

/** Identifies what a heading names. The focus moves to the heading when it changes. */
export function viewOf({ part, id }: Address): string {
  // The panel of a worker is beside the grid, which keeps the focus.
  return part === 'jobs' ? `jobs/${id}` : part;
}
