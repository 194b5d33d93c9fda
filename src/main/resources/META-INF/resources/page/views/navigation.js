import { element, setAttribute } from '../dom/dom.js';

/** The views that have a place in the navigation. */
const LINKS = [
  ['hosts', 'Hosts'],
  ['violations', 'Violations'],
  ['plan', 'What if'],
  ['report', 'Report'],
];

/**
 * Reads the address of a view: `#/violations/ID?rule=env-memory` has the name `violations`, the argument `ID` and a parameter.
 * Any other address is that of the hosts.
 */
export function readRoute(hash) {
  const [path, query] = (hash.startsWith('#/') ? hash.slice(2) : '').split('?', 2);
  const [name, argument] = path.split('/').map(decode);
  return { name: name || 'hosts', argument: argument ?? null, parameters: new URLSearchParams(query ?? '') };
}

/** Writes the address of a view. Parameters without a value are left out. */
export function address(name, argument = null, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value));
  return `#/${name}${argument === null ? '' : `/${encodeURIComponent(argument.toWellFormed())}`}${query.size ? `?${query}` : ''}`;
}

export function showNavigation(navigation, route) {
  if (!navigation.hasChildNodes()) {
    navigation.append(element('ul', {}, LINKS.map(([name, title]) =>
      element('li', {}, element('a', { href: address(name) }, title)))));
  }
  for (const link of navigation.querySelectorAll('a')) {
    setAttribute(link, 'aria-current', link.hash === address(route.name) ? 'page' : null);
  }
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // an address that a person has mistyped
  }
}
