import { readFileSync } from 'node:fs';
import { InputError, type Millis, UnreachableError } from '@goshawk/core';

export interface NodesOptions {
  /** `https://HOST:PORT` of the API server. */
  readonly api: string;
  /** Read for each question: Kubernetes replaces it now and then. */
  readonly tokenFile: string;
  /** Who has signed the server's certificate. */
  readonly caFile: string;
}

const PATIENCE_MS: Millis = 10_000;
/** Kubernetes has clusters of 5,000 nodes; one cordoned node takes some 10 KB. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** What the API server has in memory serves. */
const CORDONED = '/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue&resourceVersion=0';

/**
 * The names of the nodes that are cordoned, as every node is that `kubectl drain` drains.
 *
 * @throws UnreachableError when the API server does not answer as it should; InputError without a token
 */
export async function cordonedNodes(options: NodesOptions, signal: AbortSignal): Promise<Set<string>> {
  const { status, body } = await get(new URL(CORDONED, options.api), options, signal);
  if (status !== 200) {
    const hint = status === 403 ? 'its service account has to be allowed to list nodes' : '';
    throw new UnreachableError('kubernetes', `${options.api} answers ${status} when asked for nodes`, hint);
  }
  try {
    const { items } = JSON.parse(body) as { items: { metadata: { name: string } }[] };
    return new Set(items.map(({ metadata }) => metadata.name));
  } catch (error) {
    throw new UnreachableError(
      'kubernetes',
      `${options.api} answers with something other than a list of nodes`,
      '',
      {
        cause: error,
      },
    );
  }
}

function get(
  url: URL,
  { tokenFile, caFile }: NodesOptions,
  signal: AbortSignal,
): Promise<{ status: number; body: string }> {
  const isSecure = url.protocol === 'https:';
  // Nobody else's memory has to hold them: an import of node:http makes Node load undici.
  const { request: requestHttp } = process.getBuiltinModule('node:http');
  const { request: requestHttps } = process.getBuiltinModule('node:https');
  const headers = { authorization: `Bearer ${readOrFail(tokenFile)}`, accept: 'application/json' };
  const options = { headers, signal, timeout: PATIENCE_MS };
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      if (signal.aborted) return reject(signal.reason);
      reject(
        new UnreachableError('kubernetes', `no answer from ${url.origin}: ${error.message}`, '', {
          cause: error,
        }),
      );
    };
    const request = isSecure
      ? requestHttps(url, { ...options, ca: readOrFail(caFile) })
      : requestHttp(url, options);
    request.on('timeout', () => request.destroy(new Error(`it is silent for ${PATIENCE_MS / 1_000} s`)));
    request.on('error', fail);
    request.on('response', (response) => {
      let body = '';
      response.setEncoding('utf8').on('error', fail);
      response.on('data', (chunk: string) => {
        body += chunk;
        if (body.length > ANSWER_BYTES_MAX) request.destroy(new Error('its answer does not end'));
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    request.end();
  });
}

function readOrFail(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new InputError(
      'bad-service-account',
      `cannot read ${path}: ${(error as Error).message}`,
      'run it in a pod with a service account, or give --api, --token-file and --ca-file',
      { cause: error },
    );
  }
}
