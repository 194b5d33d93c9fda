import { element } from './dom.js';

/** A table that scrolls where it is wider than the page. The first cell of a row names it. */
export function createTable(title, columns, rows) {
  return element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': title }, element('table', {},
    element('caption', {}, title),
    element('thead', {}, element('tr', {}, columns.map((column) => element('th', { scope: 'col' }, column)))),
    element('tbody', {}, rows.map(([first, ...others]) => element('tr', {},
      element('th', { scope: 'row' }, first), others.map((cell) => element('td', {}, cell)))))));
}
