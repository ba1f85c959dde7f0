import type { ApiError } from './api.js';
import { fill, h, ticked } from './dom.js';

/** An action of a person: a button, with its confirmation and its error beside it. */
export interface Action {
  readonly words: string;
  /** Confirmation that says what will happen; a function looks it up first. */
  readonly confirm?: string | (() => Promise<Node | string>);
  readonly run: () => Promise<unknown>;
}

export function errorText(error: unknown): Node {
  const { message, hint } = error as ApiError;
  return h('span', { class: 'error' }, message, hint ? [': ', ticked(hint)] : null);
}

/** Shows an error of the API in an element; an aborted request is none. */
export function tellError(element: Element, error: unknown, signal: AbortSignal): void {
  if (!signal.aborted) fill(element, h('p', {}, errorText(error)));
}

/** Buttons stay as they are while what they do stays the same, and while one of them asks for a confirmation. */
export function offer(
  actions: HTMLElement,
  all: readonly Action[],
  done: (result: unknown) => void = () => {},
): void {
  const key = JSON.stringify(all.map(({ words, confirm }) => [words, typeof confirm]));
  const isAsking = actions.querySelector('.confirm') !== null;
  const state = current.get(actions);
  if (isAsking || (state?.key === key && actions.childElementCount > 0)) {
    // The texts of confirmations follow the job even while the buttons stay.
    if (state !== undefined && state.key === key) state.all = all;
    return;
  }
  const shown = { key, all };
  current.set(actions, shown);
  const outcome = h('span', { role: 'alert' });
  const run = async (action: Action): Promise<void> => {
    fill(outcome);
    try {
      done(await action.run());
    } catch (error) {
      fill(outcome, errorText(error));
    }
  };
  const show = (): void =>
    actions.replaceChildren(
      ...all.map(({ words, confirm }, index) =>
        h(
          'button',
          {
            type: 'button',
            onclick: () => void (confirm === undefined ? run(shown.all[index]!) : ask(index)),
          },
          words,
        ),
      ),
      outcome,
    );
  const ask = async (index: number): Promise<void> => {
    const action = shown.all[index]!;
    const { words, confirm } = action;
    let question: Node | string;
    try {
      question = typeof confirm === 'function' ? await confirm() : confirm!;
    } catch (error) {
      fill(outcome, errorText(error));
      return;
    }
    const close = (): void => {
      show();
      actions.querySelectorAll('button')[index]?.focus();
    };
    const yes = h(
      'button',
      {
        type: 'button',
        class: 'danger',
        onclick: () => {
          close();
          void run(action);
        },
      },
      words.replace('…', ''),
    );
    actions.replaceChildren(
      h(
        'div',
        {
          class: 'confirm',
          role: 'group',
          'aria-label': 'Confirmation',
          onkeydown: (event) => {
            if ((event as KeyboardEvent).key !== 'Escape') return;
            event.stopPropagation();
            close();
          },
        },
        h('span', {}, question),
        yes,
        h('button', { type: 'button', onclick: close }, 'Keep as it is'),
      ),
      outcome,
    );
    yes.focus();
  };
  show();
}

const current = new WeakMap<HTMLElement, { key: string; all: readonly Action[] }>();
