import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Link } from './link.js';
import { isPostgresThere, PostgresServer } from './postgres-server.fixture.js';
import { parseJournalUrl } from './url.js';

const folder = mkdtempSync(join(tmpdir(), 'goshawk-tls-'));
let server: PostgresServer;

/** Creates NAME.crt and NAME.key with `openssl req`. */
function certificate(name: string, ...more: string[]): void {
  const files = ['-keyout', `${name}.key`, '-out', `${name}.crt`, '-days', '2', '-subj', `/CN=${name}`];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  execFileSync('openssl', ['req', '-x509', ...kind, ...files, ...more], { cwd: folder, stdio: 'pipe' });
}

const signedBy = (ca: string) => ['-CA', `${ca}.crt`, '-CAkey', `${ca}.key`];
const pem = (file: string): string => readFileSync(join(folder, file), 'utf8');
const path = (file: string): string => join(folder, file);

/** @returns whether the server reports an encrypted connection, and the name on the client's certificate */
async function connection(
  query: string,
  database = 'postgres',
): Promise<{ ssl: boolean; name: string | null }> {
  const link = new Link(parseJournalUrl(`${server.url(database)}?${query}`), 'test');
  try {
    await link.open();
    const [row] = await link.ask<{ ssl: boolean; name: string | null }>(
      'select ssl, client_dn as name from pg_stat_ssl where pid = pg_backend_pid()',
    );
    return row!;
  } finally {
    await link.close();
  }
}

describe.runIf(isPostgresThere())('PostgreSQL that encrypts', () => {
  beforeAll(async () => {
    certificate('ours');
    certificate('theirs');
    certificate('client', ...signedBy('ours'));
    certificate('stranger', ...signedBy('theirs'));
    certificate('server', ...signedBy('ours'), '-addext', 'subjectAltName=IP:127.0.0.1');
    server = await PostgresServer.start({
      settings: { fsync: 'off' },
      tls: { cert: pem('server.crt'), key: pem('server.key'), ca: pem('ours.crt') },
      access: [
        'hostssl guarded all 127.0.0.1/32 trust clientcert=verify-ca',
        'host guarded all all reject',
        'hostssl encrypted all 127.0.0.1/32 trust',
        'host encrypted all all reject',
      ],
    });
    for (const name of ['guarded', 'encrypted']) await server.createDatabase(name);
  });
  afterAll(async () => {
    await server?.remove();
    rmSync(folder, { recursive: true });
  });

  test('is identified by its certificate', async () => {
    const ours = `sslrootcert=${path('ours.crt')}`;
    for (const mode of ['require', 'verify-ca', 'verify-full'])
      expect(await connection(`sslmode=${mode}&${ours}`, 'encrypted')).toEqual({ ssl: true, name: null });
    expect(await connection('sslmode=disable')).toMatchObject({ ssl: false });
  });

  test.each(['verify-ca', 'verify-full'])(
    'is refused by %s if another authority has signed the certificate',
    async (mode) => {
      await expect(connection(`sslmode=${mode}&sslrootcert=${path('theirs.crt')}`)).rejects.toMatchObject({
        code: 'journal-unreachable',
        message: expect.stringMatching(/cannot use .*certificate/),
      });
      // A certificate authority that is not in the system's list.
      await expect(connection(`sslmode=${mode}`)).rejects.toMatchObject({ code: 'journal-unreachable' });
    },
  );

  test('is refused by verify-full, but not by verify-ca, if the certificate is for another host', async () => {
    const elsewhere = `sslrootcert=${path('ours.crt')}&host=localhost&port=${server.port}`;
    await expect(connection(`sslmode=verify-full&${elsewhere}`)).rejects.toMatchObject({
      code: 'journal-unreachable',
      message: expect.stringMatching(/localhost/),
    });
    expect(await connection(`sslmode=verify-ca&${elsewhere}`)).toMatchObject({ ssl: true });
  });

  test('refuses clients without encryption or without a required certificate', async () => {
    const refused = { code: 'journal-unreachable' };
    await expect(connection('sslmode=disable', 'encrypted')).rejects.toMatchObject(refused);
    const ours = `sslmode=verify-full&sslrootcert=${path('ours.crt')}`;
    await expect(connection(ours, 'guarded')).rejects.toMatchObject(refused);
    const as = (who: string) => `${ours}&sslcert=${path(`${who}.crt`)}&sslkey=${path(`${who}.key`)}`;
    await expect(connection(as('stranger'), 'guarded')).rejects.toMatchObject(refused);
    expect(await connection(as('client'), 'guarded')).toEqual({ ssl: true, name: '/CN=client' });
  });

  test('is asked for encryption even if it does not require it', async () => {
    const plain = await PostgresServer.start({ settings: { fsync: 'off' } });
    try {
      const link = new Link(parseJournalUrl(`${plain.url()}?sslmode=require`), 'test');
      await expect(link.open()).rejects.toThrow(/does not support SSL/);
      await link.close();
    } finally {
      await plain.remove();
    }
  });
});
