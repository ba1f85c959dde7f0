import { type MessageOf, rendezvous } from '@goshawk/core';
import type { Refusal } from './ledger.js';

/**
 * To which scheduler a submission's key belongs: each key to one, by rendezvous hashing over all schedulers, those
 * that are away included. So whichever scheduler a submission is sent to, there is one job.
 */
export class Keys {
  readonly #self: string;
  #owners: MessageOf<'members'>['owners'] = [];
  #version = 0;

  /** @param self the name of this scheduler */
  constructor(self: string) {
    this.#self = self;
  }

  /** Of the list of schedulers that was told last. */
  get version(): number {
    return this.#version;
  }

  told({ owners, ownersVersion }: MessageOf<'members'>): void {
    this.#owners = owners;
    this.#version = ownersVersion;
  }

  /** Why a new job with this key is not taken here; undefined when it is this scheduler's, or nobody knows better. */
  refusal(key: string): Refusal | undefined {
    const owner = rendezvous(key, this.#owners);
    if (owner === undefined || owner.name === this.#self) return undefined;
    return owner.away
      ? {
          code: 'owner-away',
          message: `the key belongs to scheduler ${owner.name}, which is away`,
          hint: 'try again when it is back',
        }
      : {
          code: 'other-scheduler',
          message: `the key belongs to scheduler ${owner.name}`,
          hint: 'submit to that one',
        };
  }
}
