import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isPostgresThere } from '@goshawk/journal/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type IncidentResult, play } from './play.js';
import { isPrometheusThere } from './prometheus.js';
import { IncidentCluster } from './site.js';
import { INCIDENTS } from './table.js';

const CHOSEN = INCIDENTS.filter(
  ({ isTested, needs }) => isTested && (needs !== 'postgres' || isPostgresThere()),
).map(({ name }) => name);

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-incidents-'));
});
afterAll(async () => {
  await Promise.allSettled(started);
  rmSync(folder, { recursive: true, force: true });
});

const started: Promise<IncidentResult>[] = [];

/** Incidents mostly wait for leases and alerts, so they run in parallel. */
let plays: Map<string, Promise<IncidentResult>> | undefined;

function playedOnce(name: string): Promise<IncidentResult> {
  plays ??= new Map(CHOSEN.map((each) => [each, start(each)]));
  // A retry runs alone.
  const played = plays.get(name) ?? start(name);
  plays.delete(name);
  return played;
}

function start(name: string): Promise<IncidentResult> {
  const played = playAt(name);
  started.push(played);
  played.catch(() => {});
  return played;
}

async function playAt(name: string): Promise<IncidentResult> {
  const incident = INCIDENTS.find((each) => each.name === name)!;
  const site = await IncidentCluster.create(mkdtempSync(join(folder, `${name}-`)));
  try {
    return await play(incident, site);
  } finally {
    await site.stop();
  }
}

test.runIf(isPrometheusThere()).each(CHOSEN)(
  'incident %s: alert, log, events, readyz and commands tell it, and no longer once the runbook is carried out',
  async (name) => {
    expect(await playedOnce(name)).toMatchObject({
      missing: [],
      noticedMs: expect.any(Number),
      endMs: expect.any(Number),
    });
  },
);

test('every incident has a runbook entry with the command that ends it', () => {
  const text = readFileSync(new URL('../../../docs/MONITORING.md', import.meta.url), 'utf8');
  for (const { name, alert, runbook } of INCIDENTS) {
    const entry = text.split(/^### /m).find((section) => section.startsWith(`${alert}\n`));
    expect(entry, name).toContain(runbook);
  }
});
