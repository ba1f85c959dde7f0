import { errorText } from './actions.js';
import { type ApiError, decoded, get, hasToken, setToken, takeToken } from './api.js';
import { duration, fill, h } from './dom.js';
import { showJob } from './job.js';
import { showJobs } from './jobs.js';
import { Live } from './live.js';
import { showOverview } from './overview.js';
import { showPolicy } from './policy.js';
import type { Session } from './shapes.js';
import { showSubmit } from './submit.js';
import { showUsers } from './users.js';
import type { Place } from './view.js';
import { showWorkers } from './workers.js';

/** Parts of the page by the first segment of the address after `#/`. */
const PARTS: Readonly<Record<string, { readonly title: string; readonly show: (place: Place) => void }>> = {
  '': { title: 'Overview', show: showOverview },
  jobs: { title: 'Jobs', show: (place) => (place.rest === '' ? showJobs(place) : showJob(place)) },
  workers: { title: 'Workers', show: showWorkers },
  users: { title: 'Users', show: showUsers },
  submit: { title: 'Submit', show: showSubmit },
  policy: { title: 'Policy', show: showPolicy },
};

/** Texts for roles below `operate`. */
const ROLE_WORDS = { read: 'read-only', submit: 'no worker actions' } as const;
/**
 * Time (ms) without an update after which the page warns. Updates arrive every 2 s, or less often in large
 * clusters.
 */
const STALE_MS = 10_000;

const live = new Live();
const links = h('ul', {});
const connection = h('div', { class: 'connection', role: 'status' });
const age = h('div', { class: 'connection', role: 'status' });
const fault = h('div', { class: 'connection', role: 'alert' });
const heading = h('h1', { tabindex: -1 });
const root = h('div', {});
const where = h('span', { class: 'where' });
let session: Session | undefined;
let leave = new AbortController();
let shownAddress: string | undefined;

document.body.append(
  h('a', { class: 'skip', href: '#main' }, 'Skip to content'),
  h(
    'header',
    {},
    h('a', { class: 'brand', href: '#/' }, 'Goshawk'),
    h('nav', { 'aria-label': 'Parts' }, links),
    where,
  ),
  connection,
  age,
  fault,
  h('main', { id: 'main' }, heading, root),
);
document.querySelector('.skip')!.addEventListener('click', (event) => {
  event.preventDefault();
  heading.focus();
});
// Errors without an error object, such as those of a ResizeObserver, are harmless.
addEventListener('error', ({ error, message }) => {
  if (error) showFault(message);
});
addEventListener('unhandledrejection', ({ reason }) => showFault(String(reason)));
takeToken();
void begin();

/** Ctrl-K and `/` open the query for jobs from every part. */
addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLElement && event.target.matches('input, select, textarea');
  const isAsked = (event.key === 'k' && (event.ctrlKey || event.metaKey)) || (event.key === '/' && !isTyping);
  if (!isAsked || session === undefined) return;
  event.preventDefault();
  const field = document.getElementById('q');
  if (field !== null) return field.focus();
  location.hash = '#/jobs';
  addEventListener('hashchange', () => document.getElementById('q')?.focus(), { once: true });
});

/** Fetches the session. Asks for a token until the gateway accepts one. */
async function begin(): Promise<void> {
  try {
    session = await get<Session>('/v1/session');
    where.textContent =
      session.role === 'operate' ? session.cluster : `${session.cluster} · ${ROLE_WORDS[session.role]}`;
  } catch (error) {
    const { status } = error as ApiError;
    // A visitor without a token has made no mistake.
    showProblem(status === 401 && !hasToken() ? null : (error as ApiError));
    if (status === 401) promptForToken();
    else setTimeout(() => void begin(), 1_000);
    return;
  }
  showProblem(null);
  live.start(showProblem);
  setInterval(showAge, 1_000);
  addEventListener('hashchange', show);
  show();
}

function show(): void {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [name = '', ...more] = path.split('/');
  const rest = decoded(more.join('/'));
  const part = PARTS[Object.hasOwn(PARTS, name) ? name : '']!;
  leave.abort();
  leave = new AbortController();
  links.replaceChildren(
    ...Object.entries(PARTS).map(([word, { title }]) =>
      h('li', {}, h('a', { href: `#/${word}`, 'aria-current': word === name ? 'page' : undefined }, title)),
    ),
  );
  heading.textContent = name === 'jobs' && rest !== '' ? `Job ${rest}` : part.title;
  document.title = `${heading.textContent} · Goshawk`;
  // After navigation to another part, the focus moves to the heading. Navigation within a part keeps the
  // focus.
  const hadGrid = document.activeElement?.classList.contains('grid');
  const hadId = document.activeElement?.id;
  root.replaceChildren();
  part.show({ root, live, session: session!, rest, query: new URLSearchParams(query), signal: leave.signal });
  if (shownAddress !== undefined && hadGrid) root.querySelector<HTMLElement>('.grid')?.focus();
  else if (shownAddress !== undefined && shownAddress !== name) heading.focus();
  else if (hadId !== undefined && hadId !== '') document.getElementById(hadId)?.focus();
  shownAddress = name;
}

function showProblem(problem: ApiError | null): void {
  fill(connection, problem === null ? null : h('p', {}, errorText(problem)));
}

/** Marks stale numbers, with their age. */
function showAge(): void {
  const ageMs = performance.now() - live.updatedAt;
  const isStale = live.overview !== undefined && ageMs > STALE_MS;
  // The overview marks each value of central itself.
  const isCentralAway = live.overview?.reachable === false && shownAddress !== '' && shownAddress !== 'jobs';
  root.classList.toggle('stale', isStale || isCentralAway);
  const old = (what: string, ms: number) =>
    h('p', { class: 'warning' }, `${what} ${duration(Math.round(ms / 1_000))} old.`);
  const seen = live.overview?.lastSeen;
  fill(
    age,
    isStale
      ? old('The numbers below are', ageMs)
      : !isCentralAway
        ? null
        : seen == null
          ? h('p', { class: 'warning' }, 'Central has not answered yet, so its values are unknown.')
          : old('Central does not answer: its values below are', 1_000 * seen.secondsAgo + ageMs),
  );
}

function showFault(message: string): void {
  fill(
    fault,
    h('p', { class: 'error' }, h('strong', {}, 'Error in this page'), `: ${message}. Reload the page.`),
  );
}

function promptForToken(): void {
  const field = h('input', {
    type: 'password',
    id: 'token',
    autocomplete: 'current-password',
    required: true,
  });
  heading.textContent = 'Sign in';
  root.replaceChildren(
    h(
      'form',
      {
        class: 'filters',
        onsubmit: (event) => {
          event.preventDefault();
          setToken(field.value);
          root.replaceChildren();
          void begin();
        },
      },
      h('label', { for: 'token' }, 'Access token'),
      field,
      h('button', { type: 'submit' }, 'Sign in'),
    ),
    hasToken() ? '' : h('p', { class: 'hint' }, 'The operator of the dashboard gives out tokens.'),
  );
  field.focus();
}
