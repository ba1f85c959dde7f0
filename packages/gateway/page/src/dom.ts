type Child = Node | string | number | null | undefined | false | readonly Child[];
type Attributes = Readonly<Record<string, string | number | boolean | undefined | ((event: Event) => void)>>;

/**
 * Creates an element. `on…` attributes add event listeners, and `true` and `false` add or omit an attribute.
 * Text is never parsed as HTML, so text from users cannot become markup.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

const SVG = 'http://www.w3.org/2000/svg';

export function svg(tag: string, attributes: Readonly<Record<string, string | number>>, ...children: Node[]) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

function append(element: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(element, child as readonly Child[]);
    else element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Replaces the content of an element and restores the focus. Identical content is not replaced, which also
 * keeps the selection.
 */
export function fill(element: Element, ...children: readonly Child[]): void {
  const fresh = document.createElement('div');
  append(fresh, children);
  if (fresh.innerHTML === element.innerHTML) return;
  const had = document.activeElement;
  const key = had !== null && element.contains(had) ? keyOf(had) : undefined;
  element.replaceChildren(...fresh.childNodes);
  if (key === undefined) return;
  for (const one of element.querySelectorAll<HTMLElement>('a, button, select, input, summary')) {
    if (keyOf(one) === key) {
      one.focus();
      return;
    }
  }
}

/** Identifies an element across redraws, to keep the focus. */
function keyOf(element: Element): string {
  const { tagName, textContent } = element;
  return `${tagName} ${element.getAttribute('href') ?? ''} ${element.getAttribute('aria-label') ?? ''} ${textContent}`;
}

interface Column<T> {
  readonly title: string | Node;
  readonly isNumber?: boolean;
  /** Whether narrow screens hide the column. */
  readonly isExtra?: boolean;
  readonly of: (row: T) => Child;
}

/** @param link URL of a row: a click in the row follows it, except on a link, an input or a label */
export function table<T>(
  caption: string,
  columns: readonly Column<T>[],
  rows: readonly T[],
  link?: (row: T) => string,
): HTMLElement {
  const look = ({ isNumber, isExtra }: Column<T>) =>
    [isNumber ? 'number' : '', isExtra ? 'extra' : ''].join(' ').trim() || undefined;
  return h(
    'div',
    { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
    h(
      'table',
      {},
      h('caption', { class: 'hidden' }, caption),
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          columns.map((column) => h('th', { scope: 'col', class: look(column) }, column.title)),
        ),
      ),
      h(
        'tbody',
        {},
        rows.map((row) =>
          h(
            'tr',
            link === undefined
              ? {}
              : {
                  class: 'link',
                  onclick: (event) => {
                    if (
                      !(event.target as Element).closest('a, input, label') &&
                      getSelection()?.isCollapsed !== false
                    )
                      location.hash = link(row);
                  },
                },
            columns.map((column) => h('td', { class: look(column) }, column.of(row))),
          ),
        ),
      ),
    ),
  );
}

/** A table with the data of a drawing, for accessibility and exact numbers, which a click shows. */
export class TableBehind {
  readonly element: HTMLDetailsElement;
  readonly #build: () => Node;
  readonly #content = h('div', {});

  constructor(build: () => Node) {
    this.#build = build;
    this.element = h('details', { class: 'behind' }, h('summary', {}, 'Table'), this.#content);
    this.element.addEventListener('toggle', () => this.refresh());
  }

  /** Shows the present data, if the table is open. */
  refresh(): void {
    if (!this.element.open) return this.#content.replaceChildren();
    const scroll = () => this.#content.querySelector('.scroll');
    const { scrollTop = 0, scrollLeft = 0 } = scroll() ?? {};
    fill(this.#content, this.#build());
    scroll()?.scrollTo(scrollLeft, scrollTop);
  }
}

/** Renders text, with the parts between backticks as code. */
export function renderBackticks(text: string): Child[] {
  return text.split('`').map((part, index) => {
    const words = part
      .split(/(?<!\S)(--[a-z][a-z-]*)/)
      .map((word, at) => (at % 2 === 1 ? h('span', { class: 'option' }, word) : word));
    return index % 2 === 1 ? h('code', {}, words) : words;
  });
}

export function card(title: string, ...children: readonly Child[]): HTMLElement {
  return h('section', { class: 'card' }, h('h2', {}, title), ...children);
}

/** A list of names and descriptions. */
export function definitions(rows: readonly (readonly [name: string, value: Child])[]): HTMLElement {
  return h(
    'dl',
    {},
    rows.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]),
  );
}

/** Address of a job with the log of one task. */
export function taskLink(job: string, task: number): string {
  return `#/jobs/${encodeURIComponent(job)}?task=${task}`;
}

export function stateBadge(state: string): HTMLElement {
  return h('span', { class: `badge ${state}` }, state);
}

const COUNTS = new Intl.NumberFormat('en');

export function count(value: number): string {
  return COUNTS.format(value);
}

/** Formats a number with a noun: `1 task`, `12,345 tasks`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** Formats a duration: `850 ms`, `3.4 s`, `2 min 5 s`, `3 h 2 min`. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return '–';
  if (seconds < 0.001) return seconds === 0 ? '0 s' : '< 1 ms';
  if (seconds < 1) return `${rounded(1_000 * seconds)} ms`;
  if (seconds < 60) return `${rounded(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(whole / 60);
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / 1_440)} d ${Math.floor((minutes % 1_440) / 60)} h`;
}

function rounded(value: number): string {
  return String(Number(value.toPrecision(value < 100 ? 2 : 3)));
}

/** Formats a number of bytes: `411 MiB`. */
export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10));
  return `${Number((value / 1_024 ** power).toPrecision(3))} ${units[power]}`;
}

export function ago(time: string | null): string {
  return time === null
    ? '–'
    : `${duration(Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1_000)))} ago`;
}

const TIME = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

/** Formats a local time: `22:31:05` today, `11-26 22:31:05` on another day. */
export function clock(time: string | number): string {
  const at = new Date(time);
  const isToday = at.toDateString() === new Date().toDateString();
  const two = (value: number) => String(value).padStart(2, '0');
  return `${isToday ? '' : `${two(at.getMonth() + 1)}-${two(at.getDate())} `}${TIME.format(at)}`;
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)}%`;
}
