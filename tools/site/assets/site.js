// Search, menu and colour scheme of the site. No requests: the index is a script of its own.
(() => {
  const home = document.documentElement.dataset.home;
  const input = document.getElementById('search');
  const results = document.getElementById('results');
  const kMost = 12;
  const kAround = 70;

  const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}_.-]+/gu) ?? [];
  const escapeText = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const patternOf = (words, between) => `(?<![\\p{L}\\p{N}])(?:${words.map(escapeText).join(between)})`;
  const kRecords = /^docs\/adr\/|^CHANGELOG|^src\/|^tests\//; // for those who change the code; behind the others
  const sections = (window.kSections ?? []).map(([address, title, anchor, heading, text]) => ({
    address, title, anchor, heading, text, inTitle: title.toLowerCase(), inHeading: heading.toLowerCase(), inText: text.toLowerCase(),
  }));

  function find(query) {
    const words = wordsOf(query);
    if (words.length === 0) return [];
    // Sections with all words, as beginnings of words: those with the words in their heading and title first, then those
    // with the words beside each other, then by how often they come.
    const patterns = words.map((word) => new RegExp(patternOf([word], ''), 'gu'));
    const phrase = new RegExp(patternOf(words, '[\\s-]+'), 'u');
    const found = [];
    for (const section of sections) {
      let score = (phrase.test(section.inText) ? 10 : 0) + (phrase.test(section.inHeading) ? 20 : 0) - (kRecords.test(section.address) ? 8 : 0);
      const all = patterns.every((pattern) => {
        const many = (where) => (where.match(pattern) ?? []).length;
        const here = 20 * Math.min(many(section.inHeading), 1) + 8 * Math.min(many(section.inTitle), 1) + Math.min(many(section.inText), 5);
        score += here;
        return here > 0;
      });
      if (all) found.push({ section, score: score - section.text.length / 100000 });
    }
    return found.sort((a, b) => b.score - a.score).slice(0, kMost).map(({ section }) => section);
  }

  function marked(text, words) {
    const node = document.createDocumentFragment();
    const pattern = new RegExp(patternOf(words, '|'), 'giu');
    let from = 0;
    for (const match of text.matchAll(pattern)) {
      node.append(text.slice(from, match.index));
      const mark = document.createElement('mark');
      mark.textContent = match[0];
      node.append(mark);
      from = match.index + match[0].length;
    }
    node.append(text.slice(from));
    return node;
  }

  function snippet(text, words) {
    const together = text.search(new RegExp(patternOf(words, '[\\s-]+'), 'iu'));
    const first = together >= 0 ? together : text.search(new RegExp(patternOf(words, '|'), 'iu'));
    const from = Math.max(0, first - kAround);
    return `${from > 0 ? '…' : ''}${text.slice(from, from + 2 * kAround)}${from + 2 * kAround < text.length ? '…' : ''}`;
  }

  function show() {
    const words = wordsOf(input.value);
    const found = find(input.value);
    results.replaceChildren(...found.map((section) => {
      const link = document.createElement('a');
      link.href = `${home}${section.address}#${section.anchor}`;
      const title = document.createElement('b');
      title.append(marked(section.heading === section.title ? section.title : `${section.title} › ${section.heading}`, words));
      const text = document.createElement('span');
      text.append(marked(snippet(section.text, words), words));
      link.append(title, text);
      const item = document.createElement('li');
      item.append(link);
      return item;
    }));
    if (words.length > 0 && found.length === 0) {
      const item = document.createElement('li');
      item.className = 'nothing';
      item.textContent = `Nothing has all of: ${words.join(', ')}`;
      results.append(item);
    }
    results.hidden = words.length === 0;
  }

  const links = () => [...results.querySelectorAll('a')];
  const close = () => { results.hidden = true; };
  input.addEventListener('input', show);
  input.addEventListener('focus', show);
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      input.focus();
    } else if (event.key === 'Escape') {
      close();
      input.blur();
    } else if (event.key === 'Enter' && document.activeElement === input) {
      links()[0]?.click();
    } else if (!results.hidden && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      const all = [input, ...links()];
      const at = all.indexOf(document.activeElement);
      if (at < 0) return;
      event.preventDefault();
      all[(at + (event.key === 'ArrowDown' ? 1 : all.length - 1)) % all.length].focus();
    }
  });
  document.addEventListener('click', (event) => {
    if (!event.target.closest('.search') || event.target.closest('#results a')) close();
  });

  const button = document.getElementById('menu-button');
  button.addEventListener('click', () => {
    const open = document.body.classList.toggle('menu-open');
    button.setAttribute('aria-expanded', String(open));
  });

  const scheme = document.getElementById('scheme');
  const kSchemes = ['', 'light', 'dark'];
  const kNames = { '': 'Auto', light: 'Light', dark: 'Dark' };
  const root = document.documentElement;
  const name = () => { scheme.textContent = kNames[root.dataset.scheme ?? '']; };
  scheme.addEventListener('click', () => {
    const next = kSchemes[(kSchemes.indexOf(root.dataset.scheme ?? '') + 1) % kSchemes.length];
    if (next) root.dataset.scheme = next;
    else delete root.dataset.scheme;
    try {
      localStorage.setItem('scheme', next);
    } catch { /* the choice lasts as long as the page */ }
    name();
  });
  name();
  document.querySelector('#menu [aria-current]')?.scrollIntoView({ block: 'nearest' });
})();
