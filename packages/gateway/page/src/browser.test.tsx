// @vitest-environment happy-dom
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { controlsOf, picture, Tab, WORLD } from './browser.fixture.js';
import { nameOf } from './focus.js';
import { parseAddress, viewOf } from './router.js';

const RUNS = 12;

const VIEWS = ['#/', '#/jobs', '#/jobs/a-1', '#/workers', '#/workers/w1', '#/users', '#/submit', '#/policy'];

/**
 * Controls whose state is not a part of the view: a selection for an action, an action and its confirmation, a draft, a query
 * that has not been found yet, and what this user has dismissed.
 */
const NOT_SHOWN = '.select input, .actions *, textarea, #q, .query button, .plain';

beforeEach(() => {
  // Neither layout nor pictures: only elements, attributes and the state of controls are compared.
  const context = new Proxy(
    {},
    { get: (_, name) => (name === 'measureText' ? () => ({ width: 1 }) : () => ({})), set: () => true },
  );
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(context as never);
  vi.stubGlobal(
    'Path2D',
    class {
      rect() {}
      moveTo() {}
      lineTo() {}
      arc() {}
      closePath() {}
    },
  );
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

/** Uses a control as a user does. */
function use(control: HTMLElement, text: string): void {
  const href = control.getAttribute('href');
  if (href !== null) location.hash = href;
  else if (control.matches('input:not([type=checkbox])')) {
    (control as HTMLInputElement).value = text;
    control.dispatchEvent(new Event('input', { bubbles: true }));
    control.dispatchEvent(new Event('change', { bubbles: true }));
  } else control.click();
}

/** The controls that change what the view shows. Links to other views are left out: each view is tried. */
function viewControls(tab: Tab): HTMLElement[] {
  const here = viewOf(parseAddress(location.hash));
  return controlsOf(tab.main).filter((control) => {
    const href = control.getAttribute('href');
    return !control.matches(NOT_SHOWN) && (href === null || viewOf(parseAddress(href)) === here);
  });
}

/** Compares the tab with one that is opened at its address. */
async function expectSameElsewhere(tab: Tab, used: readonly string[]): Promise<void> {
  const shown = picture(tab.main);
  const hash = location.hash;
  await tab.close();
  const other = await Tab.open(hash, { ...WORLD });
  const elsewhere = picture(other.main);
  await other.close();
  expect({ hash, used, shown: elsewhere }).toEqual({ hash, used, shown });
}

describe('the address of any view, opened in another tab, shows the same view', () => {
  it.each(VIEWS)('%s, after each of its controls was used', async (hash) => {
    const tab = await Tab.open(hash, { ...WORLD });
    const used: string[] = [];
    for (let index = 0; index < viewControls(tab).length; index++) {
      const control = viewControls(tab)[index]!;
      used.push(nameOf(control));
      await tab.act(() => use(control, 'oth'));
    }
    await expectSameElsewhere(tab, used);
  });

  it('after any of its controls', async () => {
    const steps = fc.array(fc.tuple(fc.nat(), fc.constantFrom('0', 'oth', '')), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...VIEWS), steps, async (hash, all) => {
        const tab = await Tab.open(hash, { ...WORLD });
        const used: string[] = [];
        for (const [drawn, text] of all) {
          const controls = viewControls(tab);
          const control = controls[drawn % Math.max(1, controls.length)];
          if (control === undefined) continue;
          used.push(nameOf(control));
          await tab.act(() => use(control, text));
        }
        await expectSameElsewhere(tab, used);
      }),
      { numRuns: RUNS },
    );
  });
});

it('the focus survives every update and navigation', async () => {
  const changes = fc.record(
    {
      role: fc.constantFrom('read', 'submit', 'operate'),
      jobs: fc.nat({ max: 4 }),
      workers: fc.nat({ max: 4 }),
      problems: fc.nat({ max: 3 }),
      ...{ isRunning: fc.boolean(), hasDeadlines: fc.boolean(), isAway: fc.boolean() },
    },
    { requiredKeys: [] },
  );
  const steps = fc.array(fc.record({ drawn: fc.nat(), changes, isUsed: fc.boolean() }), {
    minLength: 1,
    maxLength: 5,
  });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...VIEWS), steps, async (hash, all) => {
      const tab = await Tab.open(hash, { ...WORLD });
      try {
        const done: string[] = [];
        for (const { drawn, changes: next, isUsed } of all) {
          const controls = controlsOf(tab.main);
          const control = controls[drawn % Math.max(1, controls.length)];
          if (control === undefined) continue;
          control.focus();
          const name = nameOf(control);
          done.push(`${name}${isUsed ? ' used' : ''}, ${JSON.stringify(next)}`);
          if (isUsed) await tab.act(() => use(control, 'x'));
          else await tab.update(next);
          const focused = document.activeElement!;
          expect({ done, isLost: focused === document.body }).toEqual({ done, isLost: false });
          const hasSame = controlsOf(tab.main).some((other) => nameOf(other) === name);
          if (!isUsed && hasSame) expect({ done, focused: nameOf(focused) }).toEqual({ done, focused: name });
        }
      } finally {
        await tab.close();
      }
    }),
    { numRuns: RUNS },
  );
});
