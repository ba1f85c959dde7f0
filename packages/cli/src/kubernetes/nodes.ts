import { UnreachableError } from '@goshawk/core';
import { type ApiOptions, askApi, readAnswer } from './api.js';

/** Path of cordoned nodes; resource version 0 lets the API server respond from its cache. */
const CORDONED = '/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue&resourceVersion=0';

/**
 * Returns the names of cordoned nodes, which include those that `kubectl drain` drains.
 *
 * @throws UnreachableError if the API server does not respond properly; InputError without a token
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
