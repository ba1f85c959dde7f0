/** Views of `goshawk top`, by the key that shows them. */
export const TOP_VIEWS = [
  ['1', 'overview'],
  ['2', 'jobs'],
  ['3', 'workers'],
  ['4', 'users'],
  ['5', 'reasons'],
] as const;
export type TopView = (typeof TOP_VIEWS)[number][1];

/** Changes of jobs and workers. */
const TOP_CHANGES = ['cancel', 'hold', 'release', 'retry', 'raise', 'lower', 'drain', 'undrain'] as const;
export type TopChange = (typeof TOP_CHANGES)[number];

/** What a user typed after `:` in `goshawk top`. */
export type Command =
  | { readonly kind: 'nothing' | 'quit' | 'help' }
  | { readonly kind: 'unknown'; readonly why: string }
  | { readonly kind: 'view'; readonly view: TopView }
  | { readonly kind: 'filter'; readonly text: string }
  | { readonly kind: 'sort'; readonly column: string }
  | { readonly kind: 'open'; readonly what: 'details' | 'logs' | 'why'; readonly of: readonly string[] }
  /** Without `of`: the marked rows, or the selected one. */
  | { readonly kind: 'change'; readonly change: TopChange; readonly of: readonly string[] };

const OPENS = { show: 'details', logs: 'logs', why: 'why' } as const;
const OTHERS = ['filter', 'sort', 'help', 'quit'] as const;

/** Names of all commands. */
function commandNames(): readonly string[] {
  return [...TOP_VIEWS.map(([, view]) => view), ...Object.keys(OPENS), ...TOP_CHANGES, ...OTHERS];
}

/** Parses a command; its name may be shortened to its only beginning. */
export function commandOf(text: string): Command {
  const [typed = '', ...of] = text.trim().split(/\s+/);
  if (typed === '') return { kind: 'nothing' };
  const names = commandNames();
  const matching = names.filter((each) => each.startsWith(typed));
  const name = names.includes(typed) ? typed : matching.length === 1 ? matching[0]! : undefined;
  if (name === undefined) {
    const some = matching.length > 1 ? matching : names;
    return { kind: 'unknown', why: `:${typed} is one of ${some.join(', ')}` };
  }
  const view = TOP_VIEWS.find(([, each]) => each === name)?.[1];
  if (view !== undefined) return { kind: 'view', view };
  const change = TOP_CHANGES.find((each) => each === name);
  if (change !== undefined) return { kind: 'change', change, of };
  if (Object.hasOwn(OPENS, name)) return { kind: 'open', what: OPENS[name as keyof typeof OPENS], of };
  if (name === 'filter') return { kind: 'filter', text: of.join(' ') };
  if (name === 'sort') return { kind: 'sort', column: of[0] ?? '' };
  return { kind: name as 'quit' | 'help' };
}
