import { UnreachableError } from '@goshawk/core';
import { type ApiOptions, askApi, readAnswer } from '../kubernetes/api.js';
import type { Member, Pool } from './scaler.js';

/**
 * Pool of the pods of a StatefulSet, scaled by its `scale` subresource. It always removes the last
 * pod, which can be drained first; a Deployment would remove any pod. A worker has the name of its pod.
 */
export class StatefulSetPool implements Pool {
  readonly name: string;
  readonly lastLeavesFirst = true;
  readonly #api: ApiOptions;
  readonly #namespace: string;
  #replicas = 0;
  /** Resource version of the replica count, which others may change between requests. */
  #version: string | undefined;

  constructor(name: string, namespace: string, api: ApiOptions) {
    this.name = name;
    this.#namespace = namespace;
    this.#api = api;
  }

  async members(signal: AbortSignal): Promise<readonly Member[]> {
    await this.#scale(undefined, signal);
    return Array.from({ length: this.#replicas }, (_, index) => this.#member(index));
  }

  async start(count: number, signal: AbortSignal): Promise<readonly Member[]> {
    const from = this.#replicas;
    await this.#scale(from + count, signal);
    return Array.from({ length: count }, (_, index) => this.#member(from + index));
  }

  async end(members: readonly Member[], signal: AbortSignal): Promise<void> {
    await this.#scale(this.#replicas - members.length, signal);
  }

  #member(index: number): Member {
    // A pod drains on SIGTERM, in case its worker joins at this moment.
    return { name: `${this.name}-${index}`, endsUnjoined: true };
  }

  async #scale(replicas: number | undefined, signal: AbortSignal): Promise<void> {
    const path = `/apis/apps/v1/namespaces/${this.#namespace}/statefulsets/${this.name}/scale`;
    const patch =
      replicas === undefined
        ? undefined
        : { metadata: { resourceVersion: this.#version }, spec: { replicas } };
    const { status, body } = await askApi(path, this.#api, signal, patch);
    if (status !== 200) throw this.#refused(status, patch === undefined ? 'read' : 'set');
    readAnswer(this.#api, body, 'a scale', (answer) => {
      const { metadata, spec } = answer as {
        metadata?: { resourceVersion?: string };
        spec: { replicas?: number };
      };
      this.#replicas = spec.replicas ?? 0;
      this.#version = metadata?.resourceVersion;
    });
  }

  #refused(status: number, verb: string): UnreachableError {
    const what = `StatefulSet ${this.name} in the namespace ${this.#namespace}`;
    if (status === 404)
      return new UnreachableError(
        'kubernetes',
        `there is no ${what}`,
        'apply k8s/pools/elastic, or name another with --pool',
      );
    const hints: Readonly<Record<number, string>> = {
      401: 'its token is not valid there',
      403: `allow its service account to get and patch statefulsets/scale of ${this.name}`,
      409: 'it was changed concurrently; the autoscaler will retry',
    };
    return new UnreachableError(
      'kubernetes',
      `${this.#api.api} returned ${status} to a request to ${verb} the replicas of the ${what}`,
      hints[status] ?? '',
    );
  }
}
