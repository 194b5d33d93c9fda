import { element, setAttribute, setChildren, setHidden, setText, showValue } from '../dom/dom.js';
import { clock, due, duration, name, shortened, time, visible } from '../dom/format.js';
import { showList } from '../dom/list.js';
import { getJson } from '../data/api.js';
import { keepSameItems } from '../data/changes.js';
import { data } from '../data/store.js';
import { address } from './navigation.js';
import { describeNext, nameOfAction, ruleAdvice, ruleTitle, withCode } from './rules.js';

const MOST_PROCESSES = 50;

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
      setChildren(node, at && (kind === 'next' ? due : time)(at), ' ', element('strong', {}, title), text && ' ', text);
    },
  };
}

/**
 * What is known of a violation.
 * @returns {Array} `{title, text, href}`, or `{title, lines}` whose lines consist of parts
 */
function factsOf(violation) {
  const facts = [
    { title: 'Rule', text: `${violation.rule} (${violation.mode})` },
    { title: 'Status', text: violation.status },
    { title: 'Host', text: violation.host },
    { title: 'User', text: violation.user, href: violation.user && address('users', violation.user) },
    { title: 'Environment', text: violation.environment },
    { title: 'GPUs', text: violation.devices.join(', ') },
    { title: 'Processes', lines: processesOf(violation) },
    { title: 'Cycles', text: String(violation.cycles) },
  ];
  return facts.filter(({ text, lines }) => text || lines?.length > 0);
}

function processesOf({ processes }) {
  const shown = processes.slice(0, MOST_PROCESSES).map((process) => [
    `pid ${process.pid} `, process.command, process.user === null ? '' : ' · user ', process.user ?? '', process.user_by === 'recorded' ? ' (recorded)' : '',
    process.uid === null ? '' : ` · uid ${process.uid}`, ...workloadOf(process.workload)]);
  const rest = processes.length - shown.length;
  return rest > 0 ? [...shown, [`and ${rest} more`]] : shown;
}

/** The container, pod or job of a process, where the service knows it. */
function workloadOf(workload) {
  const { container, pod, slurm_job: job } = workload ?? {};
  const parts = [
    ['pod', pod?.uid],
    ['container', container?.id.slice(0, 12)],
    ['Slurm job', job?.id],
  ];
  return parts.filter(([, value]) => value).flatMap(([title, value]) => [` · ${title} `, value]);
}

/**
 * The story of a violation in steps, the oldest first. It includes other violations of the same processes.
 * @returns {Array} `{key, at, title, text}`, with a `kind` for the end and for what follows
 */
function stepsOf(violation, others) {
  const steps = [
    step(violation.first_seen, 'Seen', 'for the first time'),
    ...groupsOf(violation.actions).map(actionStep),
    ...relatedTo(violation, others).map((other) => step(other.first_seen, 'Also seen', ruleTitle(other.rule))),
  ];
  const inOrder = steps.sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
  const all = [...inOrder, ...endOf(violation), ...nextOf(violation)];
  return all.map((one, i) => ({ key: `${i} ${one.title}`, ...one }));
}

function step(instant, title, text) {
  return { at: instant, title, text };
}

function endOf({ status, last_seen: lastSeen }) {
  return status === 'resolved' ? [{ at: '', title: 'Resolved', text: `last seen ${clock(lastSeen)}`, kind: 'end' }] : [];
}

/** The same outcome in many cycles is one step. */
function groupsOf(actions) {
  const groups = [];
  for (const action of actions) {
    const last = groups.at(-1);
    if (last && ['type', 'pid', 'signal', 'device', 'outcome'].every((field) => last.first[field] === action[field])) {
      last.latest = action;
      last.count++;
    } else {
      groups.push({ first: action, latest: action, count: 1 });
    }
  }
  return groups;
}

function actionStep({ first, latest, count }) {
  const target = first.type === 'detach' ? `environment ${shortened(first.environment ?? '', 40)} from GPU ${first.device}` : `process ${first.pid}`;
  const detail = first.detail ? ` (${shortened(first.detail)})` : '';
  const repeated = count > 1 ? `, ${count} times in ${duration((Date.parse(latest.at) - Date.parse(first.at)) / 1000)}` : '';
  return step(first.at, nameOfAction(first), `${target}${detail}${repeated}`);
}

function relatedTo(violation, others) {
  const own = new Set(violation.processes.map(identity));
  return others.filter((other) => other.id !== violation.id && other.host === violation.host
    && other.processes.some((process) => own.has(identity(process))));
}

function identity({ pid, start_time: startTime }) {
  return `${pid} ${startTime}`;
}

/** What the service will do if nothing changes. */
function nextOf({ next }) {
  return (next ?? []).map((action) => ({
    at: action.not_before,
    title: 'Next',
    text: describeNext(action),
    kind: 'next',
  }));
}
