import { element, setAttribute, setChildren, setHidden, setText, showValue } from '../dom/dom.js';
import { name, time, visible } from '../dom/format.js';
import { showList } from '../dom/list.js';
import { getJson } from '../data/api.js';
import { keepSameItems } from '../data/changes.js';
import { data } from '../data/store.js';
import { factsOf } from './facts.js';
import { ruleAdvice, ruleTitle, withCode } from './rules.js';
import { stepsOf } from './steps.js';

/**
 * Opens the story of a violation in a dialog: what was seen, reported and done, with times.
 * @param {string} id of the violation
 * @param closed called when the dialog is closed
 * @returns {{id, update, close}}
 */
export function openStory(id, closed) {
  const title = element('h2', { id: 'story-title' }, 'Violation');
  const note = element('p', {}, 'Loading …');
  const body = createBody();
  const dialog = element('dialog', { 'aria-labelledby': 'story-title', class: 'wide' }, element('div', { class: 'story' }, title, note, body.node),
    element('div', { class: 'buttons' }, element('button', { type: 'button', autofocus: true, onclick: () => dialog.close() }, 'Close')));
  let shown = null;
  dialog.addEventListener('close', () => {
    dialog.remove();
    closed();
  });
  setHidden(body.node, true);
  document.body.append(dialog);
  dialog.showModal();
  update();
  if (shown === null) {
    read();
  }

  function update() {
    const violation = data.violations?.find((one) => one.id === id) ?? shown;
    if (violation !== null) {
      show(violation);
    }
  }

  function show(violation) {
    shown = violation;
    setText(title, ruleTitle(violation.rule));
    setHidden(note, true);
    setHidden(body.node, false);
    body.update(violation);
  }

  /** The newest violations may not contain it. */
  async function read() {
    try {
      show(await getJson(`/violations/${encodeURIComponent(id)}`));
    } catch (error) {
      setText(note, error.isMissing ? 'The service does not know this violation any more.' : error.message);
      setAttribute(note, 'class', 'error');
    }
  }
  return { id, update, close: () => dialog.close() };
}

/** What is shown keeps its elements while the violation changes, so a reader keeps the focus and the place. */
function createBody() {
  const message = element('p', { class: 'message' });
  const factList = element('dl');
  const stepList = element('ol', { class: 'steps' });
  const advice = element('p');
  const adviceTitle = element('h3', {}, 'What to do');
  const node = element('div', {}, message, factList, element('h3', {}, 'What happened'), stepList, adviceTitle, advice);
  let facts = [];
  let steps = [];

  function update(violation) {
    setText(message, visible(violation.message));
    facts = keepSameItems(facts, factsOf(violation), (fact) => fact.title);
    showList(factList, facts, (fact) => fact.title, createFact);
    steps = keepSameItems(steps, stepsOf(violation, data.violations ?? []), (step) => step.key);
    showList(stepList, steps, (step) => step.key, createStep);
    showValue(advice, ruleAdvice(violation.rule), withCode);
    setHidden(advice, advice.textContent === '');
    setHidden(adviceTitle, advice.textContent === '');
  }
  return { node, update };
}

function createFact({ title, href }) {
  const value = element(href ? 'a' : 'span');
  const node = element('div', {}, element('dt', {}, title), element('dd', {}, value));
  return {
    node,
    update: ({ text, href: target, lines }) => {
      setAttribute(value, 'href', target);
      setChildren(value, lines ? element('ul', {}, lines.map((line) => element('li', {}, line.map((part) => name(part))))) : name(text));
    },
  };
}

function createStep() {
  const node = element('li');
  return {
    node,
    update: ({ at, title, text, kind }) => {
      setAttribute(node, 'class', kind);
      setChildren(node, at && time(at), ' ', element('strong', {}, title), text && ' ', text);
    },
  };
}
