import { exposition, processReadings, type Readings } from '../metrics/index.js';
import { type HttpOptions, type HttpServer, openHttpServer, type Page, type Pages } from './server.js';

/**
 * Serves liveness, readiness and metrics of a process that is not a member of a cluster, such as a dashboard, on a port of its
 * own, which its users cannot keep busy.
 *
 * @param notReady returns the reasons why the process is not ready
 * @throws InputError as `openHttpServer`
 */
export async function openHealthPort(
  http: HttpOptions,
  notReady: () => readonly string[],
  note: (line: string) => void,
): Promise<AsyncDisposable> {
  const say = (_: unknown, line?: string) => line !== undefined && note(line);
  const logger = { debug: say, info: say, warn: say, error: say } as never;
  const server: HttpServer = await openHttpServer(
    http,
    (counters) => healthPages(notReady, () => processReadings(counters, notReady().length === 0)),
    logger,
  );
  note(`serving /livez, /readyz and /metrics at ${server.url}`);
  return { [Symbol.asyncDispose]: () => server.close() };
}

/** The pages of every process. */
export function healthPages(notReady: () => readonly string[], readings: () => Readings): Pages {
  return {
    '/livez': () => text(200, 'alive\n'),
    '/readyz': () => {
      const problems = notReady();
      return text(problems.length === 0 ? 200 : 503, `${problems.join('\n') || 'ready'}\n`);
    },
    '/metrics': () => ({ status: 200, type: 'text/plain; version=0.0.4', body: exposition(readings()) }),
  };
}

function text(status: number, body: string): Page {
  return { status, type: 'text/plain', body };
}
