import { element, setAttribute, setHidden, setText, showValue } from '../dom/dom.js';
import { clock, name, shortened, time, visible } from '../dom/format.js';
import { address } from './navigation.js';
import { describeAction } from './rules.js';
import { describeNext } from './steps.js';

const LONGEST_MESSAGE = 300;

/** A violation in a list, with a link to its story. */
export function createViolation() {
  const link = element('a', { class: 'message' });
  const status = element('span', { class: 'badge' });
  const rule = element('span', { class: 'rule' });
  const facts = element('p', { class: 'facts' });
  const done = element('p', { class: 'done' });
  const next = element('p', { class: 'next' });
  const node = element('li', { class: 'violation' }, element('div', { class: 'violation-head' }, status, rule), link, facts, done, next);

  function update(violation) {
    setAttribute(node, 'class', `violation ${violation.status}`);
    setAttribute(link, 'href', address('violations', violation.id));
    setText(link, shortened(violation.message, LONGEST_MESSAGE));
    setText(status, violation.mode === 'audit' ? `${violation.status}, audit` : violation.status);
    setAttribute(status, 'class', `badge ${violation.status}`);
    setText(rule, violation.rule);
    showValue(facts, { at: violation.first_seen, host: violation.host, user: violation.user }, factsOf);
    setText(done, doneText(violation));
    setHidden(next, !violation.next?.length);
    setText(next, violation.next?.length ? nextText(violation.next[0]) : '');
  }
  return { node, update };
}

function factsOf({ at, host, user }) {
  const link = user !== null && element('a', { href: address('users', user) }, name(user));
  return [time(at), host && [' · ', name(host)], link && [' · ', link]];
}

function doneText(violation) {
  const last = violation.actions.at(-1);
  if (last === undefined) {
    return violation.mode === 'audit' ? 'Reported only (audit)' : 'No action';
  }
  const detail = last.detail ? ` (${shortened(last.detail, 100)})` : '';
  const further = violation.actions.length > 1 ? `, ${violation.actions.length - 1} earlier` : '';
  return visible(describeAction(last)) + detail + further;
}

function nextText(action) {
  return `Next, not before ${clock(action.not_before)}: ${describeNext(action)}`;
}
