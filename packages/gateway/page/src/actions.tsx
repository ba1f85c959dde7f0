import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from './api.js';
import { ErrorText } from './ui.js';

/** An action of a button, with an optional confirmation. The page shows errors beside the button. */
export interface Action<T = unknown> {
  readonly words: string;
  /** Text of the confirmation, or a function that determines the effect first and returns what to run. */
  readonly confirm?: string | (() => Promise<Confirmation<T>>);
  readonly run: () => Promise<T>;
}

/** What the user confirms: the action applies to what was described, even if it changes meanwhile. */
interface Confirmation<T> {
  readonly question: string;
  readonly run: () => Promise<T>;
}

interface Asked<T> extends Confirmation<T> {
  readonly words: string;
}

/** Buttons of actions. Each action is described and confirmed before it runs, if it asks for it. */
export function Actions<T>({
  all,
  label,
  done,
}: {
  readonly all: readonly Action<T>[];
  readonly label?: string;
  readonly done?: (result: T) => void;
}) {
  const [asked, setAsked] = useState<Asked<T> | undefined>(undefined);
  const [outcome, setOutcome] = useState<ApiError | string | undefined>(undefined);
  const place = useRef<HTMLDivElement>(null);
  /** Words of the button that gets the focus back. */
  const returnTo = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (asked !== undefined) place.current?.querySelector<HTMLElement>('.danger')?.focus();
    else if (returnTo.current !== undefined) {
      const buttons = [...(place.current?.querySelectorAll('button') ?? [])];
      (buttons.find(({ textContent }) => textContent === returnTo.current) ?? buttons[0])?.focus();
      returnTo.current = undefined;
    }
  }, [asked]);
  const close = (words: string): void => {
    returnTo.current = words;
    setAsked(undefined);
  };
  const run = async (words: string, call: () => Promise<T>): Promise<void> => {
    setOutcome('…');
    try {
      const result = await call();
      setOutcome(words.endsWith('…') ? undefined : `${words}: done.`);
      done?.(result);
    } catch (error) {
      setOutcome(error as ApiError);
    }
  };
  const start = async (action: Action<T>): Promise<void> => {
    const { words, confirm } = action;
    setOutcome(undefined);
    if (confirm === undefined) return run(words, action.run);
    try {
      const { question, run: call } =
        typeof confirm === 'function' ? await confirm() : { question: confirm, run: action.run };
      setAsked({ words, question, run: call });
    } catch (error) {
      setOutcome(error as ApiError);
    }
  };
  if (all.length === 0 && asked === undefined && outcome === undefined) return null;
  return (
    <div class="actions" ref={place} {...(label === undefined ? {} : { role: 'group', 'aria-label': label })}>
      {asked === undefined ? (
        all.map((action, index) => (
          <button key={index} type="button" onClick={() => void start(action)}>
            {action.words}
          </button>
        ))
      ) : (
        <div
          class="confirm"
          role="group"
          aria-label="Confirmation"
          onKeyDown={(event) => {
            if (event.key !== 'Escape') return;
            event.stopPropagation();
            close(asked.words);
          }}
        >
          <span>{asked.question}</span>
          <button
            type="button"
            class="danger"
            onClick={() => {
              close(asked.words);
              void run(asked.words, asked.run);
            }}
          >
            {asked.words.replace('…', '')}
          </button>
          <button type="button" onClick={() => close(asked.words)}>
            Go back
          </button>
        </div>
      )}
      <span role="alert">
        {outcome === undefined ? null : typeof outcome === 'string' ? outcome : <ErrorText error={outcome} />}
      </span>
    </div>
  );
}
