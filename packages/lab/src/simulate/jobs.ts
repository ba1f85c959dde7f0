import { type Jobs, openWorkload, unpackedJobs } from '@goshawk/traces';
import type { JobSource } from './request.js';

/** @throws WorkloadError when they have to be read again, and that fails */
export async function jobsOf(source: JobSource): Promise<Jobs> {
  if (source.kind === 'packed') return unpackedJobs(source.packed);
  const { spec, features } = source;
  return (await openWorkload(spec, { features })).jobs();
}
