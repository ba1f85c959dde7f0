import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { type Context, defineCommand, VERSION, whenAborted, whenOrphaned } from '@goshawk/command';
import {
  connect,
  DAEMON_OPTIONS,
  type DaemonIsUp,
  findCluster,
  keySource,
  keysFor,
} from '@goshawk/command/cluster';
import { fileProblem } from '@goshawk/core';
import type { Role, Token } from '@goshawk/gateway';
import { findLaboratory } from '../laboratory.js';
import { HEALTH_OPTIONS, healthPort, readSecret } from './daemon-options.js';
import { outliveTerminal } from './outlive-terminal.js';

const ROLES = ['read', 'submit', 'operate'] as const satisfies readonly Role[];

export const dashboardCommand = defineCommand({
  name: 'dashboard',
  describe: 'serve the web page and the HTTP API of a cluster (docs/HTTP.md)',
  examples: [
    ['goshawk dashboard', 'serve the page to this machine and print its address'],
    [
      'goshawk dashboard --listen 0.0.0.0:7080 --token-file tokens',
      'also serve other machines, read-only unless --allow raises the role',
    ],
  ],
  options: {
    listen: {
      type: 'text',
      setting: true,
      value: 'HOST:PORT',
      default: '127.0.0.1:7080',
      describe: 'address to listen on; port 0 picks a free port',
    },
    tokenFile: {
      type: 'text',
      setting: true,
      value: 'FILE',
      describe:
        'file with a role (read, submit, operate) and a token on each line; required beyond loopback (or set GOSHAWK_DASHBOARD_TOKENS)',
    },
    allow: {
      type: 'text',
      setting: true,
      value: 'ROLE',
      choices: ROLES,
      describe: 'maximum role; a token with a higher role is limited to it',
      whenUnset: 'operate on loopback, otherwise read',
    },
    allowHost: {
      type: 'texts',
      setting: true,
      value: 'NAME',
      describe: 'additional Host header to accept, for proxies',
    },
    values: {
      type: 'text',
      setting: true,
      value: 'FOLDER',
      describe: 'folder for large values of Python calls, which the workers share (default: no large values)',
    },
    ...HEALTH_OPTIONS,
    withParent: DAEMON_OPTIONS.withParent,
  },
  async run(context, options) {
    outliveTerminal();
    const { openGateway } = await import('@goshawk/gateway');
    const { HttpTimes } = await import('@goshawk/transport');
    const { registerLocalGateway, unregisterLocalGateway } = await import('@goshawk/client');
    const { url: where, keys } = await findCluster(context);
    // Reports wrong keys here, rather than on the page.
    await keysFor('client', context);
    const source = keySource(context) ?? keys;
    const given = await readTokens(context, options.tokenFile);
    const own = given.length === 0 && source !== undefined ? [ownToken()] : [];
    // The page is also ready if central does not answer, because it then shows this.
    const times = new HttpTimes();
    await using _health = await healthPort(context, options, source !== undefined, () => [], times);
    const gateway = await openGateway({
      bind: options.listen,
      tokens: [...given, ...own],
      most: options.allow,
      hosts: options.allowHost,
      where,
      values: options.values && resolve(context.cwd, options.values),
      version: VERSION,
      connect: (signal) => connect(where, { keys: source, signal }),
      predict: (await findLaboratory())?.whatIfJob,
      times,
      failed: (error) => context.note(`gateway error: ${(error as Error).stack}`),
    });
    const token = own[0]?.token;
    const local = { cluster: where, url: gateway.url, token, pid: process.pid };
    try {
      if (!options.withParent) {
        // Lets Python programs of this user find it. `goshawk up` registers the one that it starts.
        const problem = problemOf(() => registerLocalGateway(local, context.environment));
        if (problem !== undefined)
          context.note(`Python programs need GOSHAWK_API=${gateway.url} to find it: ${problem}`);
      }
      const endpoint = `${gateway.url}/${own.map(({ token }) => `#token=${token}`).join('')}`;
      const isUp: DaemonIsUp = { schema: 'goshawk.daemon/1', role: 'dashboard', endpoint };
      context.show(isUp, () => endpoint);
      context.note(`serving the dashboard of the cluster at ${where} at ${endpoint}`);
      await Promise.race([whenAborted(context.interrupted), whenOrphaned(options.withParent)]);
    } finally {
      // Open handles must not keep a finished process alive.
      if (options.withParent) process.stdin.destroy();
      if (!options.withParent) unregisterLocalGateway(local, context.environment);
      await gateway.close();
    }
  },
});

/** Returns why a file could not be written. */
function problemOf(write: () => void): string | undefined {
  try {
    write();
    return undefined;
  } catch (error) {
    return fileProblem(error) ?? (error as Error).message;
  }
}

/** Creates a token, so that other users of this machine cannot use the page of a cluster with keys. */
function ownToken(): Token {
  return { role: 'operate', token: randomBytes(24).toString('base64url') };
}

/** Reads the tokens from the file, else from the environment. @throws InputError if they are missing or invalid */
async function readTokens(context: Context, file: string | undefined): Promise<Token[]> {
  const { parseTokens } = await import('@goshawk/gateway');
  const text = context.environment.GOSHAWK_DASHBOARD_TOKENS;
  if (file === undefined)
    return text === undefined || text === '' ? [] : parseTokens(text, 'GOSHAWK_DASHBOARD_TOKENS');
  const path = resolve(context.cwd, file);
  return parseTokens(await readSecret(context, path, '--token-file'), path);
}
