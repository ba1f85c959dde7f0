import { type ApiError, decoded, get, setToken, takeToken } from './api.js';
import { fill, h, ticked } from './dom.js';
import { showJob } from './job.js';
import { showJobs } from './jobs.js';
import { Live } from './live.js';
import { showOverview } from './overview.js';
import { showPolicy } from './policy.js';
import type { Session } from './shapes.js';
import type { Place } from './view.js';
import { showWorkers } from './workers.js';

/** Parts of the page by the first word of the address after `#/`. */
const PARTS: Readonly<Record<string, { readonly title: string; readonly show: (place: Place) => void }>> = {
  '': { title: 'Overview', show: showOverview },
  jobs: { title: 'Jobs', show: (place) => (place.rest === '' ? showJobs(place) : showJob(place)) },
  workers: { title: 'Workers', show: showWorkers },
  policy: { title: 'Policy', show: showPolicy },
};

const live = new Live();
const links = h('ul', {});
const connection = h('div', { class: 'connection', role: 'status' });
const heading = h('h1', { tabindex: -1 });
const root = h('div', {});
const where = h('span', { class: 'where' });
let session: Session;
let leave = new AbortController();
let shownAddress: string | undefined;

document.body.append(
  h('a', { class: 'skip', href: '#main' }, 'To the content'),
  h(
    'header',
    {},
    h('a', { class: 'brand', href: '#/' }, 'Goshawk'),
    h('nav', { 'aria-label': 'Parts' }, links),
    where,
  ),
  connection,
  h('main', { id: 'main' }, heading, root),
);
document.querySelector('.skip')!.addEventListener('click', (event) => {
  event.preventDefault();
  heading.focus();
});
takeToken();
void begin();

/** Asks who we are, until somebody says so. */
async function begin(): Promise<void> {
  try {
    session = await get<Session>('/v1/session');
  } catch (error) {
    const { status } = error as ApiError;
    tell(error as ApiError);
    if (status === 401) askForToken();
    else setTimeout(() => void begin(), 1_000);
    return;
  }
  tell(null);
  where.textContent =
    session.role === 'operate' ? session.cluster : `${session.cluster}, ${session.role} only`;
  live.start(tell);
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
  // After a choice of another part by keyboard the focus is at its head; a choice within a part keeps its place.
  const hadGrid = document.activeElement?.classList.contains('grid');
  root.replaceChildren();
  part.show({ root, live, session, rest, query: new URLSearchParams(query), signal: leave.signal });
  if (shownAddress !== undefined && hadGrid) root.querySelector<HTMLElement>('.grid')?.focus();
  else if (shownAddress !== undefined && shownAddress !== name) heading.focus();
  shownAddress = name;
}

function tell(problem: ApiError | null): void {
  fill(
    connection,
    problem === null
      ? null
      : h(
          'p',
          { class: 'error' },
          h('strong', {}, problem.message),
          problem.hint === '' ? '' : [': ', ticked(problem.hint)],
        ),
  );
}

function askForToken(): void {
  const field = h('input', {
    type: 'password',
    id: 'token',
    autocomplete: 'current-password',
    required: true,
  });
  heading.textContent = 'Token';
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
      h('label', { for: 'token' }, 'Token'),
      field,
      h('button', { type: 'submit' }, 'Look'),
    ),
  );
  field.focus();
}
