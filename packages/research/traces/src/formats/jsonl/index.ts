import { jsonExcess, meanOf, present } from '@goshawk/core';
import { quote, quoteJson, WorkloadError } from '../../errors.js';
import type { Jobs, TraceJob } from '../../job.js';
import { JobPacker, type PackedJobs } from '../../packed-jobs.js';
import type { Tally } from '../../tally.js';
import { readLineBatches } from '../files.js';
import type { TraceFormat } from '../trace-format.js';
import { FieldProblem, parseJob } from './parse-job.js';

const JSONL_SCHEMA = 'goshawk.trace/1';
const HEADER = `{"schema":"${JSONL_SCHEMA}"}`;

/** Our format, with every feature of a job. docs/SIMULATE.md lists the fields. */
export const jsonl = {
  name: 'jsonl',
  sample: 'stages.jsonl',
  aJob: `write one job as JSON per line after ${HEADER}`,
  endings: ['.jsonl', '.ndjson'],
  // One JSON object per line; documents that span lines are other formats.
  recognises: (firstLine) => /^\s*\{.*"/.test(firstLine),
  read: readJsonl,
  write: jsonLines,
} as const satisfies TraceFormat;

/**
 * Reads jobs in file order, in batches. Blank lines are skipped, and headers may appear between jobs, so that files
 * can be concatenated.
 *
 * @throws WorkloadError with file and line at the first invalid line
 */
export async function* readJsonl(
  file: string,
  _tally?: Tally,
  signal?: AbortSignal,
): AsyncGenerator<PackedJobs> {
  let line = 0;
  let isHeaded = false;
  const packer = new JobPacker();
  for await (const lines of readLineBatches(file, signal)) {
    for (const text of lines) {
      line++;
      if (text.trim() === '') continue;
      const job = parseLine(text, isHeaded, file, line);
      isHeaded = true;
      if (job !== undefined) packer.add(job);
    }
    yield packer.take();
  }
}

/** Returns the job of a line, or undefined for a header. */
function parseLine(text: string, isHeaded: boolean, file: string, line: number): TraceJob | undefined {
  try {
    const value = parseJson(text);
    const schema = (value as { schema?: unknown } | null)?.schema;
    if (schema === JSONL_SCHEMA) return undefined;
    if (schema !== undefined) {
      throw new FieldProblem(`the schema is ${quoteJson(schema)}`, `expected ${JSONL_SCHEMA}`);
    }
    if (!isHeaded) throw new FieldProblem('the trace has no header', `start it with ${HEADER}`);
    return parseJob(value);
  } catch (cause) {
    if (!(cause instanceof FieldProblem)) throw cause;
    throw new WorkloadError(cause.message, cause.advice, { file, line });
  }
}

/** More than any job has. */
const KEYS_MAX = 100_000;

function parseJson(text: string): unknown {
  const excess = jsonExcess(text, { keysMax: KEYS_MAX });
  if (excess !== undefined)
    throw new FieldProblem(`the line is not a job: ${excess}`, 'write one job per line');
  try {
    return JSON.parse(text);
  } catch {
    throw new FieldProblem(
      `not JSON: ${quote(text.trim())}`,
      'each line must be one complete JSON object: jq -c writes such lines',
    );
  }
}

/** Writes the lines of a file, with line ends. All values read back exactly. */
export async function* jsonLines(jobs: Jobs): AsyncGenerator<string> {
  yield `${HEADER}\n`;
  for await (const job of jobs) yield `${JSON.stringify(written(job))}\n`;
}

function written(job: TraceJob): unknown {
  const { durationsSeconds, meanSeconds, stages, ...rest } = job;
  const isMean = meanSeconds === meanOf(durationsSeconds);
  const head = { ...rest, ...(isMean ? {} : { meanSeconds }) };
  if (stages === undefined) return { ...head, durationsSeconds: Array.from(durationsSeconds) };
  let start = 0;
  const own = stages.map(({ name, after, tasks, demand, require, gang, lend, estimateSeconds }) => {
    const durations = Array.from(durationsSeconds.subarray(start, start + tasks));
    start += tasks;
    return {
      name,
      ...(after.length === 0 ? {} : { after: after.map((place) => stages[place]!.name) }),
      durationsSeconds: durations,
      ...present({ demand, require, gang, lend, estimateSeconds }),
    };
  });
  return { ...head, stages: own };
}
