import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { Refused } from './errors.js';

/** Files of the page by path; the scripts and the styles are bundled by `scripts/page-bundle.mjs`. */
const FILES = [
  ['/', '../page/index.html'],
  ['/style.css', '../dist/page/style.css'],
  ['/main.js', '../dist/page/main.js'],
  ['/pictures.js', '../dist/page/pictures.js'],
  ['/views.js', '../dist/page/views.js'],
] as const;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/** Serves the page from memory, compressed. Browsers cache the files and revalidate them. */
export function addPage(app: FastifyInstance): void {
  for (const [path, relative] of FILES) {
    const file = fileURLToPath(new URL(relative, import.meta.url));
    if (existsSync(file)) addFile(app, path, TYPES[extname(file)]!, readFileSync(file));
    else
      app.get(path, () => {
        throw new Refused(503, 'not-built', 'the page is not built here', '`npm run build` builds it');
      });
  }
}

/** Serves a file from memory, compressed. */
export function addFile(app: FastifyInstance, path: string, type: string, plain: Buffer): void {
  const packed = gzipSync(plain, { level: 9 });
  const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
  app.get(path, { exposeHeadRoute: true }, async ({ headers }, reply) => {
    reply.headers({ 'cache-control': 'no-cache', etag, vary: 'accept-encoding' }).type(type);
    if (headers['if-none-match'] === etag) return reply.status(304).send();
    if (!/\bgzip\b/.test(headers['accept-encoding'] ?? '')) return reply.send(plain);
    return reply.header('content-encoding', 'gzip').send(packed);
  });
}
