// Numbers, sizes and times as people read them.

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

// 12,345
export const count = (n: number): string => whole.format(n);
// 12.3K above a hundred thousand
export const compact = (n: number): string => (Math.abs(n) < 100_000 ? whole : short).format(n);

// A rate or a number of units: as many digits as matter.
export function amount(n: number): string {
  if (n === 0) return '0';
  const size = Math.abs(n);
  if (size >= 100_000) return short.format(n);
  if (size >= 100) return whole.format(n);
  if (size >= 10) return n.toFixed(1).replace(/\.0$/, '');
  if (size >= 0.01) return n.toFixed(2).replace(/\.?0+$/, '');
  return '<0.01';
}

// 1 write unit/s, 1,822 write units/s
export function unitRate(n: number, kind: 'read' | 'write' | '' = ''): string {
  const text = amount(n);
  return `${text} ${kind === '' ? '' : `${kind} `}${text === '1' ? 'unit' : 'units'}/s`;
}

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  const units = ['KB', 'MB', 'GB', 'TB'];
  let value = n;
  let unit = '';
  for (const next of units) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return `${value >= 100 ? value.toFixed(0) : value.toFixed(1).replace(/\.0$/, '')} ${unit}`;
}

export function percent(part: number): string {
  if (part === 0) return '0%';
  if (part < 0.001) return '<0.1%';
  return part < 0.1
    ? `${(part * 100).toFixed(1).replace(/\.0$/, '')}%`
    : `${Math.round(part * 100)}%`;
}

export function milliseconds(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

export function duration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min${s < 600 && s % 60 ? ` ${s % 60} s` : ''}`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
}

// How long ago, or how soon: "3 min ago", "in 2 h".
export function relative(at: number, now: number): string {
  const seconds = (at - now) / 1000;
  if (Math.abs(seconds) < 2) return 'now';
  const text = duration(Math.abs(seconds));
  return seconds < 0 ? `${text} ago` : `in ${text}`;
}

const two = (n: number): string => String(n).padStart(2, '0');

// Times are UTC, as the server's own: 2026-11-25 14:02:09
export function dateTime(ms: number): string {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return '–';
  return `${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())} ${clock(ms)}`;
}

// 2026-11-25, of a time as text; empty: there is none.
export const day = (time: string): string => time.slice(0, 10);

// 14:02:09
export function clock(ms: number): string {
  const date = new Date(ms);
  return `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`;
}

export const plural = (n: number, one: string, many = `${one}s`): string =>
  `${count(n)} ${n === 1 ? one : many}`;
