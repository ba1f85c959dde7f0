import type { Series } from './figure.js';

/** A number of a series as people read it: 0.21, 1.04, 68%, 2,910 s. */
export function format(value: number | undefined, unit: Series['unit']): string {
  if (value === undefined) return '–';
  switch (unit) {
    case 'ratio':
      return ratioText(value);
    case 'share':
      return `${(100 * value).toFixed(needsTenth(Math.abs(value)) ? 1 : 0).replace(/\.0$/, '')}%`;
    case 'tasks':
      return secondsText(value);
    case 'seconds':
      return `${secondsText(value)} s`;
    case 'hours':
      return `${secondsText(value)} h`;
  }
}

/** Close to nothing or to all a tenth of a per cent tells something. */
function needsTenth(share: number): boolean {
  return share > 0 && (share < 0.1 || (share > 0.95 && share < 1));
}

/** Two digits after the point where they tell anything. */
function ratioText(value: number): string {
  if (value !== 0 && Math.abs(value) < 0.095) return value.toPrecision(2);
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

function secondsText(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 3 });
}

/** An improvement that a ratio is: 0.2 is 80%. */
export function improvement(ratio: number): string {
  return format(1 - ratio, 'share');
}
