import { InputError, type JobInput, parseJobSpec } from '@goshawk/core';
import type { Sources } from './tasks.js';

/**
 * A job as a file says it, `-` being stdin.
 *
 * @returns what the file says, checked
 * @throws InputError with the file and the field
 */
export async function readJobFile(path: string, sources: Sources): Promise<JobInput> {
  const name = path === '-' ? 'stdin' : path;
  const bytes = await sources.read(path, 'submit');
  const job = parseJson(bytes, name);
  parseJobSpec(job, name);
  return job as JobInput;
}

function parseJson(bytes: Uint8Array, name: string): unknown {
  const text = new TextDecoder('utf-8').decode(bytes);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InputError(
      'bad-job',
      `${name}: not JSON: ${(error as Error).message}`,
      'a job file is such as {"tasks": {"count": 10, "run": {"sleep": 100}}}',
      { cause: error },
    );
  }
}
