import { Component, type ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { hasToken, setToken } from './api.js';
import { giveFocus, keepFocus } from './focus.js';
import { JobsView } from './jobs.js';
import { Lazy, LazyModule } from './lazy.js';
import { OverviewView } from './overview.js';
import { type Address, addressOf, PARTS, viewOf } from './router.js';
import { type Store, useStore } from './store.js';
import { ErrorText } from './ui.js';
import { duration } from './words.js';

const VIEWS = new LazyModule(() => import('./views.js'));

const TITLES: Readonly<Record<(typeof PARTS)[number], string>> = {
  '': 'Overview',
  jobs: 'Jobs',
  workers: 'Workers',
  users: 'Users',
  submit: 'Submit',
  policy: 'Policy',
};
/** Texts for roles below `operate`. */
const ROLE_WORDS = { read: 'read-only', submit: 'no worker actions' } as const;
/**
 * Time (ms) without an update after which the page warns. Updates arrive every 2 s, or less often in large
 * clusters.
 */
const STALE_MS = 10_000;

export function App() {
  const store = useStore();
  const address = store.address.value;
  const heading = useRef<HTMLHeadingElement>(null);
  const [name, setName] = useState<{ readonly view: string; readonly text: string } | undefined>(undefined);
  const view = viewOf(address);
  const isSignIn = store.needsToken.value;
  const title = isSignIn
    ? 'Sign in'
    : name?.view === view
      ? name.text
      : address.part === 'jobs' && address.id !== ''
        ? `Job ${address.id}`
        : TITLES[address.part as keyof typeof TITLES];
  useEffect(() => {
    document.title = `${title} · Goshawk`;
  }, [title]);
  useFocus(view, heading);
  useShortcuts(store);
  return (
    <>
      {/* biome-ignore lint/a11y/useValidAnchor: a link that the address of the view must survive */}
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          heading.current?.focus();
        }}
      >
        Skip to content
      </a>
      <Header />
      <Banners />
      <main id="main" class={isStale(store) ? 'stale' : undefined}>
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {isSignIn ? (
          <SignIn />
        ) : (
          <Guard key={view}>
            <View address={address} setName={(text) => setName({ view, text })} />
          </Guard>
        )}
      </main>
    </>
  );
}

function View({
  address: { part, id },
  setName,
}: {
  readonly address: Address;
  readonly setName: (name: string) => void;
}) {
  if (part === '') return <OverviewView />;
  if (part === 'jobs' && id === '') return <JobsView />;
  return (
    <Lazy part={VIEWS}>
      {({ JobView, WorkersView, UsersView, SubmitView, PolicyView }) => {
        switch (part) {
          case 'jobs':
            return <JobView key={id} id={id} setName={setName} />;
          case 'workers':
            return <WorkersView chosen={id} />;
          case 'users':
            return <UsersView />;
          case 'submit':
            return <SubmitView />;
          case 'policy':
            return <PolicyView />;
        }
      }}
    </Lazy>
  );
}

/** Reports an exception of a view; the header and the other views continue. */
class Guard extends Component<{ readonly children: ComponentChildren }, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false };

  override componentDidCatch(error: unknown): void {
    this.setState({ hasFailed: true });
    reportError(error);
  }

  override render() {
    return this.state.hasFailed ? <p class="error">This view failed.</p> : this.props.children;
  }
}

