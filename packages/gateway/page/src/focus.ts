const FOCUSABLE = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';

/**
 * Gives the focus to the nearest control when an update removes the focused one: to one of the same name, or else to the first
 * one of the part in which it was. Returns a function that ends this.
 */
export function keepFocus(heading: { readonly current: HTMLElement | null }): () => void {
  let lost: HTMLElement | undefined;
  let parents: readonly Element[] = [];
  const noted = ({ target }: FocusEvent): void => {
    lost = target as HTMLElement;
    parents = ancestorsOf(lost);
  };
  // The user left the control for the page itself.
  const left = (): void => {
    setTimeout(() => {
      if (lost?.isConnected === true && document.activeElement !== lost) lost = undefined;
    });
  };
  const observer = new MutationObserver(() => {
    if (lost === undefined || lost.isConnected || document.activeElement !== document.body) return;
    const own = nameOf(lost);
    for (const parent of parents.filter(({ isConnected }) => isConnected)) {
      const controls = [...parent.querySelectorAll<HTMLElement>(FOCUSABLE)];
      const same = controls.find((control) => nameOf(control) === own);
      if (parent.tagName === 'MAIN' || same !== undefined) return (same ?? heading.current)?.focus();
      if (parent.matches(FOCUSABLE)) return (parent as HTMLElement).focus();
      if (controls.length > 0) return controls[0]!.focus();
    }
    heading.current?.focus();
  });
  addEventListener('focusin', noted);
  addEventListener('focusout', left);
  observer.observe(document.body, { childList: true, subtree: true });
  return () => {
    removeEventListener('focusin', noted);
    removeEventListener('focusout', left);
    observer.disconnect();
  };
}

function ancestorsOf({ parentElement }: Element): Element[] {
  return parentElement === null ? [] : [parentElement, ...ancestorsOf(parentElement)];
}

/** Returns what a user takes a control for. */
export function nameOf(control: Element): string {
  return control.getAttribute('href') ?? control.getAttribute('aria-label') ?? control.textContent;
}

/**
 * Gives the focus to an element that may appear later. Until then it stays where it is, and if the user moves it meanwhile, it
 * stays there. Returns a function that ends this.
 */
export function giveFocus(find: () => HTMLElement | null): () => void {
  const from = document.activeElement;
  // A hidden element cannot have the focus.
  const give = (): boolean => {
    if (document.activeElement !== from) return true;
    find()?.focus();
    return document.activeElement !== from;
  };
  if (give()) return () => {};
  const observer = new MutationObserver(() => {
    if (give()) observer.disconnect();
  });
  observer.observe(document.body, { childList: true, subtree: true });
  return () => observer.disconnect();
}
