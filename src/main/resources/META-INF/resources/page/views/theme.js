import { setText } from '../dom/dom.js';

const KEY = 'genv-enforcer-theme';
const THEMES = { system: 'dark', dark: 'light', light: 'system' };
const TITLES = { system: 'Theme: system', dark: 'Theme: dark', light: 'Theme: light' };

/** Makes a button change the theme: that of the system, dark, light. The choice is kept in this browser. */
export function prepareTheme(button) {
  show(button, localStorage.getItem(KEY));
  button.addEventListener('click', () => show(button, THEMES[localStorage.getItem(KEY)] ?? THEMES.system));
}

function show(button, wanted) {
  const theme = Object.hasOwn(THEMES, wanted ?? '') ? wanted : 'system';
  localStorage.setItem(KEY, theme);
  document.documentElement.dataset.theme = theme;
  setText(button, TITLES[theme]);
}
