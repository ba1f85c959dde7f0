/**
 * Returns violations of the Trace Event Format ("JSON Object Format"): fields and types by phase, overlapping
 * complete events in a row, and unpaired asynchronous events.
 */
export function brokenRules(file: unknown): string[] {
  const broken: string[] = [];
  const { traceEvents, displayTimeUnit } = (file ?? {}) as {
    traceEvents?: unknown;
    displayTimeUnit?: unknown;
  };
  if (!Array.isArray(traceEvents)) return ['traceEvents is not a list'];
  if (!['ms', 'ns'].includes(displayTimeUnit as string)) broken.push(`displayTimeUnit: ${displayTimeUnit}`);
  const open = new Map<string, number>();
  const rows = new Map<string, { ts: number; end: number }[]>();
  for (const [index, event] of (traceEvents as Record<string, unknown>[]).entries()) {
    const { ph, name, cat, id2, ts, dur, pid, tid, args } = event;
    const wrong = (what: string): void => void broken.push(`event ${index} (${ph}): ${what}`);
    const isTime = (at: unknown): at is number => typeof at === 'number' && Number.isFinite(at) && at >= 0;
    if (typeof name !== 'string' || name === '') wrong('name');
    if (!Number.isInteger(pid) || !Number.isInteger(tid)) wrong('pid or tid');
    if (typeof args !== 'object' || args === null) wrong('args');
    if (ph === 'M') {
      const { name: said, sort_index: place } = args as Record<string, unknown>;
      if (name !== 'process_sort_index' ? typeof said !== 'string' : !Number.isInteger(place))
        wrong('metadata');
      continue;
    }
    if (!isTime(ts)) {
      wrong('ts');
      continue;
    }
    if (typeof cat !== 'string' || cat === '') wrong('cat');
    if (ph === 'X') {
      if (tid === 0 || tid === pid) wrong('tid, which is that of the process in Perfetto');
      if (!isTime(dur)) {
        wrong('dur');
        continue;
      }
      const row = rows.get(`${pid}/${tid}`) ?? [];
      rows.set(`${pid}/${tid}`, row);
      row.push({ ts, end: ts + dur });
    } else if (ph === 'b' || ph === 'e') {
      const id = (id2 as { local?: unknown } | undefined)?.local;
      if (typeof id !== 'string') wrong('id2');
      const key = `${pid} ${cat} ${id}`;
      const began = open.get(key);
      if (ph === 'b' && began !== undefined) wrong('begun twice');
      if (ph === 'e' && !(began !== undefined && began <= ts)) wrong('ended before it began');
      if (ph === 'b') open.set(key, ts);
      else open.delete(key);
    } else wrong('no phase that is known here');
  }
  for (const key of open.keys()) broken.push(`${key} never ends`);
  for (const [row, events] of rows) {
    events.sort((one, other) => one.ts - other.ts || one.end - other.end);
    for (let i = 1; i < events.length; i++)
      if (events[i]!.ts < events[i - 1]!.end) broken.push(`row ${row}: ${events[i]!.ts} overlaps`);
  }
  return broken;
}
