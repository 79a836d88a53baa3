// Characters that change how the text around them looks, or cannot be seen.

// Controls, blanks without width, marks of direction, variation selectors, tags, and what stands alone of a pair.
export const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|\p{Cs}/gu;

/**
 * Returns a text with hidden characters as the escapes of JSON.
 * @param {string} text of a string in JSON
 */
export const escapeHidden = (text) => text.replace(hidden, (found) => Array.from({ length: found.length }, (_, i) => '\\u' + found.charCodeAt(i).toString(16).padStart(4, '0')).join(''));
