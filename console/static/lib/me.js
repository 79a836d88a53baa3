import { signal } from './html.js';

/** Whom the server takes the reader for, as _me tells it; null as long as that is not known. @type {import('@preact/signals').Signal<any>} */
export const me = signal(null);

/** How often another reader has come: the page of each begins anew, for it may see less. */
export const readers = signal(0);

/** Tells whether the reader has the rights of a role. @param {string} role */
export const hasRole = (role) => Array.isArray(me.value?.roles) && (me.value.roles.includes('admin') || me.value.roles.includes(role));
