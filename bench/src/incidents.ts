import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type IncidentResult, play } from './incidents/play.js';
import { IncidentCluster } from './incidents/site.js';
import { INCIDENTS } from './incidents/table.js';
import { Folder, fail, note, readOptions } from './script.js';

/**
 * Makes incidents on small clusters of real processes, and shows for each the alert that a real Prometheus raised, the log
 * line that names the cause, and the command that ended it.
 *
 *     npm run bench -- incidents --only worker-killed --logs FOLDER
 */
const options = readOptions({ only: [] as readonly string[], logs: undefined, atOnce: 4 });
const chosen = INCIDENTS.filter(({ name }) => options.only.length === 0 || options.only.includes(name));
if (chosen.length === 0) fail(`known incidents: ${INCIDENTS.map(({ name }) => name).join(', ')}`);

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
      await site.stop();
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
if (options.json) console.log(JSON.stringify(results, undefined, 2));
else for (const result of results) console.log(shown(result));
const isComplete = results.every(({ endMs, cause }) => endMs !== undefined && cause !== undefined);
process.exitCode = results.length === chosen.length && isComplete ? 0 : 1;

function shown({ name, alert, alertMs, others, cause, runbook, endMs }: IncidentResult): string {
  return [
    name,
    `  alert   ${alert} ${alertMs === undefined ? 'did not fire' : `after ${seconds(alertMs)}`}${others.length > 0 ? ` (also ${others.join(', ')})` : ''}`,
    `  log     ${cause ?? 'nothing'}`,
    `  end     ${runbook}: ${endMs === undefined ? 'did not end' : `the alert ended after ${seconds(endMs)}`}`,
  ].join('\n');
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
