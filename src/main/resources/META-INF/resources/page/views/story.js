import { element, setChildren } from '../dom/dom.js';
import { name, visible } from '../dom/format.js';
import { getJson } from '../data/api.js';
import { data } from '../data/store.js';
import { address } from './navigation.js';
import { RULES, ruleTitle } from './rules.js';
import { stepsOf } from './steps.js';

const MOST_PROCESSES = 50;

/**
 * Opens the story of a violation in a dialog: what was seen, reported and done, with times.
 * @param {string} id of the violation
 * @param closed called when the dialog is closed
 * @returns {{id, update, close}}
 */
export function openStory(id, closed) {
  const content = element('div', { class: 'story' }, element('h2', { id: 'story-title' }, 'Violation'), element('p', {}, 'Loading …'));
  const dialog = element('dialog', { 'aria-labelledby': 'story-title', class: 'wide' }, content,
    element('div', { class: 'buttons' }, element('button', { type: 'button', autofocus: true, onclick: () => dialog.close() }, 'Close')));
  let shown = null;
  dialog.addEventListener('close', () => {
    dialog.remove();
    closed();
  });
  document.body.append(dialog);
  dialog.showModal();
  update();
  if (shown === null) {
    read();
  }

  function update() {
    const violation = data.violations?.find((one) => one.id === id);
    if (violation && violation !== shown) {
      show(violation);
    }
  }

  function show(violation) {
    shown = violation;
    setChildren(content, ...storyOf(violation));
  }

  /** The newest violations may not contain it. */
  async function read() {
    try {
      show(await getJson(`/violations/${encodeURIComponent(id)}`));
    } catch (error) {
      setChildren(content, element('h2', { id: 'story-title' }, 'Violation'),
        element('p', { class: 'error' }, error.isMissing ? 'The service does not know this violation any more.' : error.message));
    }
  }
  return { id, update, close: () => dialog.close() };
}

function storyOf(violation) {
  const advice = RULES[violation.rule]?.advice;
  return [
    element('h2', { id: 'story-title' }, ruleTitle(violation.rule)),
    element('p', { class: 'message' }, visible(violation.message)),
    factsOf(violation),
    element('h3', {}, 'What happened'),
    element('ol', { class: 'steps' }, stepsOf(violation, data.violations ?? []).map(({ at, title, text, kind }) =>
      element('li', { class: kind }, at, ' ', element('strong', {}, title), text && ' ', text))),
    advice && element('h3', {}, 'What to do'),
    advice && element('p', {}, advice),
  ].filter(Boolean);
}

function factsOf(violation) {
  const facts = [
    ['Rule', `${violation.rule} (${violation.mode})`],
    ['Status', violation.status],
    ['Host', violation.host && name(violation.host)],
    ['User', violation.user && element('a', { href: address('users', violation.user) }, name(violation.user))],
    ['Environment', violation.environment && name(violation.environment)],
    ['GPUs', violation.devices.join(', ')],
    ['Processes', violation.processes.length > 0 && element('ul', {}, processesOf(violation))],
    ['Cycles', String(violation.cycles)],
  ];
  return element('dl', {}, facts.filter(([, value]) => value).map(([title, value]) =>
    element('div', {}, element('dt', {}, title), element('dd', {}, value))));
}

function processesOf({ processes }) {
  const shown = processes.slice(0, MOST_PROCESSES).map((process) => element('li', {},
    `pid ${process.pid} `, name(process.command), process.uid === null ? '' : ` · uid ${process.uid}`, ...workloadOf(process.workload)));
  const rest = processes.length - shown.length;
  return rest > 0 ? [...shown, element('li', {}, `and ${rest} more`)] : shown;
}

/** The container, pod or job of a process, where the service knows it. */
function workloadOf(workload) {
  const { unit, container, pod, slurm_job: job } = workload ?? {};
  const parts = [
    ['pod', pod && [pod.namespace, pod.name ?? pod.uid, pod.container].filter(Boolean).join('/')],
    ['container', container?.id],
    ['Slurm job', job?.id],
    ['unit', unit],
  ];
  return parts.filter(([, value]) => value).flatMap(([title, value]) => [` · ${title} `, name(value, 64)]);
}
