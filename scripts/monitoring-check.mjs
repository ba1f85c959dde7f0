// `npm run monitoring:check` checks that Prometheus, as docker-compose.yml starts it, finds every process of a cluster,
// loads the alerts, and has data for each query of the dashboard and of the alerts while jobs run.
//
//     npm run monitoring:check
//     GOSHAWK_WORKERS=100 PROMETHEUS_IMAGE=my-prometheus npm run monitoring:check
//
// It needs the image (`npm run image`) and that of Prometheus, runs as a separate project, and removes it at the end.
// Exit code 1 if a target is down, a rule cannot be evaluated, or a query that should have data has none.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readOptions } from './options.mjs';

readOptions('npm run monitoring:check, with GOSHAWK_WORKERS and PROMETHEUS_IMAGE from the environment');

process.env.GOSHAWK_WORKERS ||= '20';
process.env.GOSHAWK_SCHEDULERS ||= '2';
const WORKERS = Number(process.env.GOSHAWK_WORKERS);
const SCHEDULERS = Number(process.env.GOSHAWK_SCHEDULERS);
process.env.COMPOSE_PROJECT_NAME = 'goshawk-monitoring-check';
process.env.GOSHAWK_PORT ||= '17080';
process.env.GOSHAWK_PAGE_PORT ||= '0';
process.env.PROMETHEUS_PORT ||= '17090';
process.chdir(new URL('..', import.meta.url).pathname);

/** Time for several scrapes, which a rate over a minute needs. ms */
const SCRAPES_MS = 75_000;
const FOUND_WITHIN_MS = 120_000;
const DASHBOARD = 'deploy/monitoring/grafana/dashboards/goshawk.json';

const run = promisify(execFile);
const compose = (...args) => run('docker', ['compose', ...args], { maxBuffer: 1 << 28 });

async function prometheus(path) {
  const answer = await fetch(`http://127.0.0.1:${process.env.PROMETHEUS_PORT}/api/v1/${path}`);
  const { status, data, error } = await answer.json();
  if (status !== 'success') throw new Error(`${path}: ${error}`);
  return data;
}

/** Returns the number of targets of each role that Prometheus reports as up. */
async function targetsUp() {
  const { activeTargets } = await prometheus('targets?state=active');
  const counts = { central: 0, scheduler: 0, worker: 0, dashboard: 0 };
  for (const { health, labels } of activeTargets) if (health === 'up') counts[labels.role]++;
  return { counts, all: activeTargets.length };
}

async function untilAllAreUp() {
  const wanted = JSON.stringify({ central: 1, scheduler: SCHEDULERS, worker: WORKERS, dashboard: 1 });
  const until = Date.now() + FOUND_WITHIN_MS;
  for (;;) {
    const { counts, all } = await targetsUp();
    const areUp = JSON.stringify(counts) === wanted;
    if (areUp || Date.now() > until) {
      say('targets', `${JSON.stringify(counts)} up, of ${all}`, areUp);
      return;
    }
    await pause(1_000);
  }
}

/** Returns every query of the dashboard, with its panel. */
function queries() {
  const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8'));
  return panels
    .flatMap((panel) => [panel, ...(panel.panels ?? [])])
    .flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));
}

let missed = 0;

function say(what, figure, isMet) {
  if (!isMet) missed++;
  console.log(`${what.padEnd(22)}${figure}${isMet ? '' : '   MISSED'}`);
}

async function check() {
  await compose(
    '--profile',
    'monitoring',
    'up',
    '--detach',
    '--wait',
    'central',
    'scheduler',
    'worker',
    'dashboard',
    'prometheus',
  );
  await untilAllAreUp();
  const jobs = ['google-like:jobs=400,seed=12', '--jobs', '400', '--for', `${SCRAPES_MS / 1_000 + 15}s`];
  const replay = compose('run', '--rm', '-T', 'bench', ...jobs);
  await pause(SCRAPES_MS);

  const { groups } = await prometheus('rules');
  const rules = groups.flatMap((group) => group.rules);
  const bad = rules.filter(({ health }) => health !== 'ok');
  say('rules', `${rules.length - bad.length} of ${rules.length} are evaluated`, bad.length === 0);
  const alerts = rules.filter(({ state }) => state === 'firing').map(({ name }) => name);
  say('alerts that go off', alerts.join(', ') || 'none', alerts.length === 0);

  const empty = [];
  const all = queries();
  for (const query of all) {
    const expr = query.expr
      .replaceAll('$__rate_interval', '1m')
      .replaceAll('$__range', '5m')
      .replaceAll(/\$(role|instance|class|user)\b/g, '.*');
    const { result } = await prometheus(`query?query=${encodeURIComponent(expr)}`);
    // Queries for problems (`> 0`) may have no data.
    // Users without active jobs have no series.
    if (result.length === 0 && !/ > 0$|_user_/.test(query.expr)) empty.push(query);
  }
  say('dashboard', `${all.length - empty.length} of ${all.length} queries answered`, empty.length === 0);
  for (const { title, expr } of empty) console.log(`  ${title}: ${expr}`);
  await replay;
}

try {
  await check();
} finally {
  await compose('--profile', 'monitoring', '--profile', 'tools', 'down', '--volumes', '--timeout', '20');
}
process.exitCode = missed === 0 ? 0 : 1;
