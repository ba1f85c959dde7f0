import type { ScrapeTarget } from '@goshawk/central';
import type { Role } from '@goshawk/core';
import { type CommonSources, commonReadings, type Readings } from '../metrics/index.js';
import { VERSION } from '../version.js';
import { healthPages } from './health-port.js';
import type { HttpCounters, Page, Pages } from './server.js';

export interface Shown extends CommonSources {
  readonly role: Role;
  readonly endpoint: string;
  /** Whether traffic is encrypted. */
  readonly hasKeys: boolean;
  /** The view of the role's machines. */
  view(): RoleView;
}

/** State of one role at the time of a request. */
export interface RoleView {
  /** Reasons why the process is not ready; empty if it is ready. */
  readonly notReady: readonly string[];
  /** Evaluated only for `/metrics`. */
  readings(): Readings;
  /** Returns the HTTP addresses of all processes of the cluster; only central has this method. */
  scrapeTargets?(): readonly ScrapeTarget[];
}

export function pagesOf(shown: Shown, http: HttpCounters): Pages {
  return {
    ...healthPages(
      () => shown.view().notReady,
      () => {
        const { notReady, readings } = shown.view();
        return { ...commonReadings(shown, http, notReady.length === 0), ...readings() };
      },
    ),
    '/status': () => json(status(shown)),
    ...(shown.role === 'central'
      ? { '/targets': () => json(targets(shown.view().scrapeTargets?.() ?? [])) }
      : {}),
  };
}

/** Returns the targets in the format of Prometheus's `http_sd_configs`, one entry per role. */
function targets(all: readonly ScrapeTarget[]) {
  const roles = [...new Set(all.map(({ role }) => role))];
  return roles.map((role) => ({
    targets: all.filter((target) => target.role === role).map(({ at }) => at),
    labels: { role },
  }));
}

function status({ role, endpoint, hasKeys, mailbox, machines, view }: Shown) {
  return {
    schema: 'goshawk.status/1',
    version: VERSION,
    role,
    endpoint,
    encrypted: hasKeys,
    startedAt: new Date(performance.timeOrigin).toISOString(),
    notReady: view().notReady,
    mailbox,
    machines: machines(),
  };
}

function json(value: unknown): Page {
  return { status: 200, type: 'application/json', body: `${JSON.stringify(value)}\n` };
}
