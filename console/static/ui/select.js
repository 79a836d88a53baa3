/**
 * Shows a run of a text box's text as selected, and in sight.
 * @param {HTMLTextAreaElement} box
 * @param {number} from
 * @param {number} to
 */
export function select(box, from, to) {
  box.focus();
  box.setSelectionRange(from, to);
  // A browser scrolls to where somebody types, not to a selection: the lines before it are counted.
  const lines = box.value.slice(0, from).split('\n').length;
  const height = parseFloat(getComputedStyle(box).lineHeight) || 20;
  box.scrollTop = Math.max(0, (lines - box.rows / 2) * height);
}
