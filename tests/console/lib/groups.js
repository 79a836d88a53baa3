// Consumer groups as their members drive them.

/**
 * Has a member take the first changes of each partition of a group, and say that it cannot handle them.
 * @param {import('./store.js').Store} store
 * @param {string} group
 * @param {string} error
 */
export async function park(store, group, error) {
  const path = '/v1/_groups/' + group;
  const { leases } = (await store.want('POST', path + '/_lease', '{"member":"worker"}')).json;
  for (const { partition, token } of leases) {
    const { results } = (await store.get(`${path}/_changes?partition=${partition}&token=${token}&limit=5`)).json;
    await store.want('POST', path + '/_nack', JSON.stringify({ partition, token, position: results.at(-1).seq, error }));
  }
}

/** The parked batches of a group. @param {import('./store.js').Store} store @param {string} group @returns {Promise<any[]>} */
export const parkedOf = async (store, group) => (await store.get(`/v1/_groups/${group}/_parked`)).json.parked;

/**
 * Makes a group.
 * @param {import('./store.js').Store} store
 * @param {string} name
 * @param {object} settings
 */
export const makeGroup = (store, name, settings) => store.want('PUT', '/v1/_groups/' + name, JSON.stringify({ since: '0', ...settings }));
