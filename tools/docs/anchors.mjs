// The anchors that GitHub gives to headings.

/** Returns a function from a heading's text to its anchor, which is unique among those that it returned. */
export function anchorMaker() {
  const found = new Set();
  return (heading) => {
    const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/\\(.)/g, '$1');
    const slug = text.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-');
    let unique = slug;
    for (let i = 1; found.has(unique); ++i) unique = `${slug}-${i}`;
    found.add(unique);
    return unique;
  };
}
