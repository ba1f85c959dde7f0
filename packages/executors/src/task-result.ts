import { LIMITS } from '@goshawk/core';
import { failed, type Outcome } from './contract.js';
import type { Report } from './spawner-protocol.js';

/** The file that a command wrote to `GOSHAWK_RESULT`. */
export interface TaskResult {
  readonly size: number;
  /** Undefined if it is larger than `LIMITS.resultBytesMax`. */
  readonly content?: Uint8Array | undefined;
}

/** Maximum size of the report of a command in a sandbox: an empty line and the result. */
export const RESULT_REPORT_BYTES_MAX = LIMITS.resultBytesMax + 1;

/** Completes the outcome of a command in a sandbox with its report. */
export function withReport(outcome: Outcome, report: Report | undefined): Outcome {
  return withResult(outcome, () => {
    if (report === undefined) return undefined;
    const content = report.content === undefined ? undefined : Buffer.from(report.content, 'base64');
    return { size: report.size - 1, content: content?.subarray(1) };
  });
}

/**
 * Completes the outcome of a command with its result: the value, or `{"error": "why", "value": …}` for a failed command.
 *
 * @param read returns undefined if there is no result, and throws if it is unusable
 */
export function withResult(outcome: Outcome, read: () => TaskResult | undefined): Outcome {
  if (outcome.kind === 'killed') return outcome;
  try {
    const result = read();
    return result === undefined ? outcome : completed(outcome, result);
  } catch (error) {
    if (outcome.kind === 'failed') return outcome;
    const message = `the command left no JSON in GOSHAWK_RESULT: ${(error as Error).message}`;
    return failed('result-not-serialisable', message);
  }
}

/** @throws Error if the result is not JSON */
function completed(outcome: Exclude<Outcome, { kind: 'killed' }>, { size, content }: TaskResult): Outcome {
  const isFailed = outcome.kind === 'failed';
  if (content === undefined) {
    if (isFailed) return outcome;
    const message = `the value takes ${size} bytes as JSON, more than ${LIMITS.resultBytesMax}: write it to a file and return its path`;
    return failed('result-too-large', message);
  }
  const value = JSON.parse(utf8Of(content)) as unknown;
  if (!isFailed) return { ...outcome, value };
  const { error, value: reported } = (value ?? {}) as { readonly error?: unknown; readonly value?: unknown };
  const explains = outcome.error.code === 'exit-code' && typeof error === 'string' && error !== '';
  return explains ? { ...outcome, error: { code: 'exit-code', message: error }, value: reported } : outcome;
}

/** Decodes UTF-8, with or without a byte order mark. @throws Error for other bytes */
function utf8Of(bytes: Uint8Array): string {
  try {
    return UTF_8.decode(bytes);
  } catch {
    throw new Error('it is not valid UTF-8');
  }
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true });
