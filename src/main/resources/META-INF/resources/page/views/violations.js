import { element, setHidden, setText } from '../dom/dom.js';
import { count } from '../dom/format.js';
import { showList } from '../dom/list.js';
import { data } from '../data/store.js';
import { MOST_ACTIVE, MOST_RESOLVED } from '../data/violations.js';
import { createFilters } from './filters.js';
import { address } from './navigation.js';
import { openStory } from './story.js';
import { createViolation } from './violation.js';

const PAGE = 100;

/** The violations with filters: the active ones first, each kind newest first. `#/violations/ID` opens the story of one in a dialog. */
export function violationsView(route) {
  const summary = element('p', { id: 'summary', class: 'facts' });
  const list = element('ol', { class: 'violations' });
  const more = element('button', { type: 'button', onclick: showMore }, 'Show more');
  const filters = createFilters(changed);
  const node = element('div', {},
    element('h1', { tabindex: '-1' }, 'Violations'), filters.node, summary, list, element('p', {}, more));
  let shownCount = PAGE;
  let story = null;

  function update() {
    const all = data.violations ?? [];
    filters.update();
    const matching = all.filter(filters.matches);
    const shown = matching.slice(0, shownCount);
    setText(summary, describe(all, matching));
    showList(list, shown, (violation) => violation.id, createViolation);
    setHidden(more, matching.length <= shownCount);
    story?.update();
  }

  function describe(all, matching) {
    if (data.violations === null) {
      return 'No answer yet.';
    }
    const limits = limitText(all, 'active', MOST_ACTIVE) + limitText(all, 'resolved', MOST_RESOLVED);
    return `${count(matching.length, 'violation')}, ${countOf(matching, 'active')} active.${limits}`;
  }

  function showMore() {
    shownCount += PAGE;
    update();
  }

  function changed() {
    history.replaceState(null, '', address('violations', null, filters.values()));
    shownCount = PAGE;
    update();
  }

  function accept({ name, argument, parameters }) {
    if (name !== 'violations') {
      return false;
    }
    if (argument === null || parameters.size > 0) { // the address of a story leaves the filters as they are
      filters.set(parameters);
    }
    if (argument !== null && story?.id !== argument) {
      story?.close();
      story = openStory(argument, () => closed(argument));
    } else if (argument === null) {
      story?.close();
    }
    return true;
  }

  /** Leaves the address of the story if the dialog was closed, and not if another address has closed it. */
  function closed(id) {
    if (story?.id === id) {
      story = null;
    }
    if (location.hash.startsWith(address('violations', id))) {
      history.replaceState(null, '', address('violations', null, filters.values()));
    }
  }

  accept(route);
  return { title: 'Violations', node, update, accept, close: () => story?.close() };
}

function limitText(violations, status, most) {
  return countOf(violations, status) >= most ? ` Only the newest ${most} ${status} ones are here.` : '';
}

function countOf(violations, status) {
  return violations.filter((violation) => violation.status === status).length;
}
