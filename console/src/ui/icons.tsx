// Icons of 16 by 16, drawn with lines. They say nothing by themselves: each stands beside a word or
// in a control with a label.

const kPaths = {
  overview: 'M2 9.5h3.5V14H2zM6.3 2h3.5v12H6.3zM10.5 6H14v8h-3.5z',
  tables: 'M2 3h12v10H2zM2 6.5h12M2 9.8h12M6 6.5V13',
  partiql: 'M5.5 4 2 8l3.5 4M10.5 4 14 8l-3.5 4M9 2.5 7 13.5',
  requests: 'M2 4h8M2 8h12M2 12h6M12 2.5 14 4l-2 1.5',
  metrics: 'M2 13h12M3 10.5l3-4 3 2.5 4-6',
  design: 'M3 13l1-3.5L11 2.5l2.5 2.5-7 7zM9.3 4.2l2.5 2.5',
  faults: 'M8.7 1.8 3.5 9H8l-.8 5.2L12.5 7H8z',
  cluster:
    'M8 2v4M8 10l-4.5 2.5M8 10l4.5 2.5M6.4 6h3.2v4H6.4zM2 11h3v3H2zM11 11h3v3h-3zM6.5 1h3v1.6h-3z',
  settings: 'M2 4.5h7M12 4.5h2M2 11.5h2M7 11.5h7M10.5 3v3M5.5 10v3',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.6 10.6 14 14',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  close: 'M4 4l8 8M12 4l-8 8',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  down: 'M4 6l4 4 4-4',
  up: 'M4 10l4-4 4 4',
  right: 'M6 4l4 4-4 4',
  left: 'M10 4L6 8l4 4',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  code: 'M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5',
  pause: 'M5.5 3v10M10.5 3v10',
  play: 'M5 3l8 5-8 5z',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z',
  auto: 'M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12',
  star: 'M8 2l1.8 3.9 4.2.5-3.1 2.9.8 4.2L8 11.4l-3.7 2.1.8-4.2L2 6.4l4.2-.5z',
  trash: 'M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9M7 7v4M9 7v4',
  download: 'M8 2v8M5 7.5 8 10.5l3-3M2.5 13h11',
  backup: 'M2 3h12v3H2zM3 6v7.5h10V6M6 9h4',
  advice:
    'M6 12.5h4M6.5 14.5h3M5.8 10.5C4.5 9.6 3.8 8.3 3.8 6.7a4.2 4.2 0 0 1 8.4 0c0 1.6-.7 2.9-2 3.8v.5H5.8z',
  upload: 'M8 10.5v-8M5 5.5 8 2.5l3 3M2.5 13h11',
  edit: 'M3 13l.8-3L11 2.8 13.2 5 6 12.2z',
  log: 'M3 3h10v10H3zM5.5 6h5M5.5 8.5h5M5.5 11h3',
  warn: 'M8 2.5 14.5 13.5h-13zM8 6.5v3.5M8 11.8h.01',
  check: 'M3 8.5l3.5 3.5L13 4.5',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.5V8l2.5 1.5',
  filter: 'M2 3.5h12L9.5 8.5V13l-3-1.5v-3z',
  pin: 'M5 2.5h6M6 2.5v4L4 9h8l-2-2.5v-4M8 9v5',
  refresh: 'M13 8a5 5 0 1 1-1.5-3.5M13 2v3h-3',
  link: 'M6.5 9.5l3-3M7 5l1.8-1.8a2.6 2.6 0 0 1 3.9 3.7L11 8.7M9 11l-1.8 1.8a2.6 2.6 0 0 1-3.9-3.7L5 7.3',
  heat: 'M2 3h3v3H2zM6.5 3h3v3h-3zM11 3h3v3h-3zM2 7.5h3v3H2zM6.5 7.5h3v3h-3zM11 7.5h3v3h-3zM2 12h3v2H2zM6.5 12h3v2h-3zM11 12h3v2h-3z',
  stop: 'M4 4h8v8H4z',
  user: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14c.4-3 2.5-4.5 5.5-4.5s5.1 1.5 5.5 4.5',
  out: 'M9 2.5H3v11h6M6.5 8H14M11.5 5.5 14 8l-2.5 2.5',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
} as const;

export type IconName = keyof typeof kPaths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={kPaths[name]} />
    </svg>
  );
}

// A stator seen from the front: a ring with teeth.
export function Logo() {
  const teeth = Array.from({ length: 8 }, (_, i) => (
    <path key={i} d="M12 6.6V9.4" transform={`rotate(${i * 45} 12 12)`} />
  ));
  return (
    <svg class="logo" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <circle cx="12" cy="12" r="8.6" />
      {teeth}
    </svg>
  );
}
