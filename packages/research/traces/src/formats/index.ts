import { quote, WorkloadError } from '../errors.js';
import { alibaba2017, alibaba2018 } from './alibaba.js';
import { azure2019 } from './azure2019.js';
import { batsim } from './batsim.js';
import { csv } from './csv.js';
import { dax } from './dax.js';
import { beginningOf, emptyTrace, isFolder, namesIn } from './files.js';
import { google2011 } from './google2011/index.js';
import { google2011Sample } from './google2011/sample.js';
import { google2019 } from './google2019.js';
import { gtraceDag } from './gtrace-dag.js';
import { journal } from './journal.js';
import { jsonl } from './jsonl/index.js';
import { philly } from './philly.js';
import { sacct } from './sacct.js';
import { sls } from './sls.js';
import { swf } from './swf.js';
import { tr } from './tr.js';
import type { TraceFormat, WritableFormat } from './trace-format.js';
import { wfcommons } from './wfcommons.js';

/** All formats by name, for help texts, errors and `trace convert`. */
export const FORMATS = {
  // Before `tr`, whose lines also start with a number.
  swf,
  tr,
  // Before documents that are recognized by a name anywhere in them: a record may have any of these names.
  journal,
  // Before `jsonl`, which accepts anything that starts like a JSON object.
  google2019,
  sls,
  wfcommons,
  batsim,
  philly,
  dax,
  jsonl,
  sacct,
  // Before `google2011` and `csv`, with which they share columns and names.
  alibaba2017,
  alibaba2018,
  azure2019,
  google2011,
  'google2011-sample': google2011Sample,
  'gtrace-dag': gtraceDag,
  csv,
} as const satisfies Readonly<Record<string, TraceFormat>>;

const ALL: readonly TraceFormat[] = Object.values(FORMATS);
const KNOWN = `known formats are ${Object.keys(FORMATS).join(', ')} (docs/SIMULATE.md describes them)`;
/** Formats in which traces can be written. */
const WRITABLE = ALL.filter((format): format is WritableFormat => format.write !== undefined);

/**
 * Detects the format of a file or folder by its contents, never by its name.
 *
 * @throws WorkloadError if it cannot be read, is empty, or has an unknown format
 */
export async function detectFormat(path: string): Promise<TraceFormat> {
  if (await isFolder(path)) return detectFolder(path);
  const first = await beginningOf(path);
  if (first === undefined) throw emptyTrace(path, KNOWN);
  if (isCarriageReturnsOnly(first.head)) {
    throw new WorkloadError(
      'lines end with a carriage return alone, as on an old Mac',
      "convert it first: tr '\\r' '\\n' < FILE",
      { file: path, line: first.line },
    );
  }
  for (const format of ALL) if (format.recognises(first.text, first.head)) return format;
  if (/^\s*[[{]/.test(first.head)) {
    throw new WorkloadError(
      'unknown JSON document',
      `${KNOWN}; in jsonl each line is one job: jq -c writes such lines`,
      { file: path, line: first.line },
    );
  }
  const beginning = first.text.trim();
  // Bytes that are not UTF-8 are decoded to the replacement character.
  const shown = /[\p{Cc}\ufffd]/u.test(beginning.slice(0, 40).replaceAll('\t', ' '))
    ? 'it is not text'
    : `it begins with ${quote(beginning)}`;
  throw new WorkloadError(`not a known trace format: ${shown}`, KNOWN, {
    file: path,
    line: first.line,
  });
}

/** In JSON and XML a carriage return is a blank like any other. */
function isCarriageReturnsOnly(head: string): boolean {
  return /\r[^\n]/.test(head) && !head.includes('\n') && !/^\s*[[{<]/.test(head);
}

async function detectFolder(folder: string): Promise<TraceFormat> {
  const entries = await namesIn(folder);
  const format = ALL.find(({ recognisesFolder }) => recognisesFolder?.(entries));
  if (format !== undefined) return format;
  throw new WorkloadError(
    `this is ${entries.length === 0 ? 'an empty folder' : 'a folder without a known trace'}`,
    'use a trace file, or the folder that contains job_events and task_events of the official Google trace',
    { file: folder },
  );
}

/**
 * The output format for a file: the named one, else by extension.
 *
 * @throws WorkloadError if the format is unknown or read-only, or the extension is unknown
 */
export function formatToWrite(file: string, name?: string): WritableFormat {
  if (name !== undefined) {
    const named = WRITABLE.find((format) => format.name === name);
    if (named !== undefined) return named;
    throw new WorkloadError(
      Object.hasOwn(FORMATS, name) ? `${name} is a read-only format` : `unknown format '${name}'`,
      `writable formats are ${WRITABLE.map((format) => format.name).join(' or ')}`,
    );
  }
  const ending = /(\.[^./\\]+)(\.gz)?$/.exec(file)?.[1]?.toLowerCase() ?? '';
  const format = WRITABLE.find(({ endings }) => endings.includes(ending));
  if (format !== undefined) return format;
  const endings = WRITABLE.flatMap((each) => each.endings);
  throw new WorkloadError(
    'the file name does not identify the format',
    `use a name that ends in ${endings.join(' or ')} (and .gz after it for gzip), or name the format`,
    { file },
  );
}
