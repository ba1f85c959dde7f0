import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';

const PAGE = fileURLToPath(new URL('../page/', import.meta.url));
const SCRIPTS = fileURLToPath(new URL('../dist/page/', import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Serves the page from memory, compressed. Browsers cache the files and revalidate them. */
export function addPage(app: FastifyInstance): void {
  const uplot = dirname(createRequire(import.meta.url).resolve('uplot'));
  const scripts = readdirSync(SCRIPTS).filter((name) => /^[^.]+\.js$/.test(name));
  const files: readonly (readonly [path: string, file: string])[] = [
    ['/', join(PAGE, 'index.html')],
    ['/style.css', join(PAGE, 'style.css')],
    ['/icon.svg', join(PAGE, 'icon.svg')],
    ['/uplot.css', join(uplot, 'uPlot.min.css')],
    // The scripts of the page import uPlot from this path.
    ['/script/uplot.js', join(uplot, 'uPlot.esm.js')],
    ...scripts.map((name) => [`/script/${name}`, join(SCRIPTS, name)] as const),
  ];
  for (const [path, file] of files) addFile(app, path, TYPES[extname(file)]!, readFileSync(file));
}

/** Serves a file from memory, compressed. */
export function addFile(app: FastifyInstance, path: string, type: string, plain: Buffer): void {
  const packed = gzipSync(plain);
  const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
  app.get(path, { exposeHeadRoute: true }, async ({ headers }, reply) => {
    reply.headers({ 'cache-control': 'no-cache', etag, vary: 'accept-encoding' }).type(type);
    if (headers['if-none-match'] === etag) return reply.status(304).send();
    if (!/\bgzip\b/.test(headers['accept-encoding'] ?? '')) return reply.send(plain);
    return reply.header('content-encoding', 'gzip').send(packed);
  });
}
