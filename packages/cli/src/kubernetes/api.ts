import fs from 'node:fs';
import { resolve } from 'node:path';
import type { Context, OptionSpecs, Resolved } from '@goshawk/command';
import {
  decodeText,
  InputError,
  type Millis,
  readRegularFile,
  UnreachableError,
  whyUnread,
} from '@goshawk/core';

export interface ApiOptions {
  /** `https://HOST:PORT` of the API server, with a path if it is below one. */
  readonly api: string;
  /** Token file, read for each request, because Kubernetes rotates it. */
  readonly tokenFile: string;
  /** CA of the server's certificate. */
  readonly caFile: string;
}

/** Location of a pod's service account files. */
export const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Options of every command that uses the Kubernetes API. */
export const API_OPTIONS = {
  api: {
    type: 'text',
    setting: 'kubernetesApi',
    value: 'URL',
    describe: 'address of the API server, https://HOST:PORT (default: from the environment of the pod)',
  },
  tokenFile: {
    type: 'text',
    setting: 'kubernetesTokenFile',
    value: 'FILE',
    default: `${SERVICE_ACCOUNT}/token`,
    describe: 'file with the token for the API server',
  },
  caFile: {
    type: 'text',
    setting: 'kubernetesCaFile',
    value: 'FILE',
    default: `${SERVICE_ACCOUNT}/ca.crt`,
    describe: 'file with the CA certificate of the API server',
  },
} as const satisfies OptionSpecs;

const REQUEST_TIMEOUT_MS: Millis = 10_000;
/** Maximum size of a response. Kubernetes supports 5,000 nodes, and a cordoned node takes about 10 KB. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** @throws InputError outside of a pod without an address */
export function apiOptions(
  { environment, cwd }: Context,
  options: Resolved<typeof API_OPTIONS>,
  command: string,
): ApiOptions {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment;
  const ofPod = host && port ? `https://${host.includes(':') ? `[${host}]` : host}:${port}` : undefined;
  const api = options.api ?? ofPod;
  if (api === undefined) {
    throw new InputError(
      'no-kubernetes',
      `${command}: not running in a Kubernetes pod`,
      'pass --api https://HOST:PORT, --token-file and --ca-file',
    );
  }
  return { api, tokenFile: resolve(cwd, options.tokenFile), caFile: resolve(cwd, options.caFile) };
}

/**
 * Sends a request to the API server, with the token of the pod.
 *
 * @param patch changes as a JSON merge patch; the request only reads without it
 * @throws UnreachableError if the server does not respond; InputError without a token
 */
export function askApi(
  path: string,
  { api, tokenFile, caFile }: ApiOptions,
  signal: AbortSignal,
  patch?: unknown,
): Promise<{ status: number; body: string }> {
  // The server may be below a path, as with Rancher.
  const url = new URL(api.replace(/\/+$/, '') + path);
  // Modules are loaded here because an import of node:http makes Node.js load undici, which costs other
  // commands memory.
  const { request: requestHttp } = process.getBuiltinModule('node:http');
  const { request: requestHttps } = process.getBuiltinModule('node:https');
  const options = {
    method: patch === undefined ? 'GET' : 'PATCH',
    headers: {
      authorization: `Bearer ${readOrFail(tokenFile)}`,
      accept: 'application/json',
      ...(patch === undefined ? {} : { 'content-type': 'application/merge-patch+json' }),
    },
    signal,
    timeout: REQUEST_TIMEOUT_MS,
  };
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      if (signal.aborted) return reject(signal.reason);
      reject(
        new UnreachableError('kubernetes', `no answer from ${url.origin}: ${error.message}`, '', {
          cause: error,
        }),
      );
    };
    const request =
      url.protocol === 'https:'
        ? requestHttps(url, { ...options, ca: readOrFail(caFile) })
        : requestHttp(url, options);
    request.on('timeout', () => request.destroy(new Error(`no data for ${REQUEST_TIMEOUT_MS / 1_000} s`)));
    request.on('error', fail);
    request.on('response', (response) => {
      let body = '';
      response.setEncoding('utf8').on('error', fail);
      response.on('data', (chunk: string) => {
        body += chunk;
        if (body.length > ANSWER_BYTES_MAX) request.destroy(new Error('its response is incomplete'));
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    request.end(patch === undefined ? undefined : JSON.stringify(patch));
  });
}

/**
 * @param what the expected content, for the error
 * @throws UnreachableError if the response has another form
 */
export function readAnswer<T>(
  { api }: ApiOptions,
  body: string,
  what: string,
  read: (answer: unknown) => T,
): T {
  try {
    return read(JSON.parse(body));
  } catch (cause) {
    const message = `${api} returned something other than ${what}`;
    throw new UnreachableError('kubernetes', message, '', { cause });
  }
}

function readOrFail(path: string): string {
  try {
    return decodeText(readRegularFile(fs, path), path).trim();
  } catch (error) {
    throw new InputError(
      'bad-service-account',
      `cannot read ${path}: ${whyUnread(error)}`,
      'run it in a pod with a service account, or pass --api, --token-file and --ca-file',
      { cause: error },
    );
  }
}
