// Content of people who want to break the console: markup, scripts, characters that hide, and shapes that are large.

/** Texts that must be shown as text: as values, names of members and ids. */
export const hostileTexts = [
  '<img src=x onerror=alert(1)></script><script>alert(1)</script>',
  'javascript:alert(1)//"><svg onload=alert(1)>\'-alert(1)-\'{{7*7}}${7*7}',
  'evil\u202Etxt.exe\u200B\u2066hidden\u2069\uFEFF',
  '/ # ? % & + ; = %2F %00 ../../v1/_model?x=y#z \u{1F600}\u{1F468}\u200D\u{1F469}',
];

/** Characters that must not be on a page as they are: those that turn the direction of a text, and those that nobody sees. */
export const hidden = /[\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/u;

const model = `
collections:
  things:
    relations: { to: { path: ref, to: things } }
    derive:
      copied: { copy: to, value: doc.text }
      holders: { ids: things.to }
`;

/** Fills a store with hostile content. @param {import('./store.js').Store} store */
export async function fillHostile(store) {
  await store.model(model);
  for (const [n, text] of hostileTexts.entries()) {
    await store.put('things', text, JSON.stringify({ text, [text]: [text, { [text]: text }], ref: hostileTexts[(n + 1) % hostileTexts.length] }));
    await store.merge('things', text, JSON.stringify({ text: text + ' again' }));
  }
  await store.put('shapes', 'long', JSON.stringify({ text: 'x'.repeat(1 << 20), ['n'.repeat(10_000)]: 1 }));
  await store.put('shapes', 'wide', '{' + Array.from({ length: 100_000 }, (_, n) => `"m${n}":${n}`).join(',') + '}');
  await store.put('shapes', 'deep', '{"a":'.repeat(63) + '1' + '}'.repeat(63));
}
