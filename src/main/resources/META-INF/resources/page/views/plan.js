import { element, setAttribute, setChildren } from '../dom/dom.js';
import { ApiError, postJson } from '../data/api.js';
import { data } from '../data/store.js';
import { createAnswer } from './answer.js';
import { showPlan, showReplay } from './plan-result.js';
import { ruleTitle } from './rules.js';

const DAY = 86_400;
const PERIODS = {
  'now': null,
  'the last hour': 3600,
  'the last day': DAY,
  'the last 7 days': 7 * DAY,
  'the last 30 days': 30 * DAY,
  'the last 90 days': 90 * DAY,
};
const LIMITED = 'max-devices-per-user';

/** What another policy would do now, or would have done in the past. The service takes no action. */
export function planView(route) {
  const rules = element('div', { class: 'checks' });
  const limit = element('input', { type: 'number', id: 'limit', name: 'limit', min: '0', step: '1', inputmode: 'numeric' });
  const limits = element('input', { type: 'text', id: 'limits', name: 'limits', placeholder: 'john=3,paul=2', autocomplete: 'off' });
  const period = element('select', { id: 'period', name: 'period' }, Object.keys(PERIODS).map((title) => element('option', { value: title }, title)));
  const form = element('form', { class: 'policy' },
    element('fieldset', {}, element('legend', {}, 'Rules'), rules),
    element('div', { class: 'filters' },
      field('limit', 'GPUs per user', limit, 'empty for no limit'),
      field('limits', 'Limits of single users', limits, 'such as john=3,paul=2'),
      field('period', 'Apply to', period, 'the past needs a folder for the database')),
    element('button', { type: 'submit', class: 'primary' }, 'Show what it would do'));
  const answer = createAnswer('plan', form, { text: 'Computing …', nodes: [] }, compute);
  const node = element('div', {}, element('h1', { tabindex: '-1' }, 'What if'),
    element('p', {}, 'What would this policy do? The service only computes it and takes no action.'), form,
    element('div', { id: 'plan-result' }, answer.nodes));
  let wanted = route;
  let isFilled = false;

  /** Begins with the running policy, and with the address when the rules are known. */
  function update() {
    if (isFilled || data.policy === null) {
      return;
    }
    isFilled = true;
    setChildren(rules, data.policy.rules.filter((rule) => !rule.limited).map((rule) => element('div', { class: 'check' },
      element('input', { type: 'checkbox', id: `rule-${rule.name}`, name: rule.name, checked: rule.mode === 'enforce' }),
      element('label', { for: `rule-${rule.name}` }, element('strong', {}, rule.name), ` ${ruleTitle(rule.name)}`))));
    const limited = data.policy.rules.find((rule) => rule.name === LIMITED);
    if (limited?.mode === 'enforce') {
      setAttribute(limit, 'value', limited.limit);
      setAttribute(limits, 'value', Object.entries(limited.limits_of_users).map(([user, most]) => `${user}=${most}`).join(','));
    }
    answer.accept(wanted);
  }

  function accept(next) {
    wanted = next;
    return !isFilled || answer.accept(next);
  }

  async function compute() {
    const seconds = PERIODS[period.value];
    const body = { policy: policy() };
    if (seconds === null) {
      return showPlan(await postJson('/plan', body));
    }
    const since = new Date(Date.now() - 1000 * seconds).toISOString();
    return showReplay(await postJson(`/plan?since=${since}`, body), period.value);
  }

  function policy() {
    const flags = [...rules.querySelectorAll('input')].map((input) => [input.name.replaceAll('-', '_'), input.checked]);
    return {
      ...Object.fromEntries(flags),
      ...(limit.value === '' ? {} : { max_devices_per_user: Number(limit.value) }),
      ...(limits.value.trim() === '' ? {} : { max_devices_for_user: readLimits(limits.value) }),
    };
  }
  return { title: 'What if', node, update, accept };
}

function field(id, title, input, hint) {
  input.setAttribute('aria-describedby', `${id}-hint`);
  return element('div', {}, element('label', { for: id }, title), input, element('small', { id: `${id}-hint` }, hint));
}

/** Reads `john=3,paul=2`, with commas or blanks as GENV_ENFORCER_MAX_DEVICES_FOR_USER has them. */
function readLimits(text) {
  return Object.fromEntries(text.split(/[\s,]+/).filter((part) => part !== '').map((part) => {
    const match = /^([^=]+)=(\d+)$/.exec(part);
    if (match === null) {
      throw new ApiError(0, `“${part}” is not a limit such as john=3`);
    }
    return [match[1], Number(match[2])];
  }));
}
