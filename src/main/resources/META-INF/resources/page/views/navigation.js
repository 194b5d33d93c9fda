import { KeptText } from '../data/storage.js';
import { element, setAttribute, setText } from '../dom/dom.js';
import { name } from '../dom/format.js';

/** The views that have a place in the navigation. */
const LINKS = [
  ['hosts', 'GPUs'],
  ['users', 'Users'],
  ['violations', 'Violations'],
  ['rules', 'Rules'],
  ['plan', 'What if'],
  ['report', 'Report'],
];

const THEMES = { system: 'dark', dark: 'light', light: 'system' };
const TITLES = { system: 'Theme: system', dark: 'Theme: dark', light: 'Theme: light' };
const wantedTheme = new KeptText('localStorage', 'genv-enforcer-theme');

/**
 * Reads the address of a view: `#/violations/ID?rule=env-memory` has the name `violations`, the argument `ID` and a parameter.
 * Any other address is that of the GPUs.
 */
export function readRoute(hash) {
  const [path, query] = (hash.startsWith('#/') ? hash.slice(2) : '').split('?', 2);
  const [view, argument] = path.split('/').map(decode);
  return { name: view || 'hosts', argument: argument ?? null, parameters: new URLSearchParams(query ?? '') };
}

/** Writes the address of a view. Parameters without a value are left out. */
export function address(view, argument = null, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value));
  return `#/${view}${argument === null ? '' : `/${encodeURIComponent(argument.toWellFormed())}`}${query.size ? `?${query}` : ''}`;
}

/** A link to the view of a user. A name that only genv has recorded is marked. */
export function userLink(user, isRecorded = false) {
  return [element('a', { href: address('users', user) }, name(user)), isRecorded && ' (recorded)'];
}

/** The same for what may have no user. */
export function knownUser(user) {
  return user === null ? 'Without a known user' : userLink(user);
}

/** Fills the header. On a narrow screen its links are a menu. */
export function prepareHeader(menu, navigation, theme) {
  navigation.append(element('ul', {}, LINKS.map(([view, title]) => element('li', {}, element('a', { href: address(view) }, title)))));
  menu.addEventListener('click', () => setAttribute(menu, 'aria-expanded', String(menu.getAttribute('aria-expanded') !== 'true')));
  menu.parentElement.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape' && menu.getAttribute('aria-expanded') === 'true') {
      setAttribute(menu, 'aria-expanded', 'false');
      menu.focus();
    }
  });
  showTheme(theme, wantedTheme.get());
  theme.addEventListener('click', () => showTheme(theme, THEMES[wantedTheme.get()] ?? THEMES.system));
}

/** The theme is that of the system, dark or light. The choice is kept in this browser. */
function showTheme(button, choice) {
  const theme = Object.hasOwn(THEMES, choice ?? '') ? choice : 'system';
  wantedTheme.set(theme);
  document.documentElement.dataset.theme = theme;
  setText(button, TITLES[theme]);
}

/** Marks the view that is open, and closes the menu. */
export function showNavigation(menu, navigation, route) {
  setAttribute(menu, 'aria-expanded', 'false');
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
