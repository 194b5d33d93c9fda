import { element } from './dom.js';
import { number } from './format.js';

/**
 * A table that scrolls where it is wider than the page.
 * @param parts what follows the head, such as the rows
 */
export function createTable(title, columns, ...parts) {
  return element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': title }, element('table', {},
    element('caption', {}, title),
    element('thead', {}, element('tr', {}, columns.map((column) => element('th', { scope: 'col' }, column)))),
    parts));
}

/** The rows of a table, or with `tfoot` those of its sums. The first cell of a row names it. */
export function createRows(rows, tag = 'tbody') {
  return element(tag, {}, rows.map(([first, ...others]) => element('tr', {}, element('th', { scope: 'row' }, first), others.map(createCell))));
}

function createCell(value) {
  return typeof value === 'number' ? element('td', { class: 'number' }, number(value)) : element('td', {}, value);
}
