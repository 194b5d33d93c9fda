import { KeptText } from '../data/storage.js';
import { setText } from '../dom/dom.js';

const THEMES = { system: 'dark', dark: 'light', light: 'system' };
const TITLES = { system: 'Theme: system', dark: 'Theme: dark', light: 'Theme: light' };

const wanted = new KeptText('localStorage', 'genv-enforcer-theme');

/** Makes a button change the theme: that of the system, dark, light. The choice is kept in this browser. */
export function prepareTheme(button) {
  show(button, wanted.get());
  button.addEventListener('click', () => show(button, THEMES[wanted.get()] ?? THEMES.system));
}

function show(button, choice) {
  const theme = Object.hasOwn(THEMES, choice ?? '') ? choice : 'system';
  wanted.set(theme);
  document.documentElement.dataset.theme = theme;
  setText(button, TITLES[theme]);
}
