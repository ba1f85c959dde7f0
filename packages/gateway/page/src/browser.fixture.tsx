import { render } from 'preact';
import { act } from 'preact/test-utils';
import { App } from './app.js';
import {
  ago,
  attempt,
  item,
  job,
  NOT_LENT,
  NOW,
  overview,
  STREAM,
  stage,
  storeAt,
  summary,
} from './page.fixture.js';
import { parseAddress } from './router.js';
import type { Session } from './shapes.js';
import { type Store, StoreContext } from './store.js';

/** What the cluster of the tests has. Tests change it between updates. */
export interface World {
  role: Session['role'];
  jobs: number;
  workers: number;
  problems: number;
  /** Whether the job runs; otherwise it has ended, with failures. */
  isRunning: boolean;
  hasDeadlines: boolean;
  /** Whether requests fail. */
  isAway: boolean;
}

export const WORLD: World = {
  ...{ role: 'operate', jobs: 3, workers: 3, problems: 2 },
  ...{ isRunning: true, hasDeadlines: false, isAway: false },
};

const COUNTS = { waiting: 20, running: 30, completed: 40, failed: 50, cancelled: 0 };

/** Answers of the API. Each contains its query, so that views of different requests differ. */
function answerOf(path: string, query: string, world: World): unknown {
  const deadlineAt = world.hasDeadlines ? ago(-60) : null;
  const tasks = { total: 140, ...COUNTS };
  const jobs = Array.from({ length: world.jobs }, (_, at) =>
    summary({ id: `a-${at}`, name: `etl-${at} ${query}`, tasks, deadlineAt }),
  );
  if (/^\/v1\/jobs\/[^/]+$/.test(path))
    return job({
      ...{ id: path.split('/').at(-1)!, state: world.isRunning ? 'running' : 'failed', tasks, deadlineAt },
      ...{ stages: [stage('load'), stage('report', { after: ['load'] })], attempts: [attempt(0, 1, 2)] },
      endedAt: world.isRunning ? null : ago(1),
    });
  if (path.endsWith('/why'))
    return {
      sentence: 'It runs.',
      parts: [{ label: 'state', lines: ['running'] }],
      waited: [],
      limits: [],
      deadline: null,
    };
  if (path.endsWith('/tasks')) {
    const from = Number(new URLSearchParams(query).get('from') ?? 0);
    const row = (index: number) => ({
      ...{ index, stage: 'load', state: 'completed', attempt: 1, worker: query, exitCode: 0 },
      ...{ startedAt: ago(5), endedAt: ago(1), runSeconds: 2, maxRssBytes: null, error: null, ...NOT_LENT },
    });
    return { total: 140, next: from + 20, tasks: [from, from + 1].map(row) };
  }
  if (path.endsWith('/logs'))
    return {
      ...{ truncated: false, missing: null, earlierAttempts: false },
      chunks: [query, 'other'].map((text, task) => ({
        task,
        attempt: 1,
        stream: 'stdout',
        at: ago(9),
        text: `${text}\n`,
      })),
    };
  if (path === '/v1/stream') {
    const [first, ...others] = STREAM.jobs;
    return { ...STREAM, total: 90, jobs: [{ ...first!, name: query }, ...others] };
  }
  if (path === '/v1/events/past') {
    const event = (number: number, seconds: number) => ({
      number,
      at: ago(seconds),
      text: `event ${number}`,
    });
    return { events: [event(1, 5_000), event(2, 60)], next: 3, since: ago(80_000) };
  }
  if (path === '/v1/history') return { points: [] };
  if (path === '/v1/users') return { users: [], sharedBy: null, unlisted: 0 };
  if (path === '/v1/usage') return { usage: [], total: 0, totals: {}, silent: [] };
  if (path === '/v1/policy')
    return {
      policy: 'goshawk',
      title: 'it',
      estimator: 'pilot',
      cutoffSeconds: 1,
      cutoffJobs: 1,
      reserve: 0,
      reserveNow: 0,
      messagesPerTask: 1,
      messages: { run: 1 },
    };
  if (path === '/v1/predictor') return { estimators: [] };
  if (path === '/v1/workers') return { workers: [] };
  if (path.startsWith('/v1/workers/'))
    return {
      ...{
        name: path.split('/').at(-1)!,
        state: 'active',
        quarantine: null,
        partition: 'any',
        slots: 4,
        busy: 1,
      },
      ...{ long: 0, queued: 0, resources: {}, attributes: {}, used: null, heardSecondsAgo: 1, tasks: [] },
      ...{ moreTasks: 0, events: [], counters: {}, lost: null },
    };
  if (path === '/v1/openapi.json') return { paths: {} };
  if (path === '/v1/jobs') {
    const state = { total: world.jobs, ...COUNTS };
    return { jobs, total: 90, cursor: 'next', counts: state, silent: [] };
  }
  throw new Error(`no answer to ${path}`);
}

