import type { ApiError } from './api.js';
import { fill, h, renderBackticks } from './dom.js';

/** An action of a button, with an optional confirmation. The page shows errors beside the button. */
export interface Action {
  readonly words: string;
  /** Text of the confirmation, or a function that determines the effect first. */
  readonly confirm?: string | (() => Promise<Node | string>);
  readonly run: () => Promise<unknown>;
}

export function errorText(error: unknown): Node {
  const { message, hint } = error as ApiError;
  return h('span', { class: 'error' }, message, hint ? [': ', renderBackticks(hint)] : null);
}

/** Shows an API error in an element, except errors of aborted requests. */
export function showError(element: Element, error: unknown, signal: AbortSignal): void {
  if (!signal.aborted) fill(element, h('p', {}, errorText(error)));
}

/** Shows buttons. Existing buttons stay if their actions are the same, or if one awaits confirmation. */
export function showActions(
  actions: HTMLElement,
  all: readonly Action[],
  done: (result: unknown) => void = () => {},
): void {
  const key = JSON.stringify(all.map(({ words, confirm }) => [words, typeof confirm]));
  const isAsking = actions.querySelector('.confirm') !== null;
  const state = current.get(actions);
  if (isAsking || (state?.key === key && actions.childElementCount > 0)) {
    // The buttons stay, but the texts of their confirmations are updated.
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
        h('button', { type: 'button', onclick: close }, 'Go back'),
      ),
      outcome,
    );
    yes.focus();
  };
  show();
}

const current = new WeakMap<HTMLElement, { key: string; all: readonly Action[] }>();
