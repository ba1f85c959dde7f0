import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { table } from './bench-report.js';
import { type IncidentResult, play } from './incidents/play.js';
import { IncidentCluster } from './incidents/site.js';
import { INCIDENTS } from './incidents/table.js';
import { Folder, fail, note, readOptions } from './script.js';

/**
 * Makes incidents on small clusters of real processes beside a real Prometheus. Prints for each its signs, and when the last
 * sign of it began and ended. Some need root, strace or PostgreSQL.
 *
 *     npm run bench -- incidents --only worker-killed --logs FOLDER
 */
const options = readOptions({
  only: [] as readonly string[],
  logs: undefined,
  atOnce: 4,
});
const names = INCIDENTS.map(({ name }) => name);
const unknown = options.only.find((name) => !names.includes(name));
if (unknown !== undefined) fail(`there is no incident "${unknown}"; there are ${names.join(', ')}`);
const chosen = INCIDENTS.filter(({ name }) => options.only.length === 0 || options.only.includes(name));

const played = new Map<string, IncidentResult>();
const queue = [...chosen];
async function lane(): Promise<void> {
  for (let incident = queue.shift(); incident !== undefined; incident = queue.shift()) {
    using folder = new Folder(`incident-${incident.name}`);
    const site = await IncidentCluster.create(folder.path);
    try {
      played.set(incident.name, await play(incident, site, note));
    } catch (error) {
      note(`${incident.name}: ${(error as Error).stack}`);
    } finally {
      await site.stop().catch((error: Error) => note(`${incident.name}: ${error.message}`));
      if (options.logs !== undefined) {
        const to = join(options.logs, incident.name);
        mkdirSync(to, { recursive: true });
        cpSync(join(site.folder, 'logs'), to, { recursive: true });
      }
    }
  }
}
await Promise.all(Array.from({ length: options.atOnce }, lane));
const results = chosen.flatMap(({ name }) => played.get(name) ?? []);
const columns = ['incident', 'alert', '`/readyz`', 'noticed after, s', 'over after, s'];
const rows = results.map(({ name, signs, noticedMs, endMs }) => [
  name,
  signs.alert ?? 'missing',
  (signs.readyz ?? '').replaceAll(/: [^;]*(;|$)/g, '$1') || 'ready',
  seconds(noticedMs),
  seconds(endMs),
]);
if (options.json) console.log(JSON.stringify(results, undefined, 2));
else process.stdout.write(`${table([columns, ...rows.map((row) => row.map(String))])}\n`);
for (const { name, missing, others } of results)
  if (missing.length > 0) note(`${name}: missing: ${missing.join('; ')}; other alerts: ${others.join(', ')}`);
const areNoticed = results.every(({ endMs, missing }) => endMs !== undefined && missing.length === 0);
process.exitCode = results.length === chosen.length && areNoticed ? 0 : 1;

function seconds(ms: number | undefined): number | string {
  return ms === undefined ? 'never' : Math.round(ms / 1_000);
}
