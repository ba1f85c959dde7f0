import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';

/** Provides a mock Kubernetes API server for each test of a file, with a pod's service account files. */
export function kubernetesApi() {
  let server: Server | undefined;
  const api = {
    folder: '',
    close: () => server?.close(),
    async serve(listener: RequestListener) {
      server = createServer(listener).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const file = (name: string): string => join(api.folder, name);
      return { api: `http://127.0.0.1:${port}`, tokenFile: file('token'), caFile: file('ca.crt') };
    },
  };
  beforeEach(() => {
    api.folder = mkdtempSync(join(tmpdir(), 'goshawk-kubernetes-'));
    writeFileSync(join(api.folder, 'token'), 'secret\n');
  });
  afterEach(() => {
    api.close();
    rmSync(api.folder, { recursive: true, force: true });
  });
  return api;
}
