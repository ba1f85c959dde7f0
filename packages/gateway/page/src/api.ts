import { decoded } from './router.js';

const TOKEN = 'goshawk.token';
/** First and maximum delay (ms) between attempts to reach the gateway. */
const RETRY_MS = 500;
const RETRY_MAX_MS = 5_000;
/** Time (ms) for which a hidden tab keeps its connections. */
const HIDDEN_MS = 3_000;

/** An error of the API, or of the connection to it. */
export class ApiError extends Error {
  readonly status: number;
  readonly hint: string;

  constructor(status: number, message: string, hint: string) {
    super(message);
    this.status = status;
    this.hint = hint;
  }
}

/** Moves a token from the address into this tab's storage. */
export function takeToken(): void {
  const given = /^#token=(.+)$/.exec(location.hash)?.[1];
  if (given === undefined) return;
  setToken(decoded(given));
  history.replaceState(null, '', '#/');
}

export function setToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

export function hasToken(): boolean {
  return sessionStorage.getItem(TOKEN) !== null;
}

function headers(more: Record<string, string> = {}): Record<string, string> {
  const token = sessionStorage.getItem(TOKEN);
  return token === null ? more : { ...more, authorization: `Bearer ${token}` };
}

/** Returns the path relative to the page, which a proxy may serve below another path. */
function below(path: string): string {
  return `.${path}`;
}

/** @throws ApiError */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (
    await checkedResponse(fetch(below(path), { headers: headers(), signal: signal ?? null }))
  ).json() as Promise<T>;
}

/** Requests a file. @throws ApiError */
export async function getFile(path: string): Promise<Blob> {
  return (await checkedResponse(fetch(below(path), { headers: headers() }))).blob();
}

/** @throws ApiError */
export async function post<T>(path: string, body: unknown = {}): Promise<T> {
  const sent = fetch(below(path), {
    method: 'POST',
    headers: headers({ 'content-type': 'application/json' }),
    body: JSON.stringify(body),
  });
  return (await checkedResponse(sent)).json() as Promise<T>;
}

async function checkedResponse(sent: Promise<Response>): Promise<Response> {
  let response: Response;
  try {
    response = await sent;
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error;
    throw new ApiError(0, 'no answer from the dashboard', 'retrying; is `goshawk dashboard` running?');
  }
  if (response.ok) return response;
  const said = (await response.json().catch(() => ({}))) as { message?: string; hint?: string };
  throw new ApiError(response.status, said.message ?? response.statusText, said.hint ?? '');
}

interface Reader {
  event(name: string, data: unknown): void;
  /** Called with the state of the connection; null: connected. */
  state(problem: ApiError | null): void;
}

/**
 * Reads events until the signal is aborted or the server ends the stream. A broken connection is resumed, and one of
 * a hidden tab is closed until the tab is shown: browsers open only six connections to a server, so further
 * tabs could not load. The browser's EventSource is not used, because it cannot send a token.
 */
export async function follow(path: string, reader: Reader, signal: AbortSignal): Promise<void> {
  let lastEventId: string | undefined;
  for (let pauseMs = RETRY_MS; !signal.aborted; pauseMs = Math.min(RETRY_MAX_MS, 2 * pauseMs)) {
    const hidden = hiddenSignal();
    try {
      await shown();
      const more: Record<string, string> = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
      const ends = AbortSignal.any([signal, hidden.signal]);
      const response = await checkedResponse(fetch(below(path), { headers: headers(more), signal: ends }));
      if (response.status === 204) return;
      reader.state(null);
      pauseMs = RETRY_MS;
      for await (const { event, id, data } of eventsIn(response.body!)) {
        lastEventId = id ?? lastEventId;
        // An exception of the page is reported, and the stream continues.
        try {
          reader.event(event, JSON.parse(data));
        } catch (error) {
          reportError(error);
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError) reader.state(error);
      // 401 and 404 are permanent: do not retry.
      if (error instanceof ApiError && (error.status === 404 || error.status === 401)) return;
      if (hidden.signal.aborted) continue;
    } finally {
      hidden.stop();
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Returns a signal that is aborted once the tab has been hidden for a while. `stop` ends the observation. */
function hiddenSignal(): { readonly signal: AbortSignal; stop(): void } {
  const hidden = new AbortController();
  const stop = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const changed = (): void => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => hidden.abort(), HIDDEN_MS);
  };
  document.addEventListener('visibilitychange', changed, { signal: stop.signal });
  stop.signal.addEventListener('abort', () => clearTimeout(timer));
  return { signal: hidden.signal, stop: () => stop.abort() };
}

/** Resolves when the tab is shown. */
function shown(): Promise<void> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (document.hidden) return;
      document.removeEventListener('visibilitychange', check);
      resolve();
    };
    document.addEventListener('visibilitychange', check);
    check();
  });
}

async function* eventsIn(body: ReadableStream<Uint8Array>) {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const fields = new Map(text.slice(0, end).split('\n').map(fieldOf));
      text = text.slice(end + 2);
      const data = fields.get('data');
      if (data !== undefined) yield { event: fields.get('event') ?? 'message', id: fields.get('id'), data };
    }
  }
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(': ');
  return [line.slice(0, colon), line.slice(colon + 2)];
}

/**
 * Returns an idempotency key for a request that may be sent twice. `randomUUID` does not exist on pages over
 * plain HTTP.
 */
export function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
}
