import { ago, formatCount, type Millis } from '@goshawk/core';
import { type ComponentChild, type ComponentChildren, Fragment } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ApiError } from './api.js';
import { useParam, useStore } from './store.js';
import { elapsed } from './words.js';

/** Components that several views use. Preact never parses text as HTML, so text from users cannot become markup. */

export function Card({
  title,
  class: kind = '',
  children,
}: {
  readonly title: ComponentChildren;
  readonly class?: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <section class={`card ${kind}`.trim()}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** Renders text, with the parts between backticks as code, and options without breaks. */
export function Backticks({ text }: { readonly text: string }) {
  return (
    <>
      {text.split('`').map((part, index) => {
        const words = part
          .split(/(?<!\S)(--[a-z][a-z-]*)/)
          .map((word, at) => (at % 2 === 1 ? <span class="option">{word}</span> : word));
        return index % 2 === 1 ? <code>{words}</code> : words;
      })}
    </>
  );
}

export function ErrorText({ error }: { readonly error: Pick<ApiError, 'message' | 'hint'> }) {
  return (
    <span class="error">
      {error.message}
      {error.hint ? (
        <>
          : <Backticks text={error.hint} />
        </>
      ) : null}
    </span>
  );
}

/** Shows the error of a request. The element exists without an error too, so that screen readers announce one. */
export function Problem({
  error,
  children,
}: {
  readonly error: ApiError | undefined;
  readonly children?: ComponentChildren;
}) {
  return (
    <div role="status">
      {error === undefined ? null : (
        <>
          <p>
            <ErrorText error={error} />
          </p>
          {children}
        </>
      )}
    </div>
  );
}

/** Stands for a part whose data has not arrived. The style sheet hides what follows it, so that nothing moves later. */
export function Waiting({ words = 'Waiting for an answer.' }: { readonly words?: string }) {
  return <p class="hint pending">{words}</p>;
}

export function StateBadge({ state }: { readonly state: string }) {
  return <span class={`badge ${state}`}>{state}</span>;
}

/** An age that grows: `3 min ago`. */
export function Ago({ at }: { readonly at: string | null }) {
  return <>{at === null ? '–' : ago(useStore().now.value - Date.parse(at))}</>;
}

/** Time since an instant, which grows. */
export function Since({ at }: { readonly at: Millis }) {
  return <>{elapsed(useStore().now.value - at)}</>;
}

/** A list of names and descriptions; undefined values are left out. */
export function Definitions({
  rows,
}: {
  readonly rows: readonly (readonly [name: string, value: ComponentChildren])[];
}) {
  const shown = rows.filter(([, value]) => value !== undefined && value !== null && value !== '');
  if (shown.length === 0) return null;
  return (
    <dl>
      {shown.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

export interface Column<T> {
  readonly title: ComponentChildren;
  readonly isNumber?: boolean;
  /** Whether narrow screens hide the column. */
  readonly isExtra?: boolean;
  readonly sorted?: 'ascending' | 'descending' | undefined;
  readonly of: (row: T) => ComponentChild;
}

/**
 * A table whose rows keep their elements while the data changes.
 *
 * @param props.link URL of a row: a click in the row follows it, except on a link, an input or a label
 */
export function Table<T>({
  caption,
  columns,
  rows,
  keyOf,
  link,
}: {
  readonly caption: string;
  readonly columns: readonly (Column<T> | false | undefined)[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string | number;
  readonly link?: (row: T) => string;
}) {
  // A column that is left out has its place, so that the elements of the others stay theirs.
  const shown = [...columns.entries()].filter((entry): entry is [number, Column<T>] => Boolean(entry[1]));
  const cellClass = ({ isNumber, isExtra }: Column<T>) =>
    [isNumber ? 'number' : '', isExtra ? 'extra' : ''].join(' ').trim() || undefined;
  const follow = (event: MouseEvent, row: T): void => {
    const isOwn = (event.target as Element).closest('a, input, label, button') !== null;
    if (!isOwn && getSelection()?.isCollapsed !== false) location.hash = link!(row);
  };
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {shown.map(([index, column]) => (
              <th key={index} scope="col" class={cellClass(column)} aria-sort={column.sorted}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={keyOf(row)}
              class={link === undefined ? undefined : 'link'}
              onClick={link === undefined ? undefined : (event) => follow(event, row)}
            >
              {shown.map(([index, column]) => (
                <td key={index} class={cellClass(column)}>
                  {column.of(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Details that a click shows, such as the data of a drawing, for accessibility and exact numbers. The address says which are open. */
export function Disclosure({
  name,
  title = 'Table',
  build,
  isOpen = false,
}: {
  /** Its name in the address, unique within the view. */
  readonly name: string;
  readonly title?: string;
  readonly build: () => ComponentChild;
  /** Whether it is open at first. */
  readonly isOpen?: boolean;
}) {
  const store = useStore();
  const toggled = useParam('toggled').split(' ').filter(Boolean);
  const open = toggled.includes(name) !== isOpen;
  return (
    <details class="behind" open={open}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the control of its element, also by keyboard */}
      <summary
        onClick={(event) => {
          event.preventDefault();
          const others = toggled.filter((other) => other !== name);
          store.setQuery({ toggled: (open === isOpen ? [...others, name] : others).join(' ') });
        }}
      >
        {title}
      </summary>
      {open ? build() : null}
    </details>
  );
}

/** Links to the pages of a list, with what is shown. */
export function Pages({
  label,
  children,
  previous,
  next,
}: {
  readonly label: string;
  readonly children: ComponentChildren;
  readonly previous?: string | undefined;
  readonly next?: string | undefined;
}) {
  return (
    <nav class="pages" aria-label={label}>
      <span>{children}</span>
      {previous === undefined ? null : <a href={previous}>Previous page</a>}
      {next === undefined ? null : <a href={next}>Next page</a>}
    </nav>
  );
}

export function Clip({ text }: { readonly text: string }) {
  return (
    <span class="clip" title={text}>
      {text}
    </span>
  );
}

/** The colors that the style sheet defines, for light and dark mode. */
const COLOURS = [
  'page',
  'card',
  'text',
  'quiet',
  'line',
  'accent',
  'short',
  'long',
  'good',
  'bad',
  'warn',
  'shade',
  'cell-idle',
  'cell-short',
  'cell-long',
  'cell-mixed',
  'cell-busy',
  'cell-draining',
  'cell-drained',
  'cell-quarantined',
  'cell-lost',
  'cell-queue',
] as const;

export type Colour = (typeof COLOURS)[number];

/** Returns a color of the style sheet as CSS, which follows dark mode. */
export function cssColour(name: Colour): string {
  return `var(--${name})`;
}

/** A colored square of a legend. */
export function Key({ kind, colour }: { readonly kind?: string; readonly colour?: string }) {
  return (
    <span
      class={`key ${kind ?? ''}`.trim()}
      style={colour === undefined ? undefined : { background: colour }}
    />
  );
}

export const PARTS = ['completed', 'running', 'waiting', 'failed', 'cancelled'] as const;

/** The progress of a job as one bar, with a legend. */
export function ProgressBar({
  tasks,
  isSmall = false,
}: {
  readonly tasks: Readonly<Partial<Record<(typeof PARTS)[number], number>>>;
  readonly isSmall?: boolean;
}) {
  const parts = PARTS.filter((part) => (tasks[part] ?? 0) > 0);
  const words = parts.map((part) => `${formatCount(tasks[part]!)} ${part}`).join(', ');
  const bar = (
    <div class={isSmall ? 'stack small' : 'stack'} role="img" aria-label={`Tasks: ${words}`}>
      {parts.map((part) => (
        <span key={part} class={`part ${part}`} style={{ flexGrow: String(tasks[part]) }} />
      ))}
    </div>
  );
  if (isSmall) return bar;
  return (
    <div>
      {bar}
      <ul class="legend">
        {parts.map((part) => (
          <li key={part}>
            <Key kind={part} />
            {part} {formatCount(tasks[part]!)}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Calls the function when the width of the element changes, with the width in px. */
export function useWidth<E extends HTMLElement>(changed: (width: number) => void) {
  const ref = useRef<E>(null);
  const call = useRef(changed);
  call.current = changed;
  useEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => call.current(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return ref;
}

/** Reads a color from the style sheet. Colors depend on dark mode. */
export function colour(name: Colour): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
