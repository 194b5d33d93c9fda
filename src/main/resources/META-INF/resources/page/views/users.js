import { element, setHidden, showValue } from '../dom/dom.js';
import { bytes, count, number, time } from '../dom/format.js';
import { showList } from '../dom/list.js';
import { createTable } from '../dom/table.js';
import { keepSameItems } from '../data/changes.js';
import { getJson } from '../data/api.js';
import { changed } from '../data/store.js';
import { createReader } from './answer.js';
import { address, userLink } from './navigation.js';
import { userView } from './user.js';

/** All users, who holds most first; with a name that of one user. */
export function usersView(route) {
  return route.argument === null ? listView() : userView(route.argument);
}

function listView() {
  const rows = element('tbody');
  const table = createTable('Users', ['User', 'GPUs held', 'GPUs in use', 'Memory', 'Idle since', 'Violations'], rows);
  let users = null;
  const reader = createReader(() => getJson('/users'), (json) => {
    users = keepSameItems(users, json.sort(byHeld), ({ user }) => user);
    changed();
  });
  const node = element('div', { class: 'users' }, element('h1', { tabindex: '-1' }, 'Users'), reader.node, table);

  function update() {
    reader.update();
    setHidden(table, users === null);
    showList(rows, users ?? [], ({ user }) => user, createUser);
  }
  return { title: 'Users', node, update, accept: ({ argument }) => argument === null, close: reader.close };
}

function byHeld(one, other) {
  return other.devices_held - one.devices_held || other.devices_used - one.devices_used || one.user.localeCompare(other.user);
}

function createUser({ user, user_by: by }) {
  const cells = ['number', 'number', 'number', '', 'number'].map((kind) => element('td', { class: kind }));
  const node = element('tr', {}, element('th', { scope: 'row' }, userLink(user, by === 'recorded')), cells);
  return {
    node,
    update: (its) => [
      [its.devices_held, its.device_limit].filter((value) => value !== null).join(' of '),
      number(its.devices_used),
      [its.used_bytes, its.memory_limit_bytes].filter((value) => value !== null).map(bytes).join(' of '),
      its.idle_since,
      its.violations,
    ].forEach((value, i) => showValue(cells[i], value, () => [i === 3 ? value && time(value)
      : i === 4 ? value > 0 && element('a', { href: address('users', user) }, count(value, 'violation')) : value])),
  };
}
