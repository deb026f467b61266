// The hash space of a table as a strip: one segment for each partition, coloured by its heat. The
// same picture everywhere stands for "where in the table".

// 0 to 10: the step of the ramp for a part of a partition's maximum.
export const heatStep = (heat: number): number =>
  heat <= 0 ? 0 : Math.max(1, Math.min(10, Math.ceil(heat * 10)));

export interface StripProps {
  // Begin (0 to 1) and heat of each partition.
  parts: readonly (readonly [number, number])[];
  // A place in the strip to mark, 0 to 1.
  mark?: number | null;
  label: string;
}

export function Strip({ parts, mark, label }: StripProps) {
  return (
    <svg
      class="strip"
      viewBox="0 0 1000 10"
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {parts.map(([begin, heat], i) => {
        const end = parts[i + 1]?.[0] ?? 1;
        const width = Math.max(0.5, (end - begin) * 1000 - (i + 1 < parts.length ? 3 : 0));
        return (
          <rect
            key={begin}
            class={`h${heatStep(heat)}`}
            x={begin * 1000}
            y="0"
            width={width}
            height="10"
          />
        );
      })}
      {mark !== undefined && mark !== null && (
        <rect class="mark" x={mark * 1000 - 2} y="0" width="4" height="10" />
      )}
    </svg>
  );
}

export const kSpace = 2 ** 64;

// A hash of 16 hexadecimal digits as a part of the hash space, 0 to 1.
export const placeOfHash = (hash: string): number => Number(BigInt(`0x${hash}`)) / kSpace;
