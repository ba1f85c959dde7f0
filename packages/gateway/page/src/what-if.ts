import { errorText } from './actions.js';
import { get } from './api.js';
import { duration, fill, h, table } from './dom.js';
import type { Job, WhatIfAnswer } from './shapes.js';

interface Change {
  readonly words: string;
  readonly query: string;
}

/** Policies to try. If one of them cannot run the job, the answer says so. */
const POLICIES = ['goshawk', 'goshawk-peer', 'hawk', 'sparrow', 'central'] as const;

/** Maximum age of an answer that is shown beside a new one, in ms. */
const COMPARED_MS = 30_000;

/** Buttons that simulate when the job would start under a change, and the answers. */
export class WhatIf {
  readonly element = h('div', { hidden: true });
  readonly #path: string;
  readonly #signal: AbortSignal;
  readonly #buttons = h('div', { class: 'actions', role: 'group', 'aria-label': 'What if' });
  readonly #outcome = h('div', { role: 'status' });
  readonly #answers = new Map<string, { readonly answer: WhatIfAnswer; readonly at: number }>();
  #priority: Job['priority'] | undefined;
  /** Aborts the current request when another question is asked. */
  #asking: AbortController | undefined;

  /** @param path path of the job in the API */
  constructor(path: string, signal: AbortSignal) {
    this.#path = path;
    this.#signal = signal;
    this.element.append(h('h3', {}, 'What if'), this.#buttons, this.#outcome);
  }

  /** @param priority priority of the job; undefined: the job needs no prediction */
  show(priority: Job['priority'] | undefined): void {
    this.element.hidden = priority === undefined;
    if (priority === undefined || priority === this.#priority) return;
    this.#priority = priority;
    const level = priority === 'high' ? 'normal' : 'high';
    const changes: readonly Change[] = [
      { words: '+1 worker', query: 'workers=1' },
      { words: '+10 workers', query: 'workers=10' },
      { words: `with ${level} priority`, query: `priority=${level}` },
    ];
    const policies = h(
      'select',
      { 'aria-label': 'What if the policy were' },
      h('option', { value: '' }, 'another policy'),
      POLICIES.map((name) => h('option', { value: name }, name)),
    );
    policies.addEventListener('change', () => {
      const { value } = policies;
      if (value !== '') void this.#ask({ words: `policy ${value}`, query: `policy=${value}` });
    });
    this.#buttons.replaceChildren(
      ...changes.map((change) =>
        h('button', { type: 'button', onclick: () => void this.#ask(change) }, change.words),
      ),
      policies,
    );
  }

  async #ask({ words, query }: Change): Promise<void> {
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    fill(this.#outcome, this.#table(), h('p', { class: 'hint' }, `Simulating: ${words} …`));
    try {
      const signal = AbortSignal.any([this.#signal, asking.signal]);
      const answer = await get<WhatIfAnswer>(`${this.#path}/whatif?${query}`, signal);
      const at = performance.now();
      // The simulations of older answers started from an earlier state of the cluster.
      for (const [other, old] of this.#answers) if (at - old.at > COMPARED_MS) this.#answers.delete(other);
      this.#answers.set(words, { answer, at });
      fill(this.#outcome, this.#table());
    } catch (error) {
      if (!asking.signal.aborted && !this.#signal.aborted)
        fill(this.#outcome, this.#table(), h('p', {}, errorText(error)));
    }
  }

  #table(): HTMLElement | null {
    const answers = [...this.#answers];
    const last = answers.at(-1)?.[1].answer;
    if (last === undefined) return null;
    const time = (seconds: number | null) => (seconds === null ? 'not predicted' : duration(seconds));
    const rows = [
      { words: 'no change', ...last.now },
      ...answers.map(([words, { answer }]) => ({ words, ...answer.changes[0]! })),
    ];
    return h(
      'div',
      {},
      table<(typeof rows)[number]>(
        'What if',
        [
          { title: 'change', of: (row) => row.words },
          { title: 'starts in', isNumber: true, of: (row) => time(row.startSeconds) },
          { title: 'ends in', isNumber: true, of: (row) => time(row.endSeconds) },
        ],
        rows,
      ),
      h('p', { class: 'hint' }, `Simulated: ${last.assumptions.join('; ')}.`),
    );
  }
}
