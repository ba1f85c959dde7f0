// `npm run compose:check` measures the cost and the fault tolerance of a cluster of docker-compose.yml on this machine.
//
//     npm run compose:check                        100 workers, 10 schedulers, 1,000 jobs
//     GOSHAWK_WORKERS=20 npm run compose:check -- --jobs 200 --for 20s
//
// It needs the image (`npm run image`), runs as a separate project, and removes it at the end with its volumes.
// Exit code 1 if a bound is exceeded. Run it on an idle machine.
import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { cpus, loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readOptions } from './options.mjs';

const options = readOptions('npm run compose:check -- [OPTIONS]', {
  jobs: '1000',
  for: '60s',
  idle: '30',
  keep: false,
});
const PROJECT = 'goshawk-check';
const BOUNDS = { upSeconds: 120, idleCores: 0.5, memoryGiB: 4 };
/** Time after which the cost of starting no longer affects measurements. ms */
const SETTLE_MS = 20_000;
/** Time into a replay at which its schedulers are killed. ms */
const KILL_AFTER_MS = 15_000;
const DOCKER_SOCKET = process.env.DOCKER_HOST?.replace(/^unix:\/\//, '') || '/var/run/docker.sock';
process.env.COMPOSE_PROJECT_NAME = PROJECT;
process.env.GOSHAWK_PORT ||= '17079';
process.env.GOSHAWK_PAGE_PORT ||= '0';
process.chdir(new URL('..', import.meta.url).pathname);

const run = promisify(execFile);
const compose = (...args) => run('docker', ['compose', ...args], { maxBuffer: 1 << 28 });
let missed = 0;

/** Prints a measurement, and whether it is within its bound. */
function say(what, figure, isMet) {
  if (isMet === false) missed++;
  console.log(`${what.padEnd(37)}${figure}${isMet === undefined ? '' : isMet ? '' : '   MISSED'}`);
}

function dockerApi(path) {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: DOCKER_SOCKET, path }, (response) => {
      let text = '';
      response.on('data', (part) => {
        text += part;
      });
      response.on('end', () => resolve(JSON.parse(text)));
    });
    asked.on('error', reject).end();
  });
}

async function containers() {
  const filters = encodeURIComponent(JSON.stringify({ label: [`com.docker.compose.project=${PROJECT}`] }));
  return dockerApi(`/containers/json?filters=${filters}`);
}

/** Returns the resource usage of all containers so far, by their cgroups, which include health checks. */
async function used() {
  const all = await containers();
  const at = performance.now();
  // Docker samples all requested containers once per second, so concurrent requests take only one second.
  const each = await Promise.all(
    all.map(({ Id }) => dockerApi(`/containers/${Id}/stats?stream=false&one-shot=true`)),
  );
  const sum = (amountOf) => each.reduce((total, stats) => total + amountOf(stats), 0);
  return {
    at,
    cpuNs: sum(({ cpu_stats: cpu }) => cpu.cpu_usage.total_usage),
    memoryBytes: sum(({ memory_stats: { usage, stats } }) => {
      return usage - (stats.total_inactive_file ?? stats.inactive_file ?? 0);
    }),
  };
}

/** Returns the number of entries in the kernel's neighbor table, which all containers share. */
function neighbours() {
  const [, first] = readFileSync('/proc/net/stat/arp_cache', 'utf8').split('\n');
  return Number.parseInt(first, 16);
}

/** Runs a replay in the cluster and returns the figures of its table. */
async function replay(meanwhile) {
  const args = ['compose', 'run', '--rm', '-T', 'bench', `google-like:jobs=${options.jobs},seed=12`];
  args.push('--jobs', options.jobs, '--for', options.for, '--json', '--progress', 'plain');
  const child = spawn('docker', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  child.stdout.on('data', (text) => {
    out += text;
  });
  const begun = new Promise((resolve) => {
    child.stderr.on('data', (text) => {
      err += text;
      if (/ of [\d,]+ \(\d+%\)/.test(err)) resolve();
    });
  });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  await Promise.race([begun, ended]);
  await meanwhile?.();
  const code = await ended;
  if (out.trim() === '') throw new Error(`the replay ended with ${code}: ${err.slice(-2_000)}`);
  const [{ jobs }] = JSON.parse(out).runs;
  return jobs;
}

const isComplete = ({ completed, failed }) => completed === Number(options.jobs) && failed === 0;
const seconds = (ms) => `${(ms / 1_000).toFixed(1)} s`;

async function check() {
  say('machine', `${cpus().length} cores, load ${loadavg()[0].toFixed(1)} before`);
  const others = neighbours();
  const from = performance.now();
  await compose('up', '--detach', '--wait');
  const upMs = performance.now() - from;
  const all = await containers();
  const healthy = all.filter(({ Status }) => Status.includes('(healthy)')).length;
  say(
    'up --wait',
    `${healthy} of ${all.length} containers healthy after ${seconds(upMs)}`,
    healthy === all.length && upMs < BOUNDS.upSeconds * 1_000,
  );

  await pause(SETTLE_MS);
  const before = await used();
  await pause(Number(options.idle) * 1_000);
  const after = await used();
  const cores = (after.cpuNs - before.cpuNs) / 1e6 / (after.at - before.at);
  const gib = after.memoryBytes / 2 ** 30;
  say('idle, health checks included', `${cores.toFixed(3)} cores`, cores < BOUNDS.idleCores);
  say('memory, without what can be dropped', `${gib.toFixed(2)} GiB`, gib < BOUNDS.memoryGiB);

  const undisturbed = await replay();
  say(
    'replay',
    `${undisturbed.completed} of ${options.jobs} jobs completed, ${undisturbed.failed} failed`,
    isComplete(undisturbed),
  );

  const killed = await replay(async () => {
    await pause(KILL_AFTER_MS);
    await compose('kill', '-s', 'KILL', 'scheduler');
    await compose('up', '--detach', 'scheduler');
  });
  say(
    'replay, all schedulers killed',
    `${killed.completed} of ${options.jobs} jobs completed, ${killed.failed} failed`,
    isComplete(killed),
  );
  const loaded = await used();
  const room = Number(readFileSync('/proc/sys/net/ipv4/neigh/default/gc_thresh3', 'utf8'));
  say(
    'table of neighbours',
    `${neighbours() - others} entries more than before, of ${room} that it has room for`,
  );
  say('memory after both', `${(loaded.memoryBytes / 2 ** 30).toFixed(2)} GiB`);
  say('machine', `load ${loadavg()[0].toFixed(1)} after`);
}

try {
  await check();
} finally {
  if (!options.keep) {
    const from = performance.now();
    await compose('down', '--volumes', '--timeout', '20');
    say('down', seconds(performance.now() - from));
  }
}
process.exitCode = missed === 0 ? 0 : 1;
