import { UnreachableError } from '@goshawk/core';
import { type ApiOptions, askApi, readAnswer } from './api.js';

/** Served from the API server's cache. */
const CORDONED = '/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue&resourceVersion=0';

/**
 * The names of the nodes that are cordoned, as every node is that `kubectl drain` drains.
 *
 * @throws UnreachableError when the API server does not answer as it should; InputError without a token
 */
export async function cordonedNodes(options: ApiOptions, signal: AbortSignal): Promise<Set<string>> {
  const { status, body } = await askApi(CORDONED, options, signal);
  if (status !== 200) {
    const hint = status === 403 ? 'allow its service account to list nodes' : '';
    throw new UnreachableError(
      'kubernetes',
      `${options.api} returned ${status} to a request for nodes`,
      hint,
    );
  }
  return readAnswer(options, body, 'a list of nodes', (answer) => {
    const { items } = answer as { items: { metadata: { name: string } }[] };
    return new Set(items.map(({ metadata }) => metadata.name));
  });
}
