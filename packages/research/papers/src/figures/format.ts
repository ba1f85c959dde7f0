import type { Series } from './figure.js';

/** Formats a number of a series: 0.21, 1.04, 68%, 2,910 s. */
export function format(value: number | undefined, unit: Series['unit']): string {
  if (value === undefined) return '–';
  switch (unit) {
    case 'ratio':
    case 'index':
      return ratioText(value);
    case 'share':
      return `${(100 * value).toLocaleString('en-US', { maximumFractionDigits: needsTenth(Math.abs(value)) ? 1 : 0 })}%`;
    case 'tasks':
      return secondsText(value);
    case 'seconds':
      return `${secondsText(value)} s`;
    case 'hours':
      return `${secondsText(value)} h`;
  }
}

/** Whether to show a tenth of a percent, which matters near 0 and 100%. */
function needsTenth(share: number): boolean {
  return share > 0 && (share < 0.1 || (share > 0.95 && share < 1));
}

/** Formats a ratio with two significant digits below 0.1, else with fewer decimals the larger it is. */
function ratioText(value: number): string {
  if (value !== 0 && Math.abs(value) < 0.095) return value.toPrecision(2);
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

function secondsText(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 3 });
}

/** Formats a ratio as an improvement: 0.2 is 80%. */
export function improvement(ratio: number): string {
  return format(1 - ratio, 'share');
}
