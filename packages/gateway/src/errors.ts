import { GoshawkError, InputError, OutcomeUnknownError, UnreachableError } from '@goshawk/core';

/** A request that the gateway refuses without a request to the cluster. */
export class Refused extends GoshawkError {
  override name = 'Refused';
  readonly status: number;

  constructor(status: number, code: string, message: string, hint = '') {
    super(code, message, hint);
    this.status = status;
  }
}

/** HTTP status by code of input error; other codes have 400. */
const STATUS: Readonly<Record<string, number>> = {
  'unknown-job': 404,
  'forgotten-job': 404,
  'unknown-task': 404,
  'unknown-stage': 404,
  'unknown-worker': 404,
  'key-conflict': 409,
  'not-open': 409,
  'append-conflict': 409,
  'not-ended': 409,
  'has-ended': 409,
  'nothing-failed': 409,
  'missing-inputs': 409,
  'stage-not-completed': 409,
  'job-too-large': 413,
  'over-limit': 403,
};

interface ErrorBody {
  readonly schema: 'goshawk.error/1';
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** Returns the response to a failed request, with the texts that the command uses. */
export function answerTo(error: unknown): { readonly status: number; readonly body: ErrorBody } {
  if (error instanceof GoshawkError) {
    const { code, message, hint } = error;
    return { status: statusOf(error), body: { schema: 'goshawk.error/1', code, message, hint } };
  }
  // Other errors are those of Fastify, such as invalid JSON, and internal errors.
  const { statusCode = 500, message = String(error) } = error as { statusCode?: number; message?: string };
  const isOurs = statusCode >= 500;
  return {
    status: statusCode,
    body: {
      schema: 'goshawk.error/1',
      code: isOurs ? 'internal' : 'bad-request',
      message: isOurs ? 'the gateway failed to handle the request' : message.replaceAll(/\s+/g, ' '),
      hint: isOurs ? 'see its log' : '',
    },
  };
}

function statusOf(error: GoshawkError): number {
  if (error instanceof Refused) return error.status;
  if (error instanceof InputError) return STATUS[error.code] ?? 400;
  if (error instanceof OutcomeUnknownError) return 504;
  if (error instanceof UnreachableError) return 503;
  return 500;
}