export function Header() {
  const { address, session, overview } = useStore();
  const { part } = address.value;
  const own = session.value;
  const problems = overview.value?.attention.filter(({ over }) => over === null).length ?? 0;
  return (
    <header>
      <a class="brand" href="#/">
        Goshawk
      </a>
      <nav aria-label="Parts">
        <ul>
          {PARTS.map((name) => (
            <li key={name}>
              <a href={addressOf(name)} aria-current={name === part ? 'page' : undefined}>
                {TITLES[name]}
                {name === '' && part !== '' && problems > 0 ? (
                  <span class="badge lost" title="problems that need attention">
                    {problems}
                  </span>
                ) : null}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <span class="where">
        {own === undefined
          ? ''
          : own.role === 'operate'
            ? own.cluster
            : `${own.cluster} · ${ROLE_WORDS[own.role]}`}
      </span>
    </header>
  );
}

/** Whether the numbers of the view are old. The overview marks each value of central itself. */
function isStale({ overview, updatedAt, now, address }: Store): boolean {
  if (overview.value === undefined) return false;
  const { part } = address.value;
  return (
    now.value - updatedAt.value > STALE_MS || (!overview.value.reachable && part !== '' && part !== 'jobs')
  );
}

/** What is wrong with the cluster, the connection or this page, on every view. */
export function Banners() {
  const { problem, fault, overview, updatedAt, now } = useStore();
  const ageMs = now.value - updatedAt.value;
  const last = overview.value;
  const old = last !== undefined && ageMs > STALE_MS;
  const seen = last?.lastSeen;
  const silent = last?.silent ?? [];
  return (
    <>
      <div class="connection" role="status">
        {problem.value === undefined ? null : (
          <p>
            <ErrorText error={problem.value} />
          </p>
        )}
      </div>
      <div class="connection" role="status">
        {old ? (
          <p class="warning">The numbers below are {duration(Math.round(ageMs / 1_000))} old.</p>
        ) : last !== undefined && !last.reachable ? (
          <p class="warning">
            {seen == null
              ? 'Central has not answered yet, so its values are unknown.'
              : `Central does not answer: its values are ${duration(Math.round(seen.secondsAgo + ageMs / 1_000))} old.`}
          </p>
        ) : silent.length > 0 ? (
          <p class="warning">
            No answer from {silent.join(', ')}: jobs there are not listed, and continue when it is back.
          </p>
        ) : null}
      </div>
      <div class="connection" role="alert">
        {fault.value === '' ? null : (
          <p class="error">
            <strong>Error in this page</strong>: {fault.value}. Reload the page.
          </p>
        )}
      </div>
    </>
  );
}

export function SignIn() {
  const store = useStore();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          setToken(field.current!.value);
          void store.signIn();
        }}
      >
        <label for="token">Access token</label>
        <input ref={field} id="token" type="password" autocomplete="current-password" required />
        <button type="submit">Sign in</button>
      </form>
      {hasToken() ? null : <p class="hint">The operator of the dashboard gives out tokens.</p>}
    </>
  );
}

/**
 * Keeps the focus: it moves to the heading of another view, and back to its row when the user returns to the list of jobs.
 */
function useFocus(view: string, heading: { readonly current: HTMLElement | null }): void {
  const store = useStore();
  useEffect(() => keepFocus(heading), []);
  const before = useRef(view);
  useEffect(() => {
    const note = ({ target }: FocusEvent): void => {
      const href = (target as Element).closest?.('main a[href]')?.getAttribute('href');
      if (href != null) store.lastFocus.set(viewOf(store.address.peek()), href);
    };
    addEventListener('focusin', note);
    return () => removeEventListener('focusin', note);
  }, []);
  useLayoutEffect(() => {
    if (before.current === view) return undefined;
    before.current = view;
    heading.current?.focus();
    // A job is read from its heading.
    const href = view === 'jobs/' ? store.lastFocus.get(view) : undefined;
    if (href === undefined) return undefined;
    // The rows of a list arrive later.
    return giveFocus(() => document.querySelector<HTMLElement>(`main a[href=${JSON.stringify(href)}]`));
  }, [view]);
}

/** Ctrl-K and `/` open the query for jobs, `j` and `k` move between rows. */
function useShortcuts(store: Store): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const { target, key } = event;
      const isTyping =
        target instanceof HTMLElement && target.matches('input:not([type=checkbox]), select, textarea');
      const isQuery = (key === 'k' && (event.ctrlKey || event.metaKey)) || (key === '/' && !isTyping);
      if (isQuery && store.session.peek() !== undefined) {
        event.preventDefault();
        const field = document.getElementById('q');
        if (field !== null) return field.focus();
        location.hash = '#/jobs';
        addEventListener('hashchange', () => setTimeout(() => document.getElementById('q')?.focus()), {
          once: true,
        });
        return;
      }
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || (key !== 'j' && key !== 'k')) return;
      const links = [...document.querySelectorAll<HTMLElement>('main tr.link a[href^="#/jobs/"]')];
      const at = links.findIndex((link) => link.closest('tr')!.contains(document.activeElement));
      links[at + (key === 'j' ? 1 : -1)]?.focus();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [store]);
}
