import type { JobDetail } from '@goshawk/core';
import { type Painter, painter, plain } from '../terminal/paint.js';
import { failureLines, measures, outcomeLine, remedyLines } from './words.js';

/** How an ended job came out, where its time went, and what to do after a failure. */
export function outcomeText(job: JobDetail, isColored: boolean): string {
  const paint = painter({ color: isColored });
  const reason = job.cancelReason === undefined ? [] : [plain(job.cancelReason)];
  const details = [...reason, ...failureLines(job), ...measureLines(job, paint), ...remedyLines(job)];
  return [outcomeLine(job, paint), ...details.map((line) => `  ${line}`)].join('\n');
}

function measureLines(job: JobDetail, paint: Painter): string[] {
  const lines = measures(job);
  const width = Math.max(0, ...lines.map(([label]) => label.length));
  return lines.map(([label, value]) => `${paint.dim(label.padEnd(width))}  ${value}`);
}
