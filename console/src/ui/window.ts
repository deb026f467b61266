// Windowed lists: only the rows that are seen are in the document. Rows have one height. Browsers
// end at about 17 million pixels, so a longer list is laid out in blocks that follow the scroll.
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface Window {
  // Pixels that the rows together take, within the block.
  height: number;
  // The rows to draw, and where the first of them stands.
  first: number;
  last: number; // exclusive
  offset: number;
  // The row at the top of the view.
  top: number;
  scrollTo: (row: number) => void;
}

// Rows of one block: 2.8 million pixels at 28 each.
export const kBlock = 100_000;
const kOverscan = 6;

export function useWindow(
  scroller: RefObject<HTMLElement | null>,
  rows: number,
  rowHeight: number,
  // Pixels above the first row inside the scroller: a sticky head.
  above = 0,
): Window {
  const [, redraw] = useState(0);
  const state = useRef({ block: 0, scrollTop: 0, view: 600 });
  const here = state.current;
  here.block = Math.max(0, Math.min(here.block, Math.max(0, rows - kBlock)));

  const look = useRef(() => {});

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const read = () => {
      let { scrollTop } = element;
      const row = Math.floor(scrollTop / rowHeight);
      // Near an edge of the block the block moves by half of itself, and the scroll with it, so
      // that the same rows stay where they are seen.
      const total = rowsRef.current;
      const half = kBlock / 2;
      let moved = 0;
      if (row > kBlock * 0.8 && here.block + kBlock < total)
        moved = Math.min(half, total - kBlock - here.block);
      else if (row < kBlock * 0.2 && here.block > 0) moved = -Math.min(half, here.block);
      if (moved !== 0) {
        here.block += moved;
        scrollTop -= moved * rowHeight;
        element.scrollTop = scrollTop;
      }
      here.scrollTop = scrollTop;
      here.view = element.clientHeight;
      redraw((n) => n + 1);
    };
    look.current = read;
    read();
    element.addEventListener('scroll', read, { passive: true });
    const observer = new ResizeObserver(read);
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', read);
      observer.disconnect();
    };
  }, [scroller, rowHeight]);

  const rowsRef = useRef(rows);
  rowsRef.current = rows;
  // A block grows up to kBlock rows. A view at the end of a full one cannot scroll any further,
  // so no event of the scroller would move the block.
  useLayoutEffect(() => look.current(), [rows]);
  const inBlock = Math.min(kBlock, rows - here.block);
  const topInBlock = Math.max(0, Math.floor((here.scrollTop - above) / rowHeight));
  const firstInBlock = Math.max(0, Math.min(topInBlock, inBlock) - kOverscan);
  const lastInBlock = Math.min(inBlock, topInBlock + Math.ceil(here.view / rowHeight) + kOverscan);
  return {
    height: inBlock * rowHeight,
    first: here.block + firstInBlock,
    last: here.block + lastInBlock,
    offset: firstInBlock * rowHeight,
    top: here.block + topInBlock,
    scrollTo: (row) => {
      const element = scroller.current;
      if (!element) return;
      if (row < here.block || row >= here.block + kBlock) {
        here.block = Math.max(0, Math.min(row - kBlock / 2, rows - kBlock));
        redraw((n) => n + 1);
      }
      const y = (row - here.block) * rowHeight + above;
      const visible = element.clientHeight - above - rowHeight;
      if (y - above < element.scrollTop) element.scrollTop = y - above;
      else if (y - above > element.scrollTop + visible) element.scrollTop = y - above - visible;
    },
  };
}
