import { type Jobs, openWorkload, unpackedJobs } from '@goshawk/traces';
import type { JobSource } from './request.js';

/** @throws WorkloadError when they have to be read again, and that fails */
export async function jobsOf(source: JobSource): Promise<Jobs> {
  return source.kind === 'packed' ? unpackedJobs(source.packed) : (await openWorkload(source.spec)).jobs();
}