/** A tab of a browser with the page at the address of the window. */
export class Tab {
  readonly store: Store;
  readonly world: World;
  readonly #body = document.createElement('div');
  readonly #navigated = (): void => {
    this.store.address.value = parseAddress(location.hash);
  };

  private constructor(world: World) {
    this.world = world;
    this.store = storeAt(location.hash, world.role);
  }

  static async open(hash: string, world: World): Promise<Tab> {
    location.hash = hash;
    const tab = new Tab(world);
    globalThis.fetch = tab.fetch as typeof fetch;
    document.body.append(tab.#body);
    addEventListener('hashchange', tab.#navigated);
    tab.#take();
    await act(() =>
      render(
        <StoreContext.Provider value={tab.store}>
          <App />
        </StoreContext.Provider>,
        tab.#body,
      ),
    );
    await tab.settle();
    return tab;
  }

  #requests = 0;

  /** Answers a request of the page. */
  readonly fetch = async (url: string): Promise<Response> => {
    this.#requests++;
    await new Promise((resolve) => setTimeout(resolve));
    this.#requests--;
    const [path = '', query = ''] = url.replace(/^\./, '').split('?');
    if (path.endsWith('/events')) return new Response(null, { status: 204 });
    if (this.world.isAway) return new Response(JSON.stringify({ message: 'away' }), { status: 503 });
    return new Response(JSON.stringify(answerOf(path, query, this.world)));
  };

  /** Sends an update of the cluster, as the gateway does every two seconds. */
  async update(changes: Partial<World>): Promise<void> {
    Object.assign(this.world, changes);
    await act(() => this.#take());
    await this.settle();
  }

  #take(): void {
    const { role, workers, problems } = this.world;
    this.store.session.value = { ...this.store.session.peek()!, role };
    const attention = Array.from({ length: problems }, (_, at) =>
      item({ key: `lost w${at}`, what: `w${at} lost` }),
    );
    this.store.take('overview', overview({ attention }));
    this.store.take('workers', {
      reset: true,
      born: Array.from({ length: workers }, (_, at) => [at, `w${at}`, 4, 0]),
      now: Array.from({ length: workers }, (_, at) => [at, 0, 1, 0, 0, 1]),
    });
    this.store.now.value = NOW;
    this.store.updatedAt.value = NOW;
  }

  /** Does what a user does, and waits for what follows. */
  async act(step: () => void): Promise<void> {
    await act(step);
    await this.settle();
  }

  /** Waits until no request or effect is left. */
  async settle(): Promise<void> {
    // An answer may lead to another request.
    for (let idle = 0; idle < 2; idle++) {
      await act(async () => {
        await new Promise((resolve) => setTimeout(resolve));
      });
      if (this.#requests > 0 || this.main.textContent!.includes('Loading …')) idle = 0;
    }
  }

  async close(): Promise<void> {
    await act(() => render(null, this.#body));
    removeEventListener('hashchange', this.#navigated);
    this.#body.remove();
  }

  get main(): HTMLElement {
    return this.#body.querySelector('main')!;
  }
}

/** What a user sees: elements with their attributes and the state of their controls. */
export function picture(element: Element): string {
  const control = element as HTMLInputElement & HTMLDetailsElement;
  const own = [...element.attributes].map(({ name, value }) => `${name}=${value}`).sort();
  const state = element.matches('input, textarea, select') ? [control.value, String(control.checked)] : [];
  const parts = [...element.childNodes].map((node) =>
    node instanceof Element ? picture(node) : (node.textContent ?? ''),
  );
  return `\n<${[element.tagName, ...own, ...state].join(' ')}>${parts.join('')}`;
}

export function controlsOf(main: Element): HTMLElement[] {
  return [
    ...main.querySelectorAll<HTMLElement>(
      'a[href], button, input, select, textarea, summary, [tabindex="0"]',
    ),
  ];
}
