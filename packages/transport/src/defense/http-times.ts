import type { ServerResponse } from 'node:http';
import { Histogram } from '@goshawk/core';

/** Upper bounds of the buckets, in ms. */
const BOUNDS_MS = [1, 5, 25, 100, 250, 500, 1_000, 2_500, 10_000];

/** Classes of the status of answers; `cut`: the connection ended before the whole answer was sent. */
export const STATUS_CLASSES = ['2xx', '3xx', '4xx', '5xx', 'cut'] as const;

/** Route of requests for which there is none. Requested paths are no labels: there may be any number of them. */
export const NO_ROUTE = '(other)';

/** Durations of the requests of one route that were answered with one class of status. */
interface RouteTimes {
  readonly route: string;
  readonly status: string;
  readonly ms: Histogram;
}

/** Measures the HTTP requests of a process, by route and class of status. */
export class HttpTimes {
  readonly #times = new Map<string, RouteTimes>();

  all(): Iterable<RouteTimes> {
    return this.#times.values();
  }

  /**
   * Measures a request from now until its whole answer is sent, or its connection ends.
   *
   * @param routeOf returns the method and the template of the path, at the end of the request
   */
  measure(response: ServerResponse, routeOf: () => string): void {
    const begun = performance.now();
    response.once('close', () => {
      const status = response.writableFinished ? `${Math.floor(response.statusCode / 100)}xx` : 'cut';
      const route = routeOf();
      const key = `${status} ${route}`;
      let times = this.#times.get(key);
      if (times === undefined) {
        times = { route, status, ms: new Histogram(BOUNDS_MS) };
        this.#times.set(key, times);
      }
      times.ms.add(performance.now() - begun);
    });
  }
}
