import type { FastifyReply, FastifyRequest } from 'fastify';

/** A file as an answer, from its first byte on. */
export interface FileAnswer {
  readonly bytes: Uint8Array;
  /** Name under which a browser saves it. */
  readonly name: string;
  /** Whether a part of it is missing; null: none. The reason is in the header `Goshawk-Missing`. */
  readonly missing: string | null;
}

/** Sends a file, or the range of it that the request asks for (RFC 9110, section 14; one range). */
export function sendFile(request: FastifyRequest, reply: FastifyReply, file: FileAnswer): FastifyReply {
  const { bytes, name, missing } = file;
  reply.header('accept-ranges', 'bytes').type('text/plain; charset=utf-8');
  reply.header('content-disposition', `attachment; filename="${name.replaceAll(/[^\w.-]/g, '_')}"`);
  // Header values are Latin-1.
  if (missing !== null) reply.header('goshawk-missing', missing.replaceAll(/[^\x20-\x7e]/g, '?'));
  const range = rangeOf(request.headers.range, bytes.length);
  if (range === undefined) return reply.send(Buffer.from(bytes));
  if (range === 'outside')
    return reply.status(416).header('content-range', `bytes */${bytes.length}`).send(Buffer.alloc(0));
  const { from, to } = range;
  reply.status(206).header('content-range', `bytes ${from}-${to}/${bytes.length}`);
  return reply.send(Buffer.from(bytes.subarray(from, to + 1)));
}

/**
 * Returns the first and last byte of a range; undefined: all of the file, also for what is not a single range of bytes, which
 * servers may ignore.
 */
export function rangeOf(
  header: string | undefined,
  length: number,
): { readonly from: number; readonly to: number } | 'outside' | undefined {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first === '') {
    const from = Math.max(0, length - Number(last));
    return from < length ? { from, to: length - 1 } : 'outside';
  }
  if (last !== '' && Number(last) < Number(first)) return undefined;
  const from = Number(first);
  if (from >= length) return 'outside';
  return { from, to: last === '' ? length - 1 : Math.min(length - 1, Number(last)) };
}
