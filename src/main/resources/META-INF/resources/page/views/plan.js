import { element, setChildren } from '../dom/dom.js';
import { ApiError, postJson } from '../data/api.js';
import { data } from '../data/store.js';
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
export function planView() {
  const rules = element('div', { class: 'checks' });
  const limit = element('input', { type: 'number', id: 'limit', min: '0', step: '1', inputmode: 'numeric' });
  const limits = element('input', { type: 'text', id: 'limits', placeholder: 'john=3,paul=2', autocomplete: 'off' });
  const period = element('select', { id: 'period' }, Object.keys(PERIODS).map((title) => element('option', { value: title }, title)));
  const result = element('div', { id: 'plan-result', 'aria-live': 'polite' });
  const submit = element('button', { type: 'submit', class: 'primary' }, 'Show what it would do');
  const form = element('form', { class: 'policy', onsubmit: ask },
    element('fieldset', {}, element('legend', {}, 'Rules'), rules),
    element('div', { class: 'filters' },
      field('limit', 'GPUs per user', limit, 'empty for no limit'),
      field('limits', 'Limits of single users', limits, 'such as john=3,paul=2'),
      field('period', 'Apply to', period, 'the past needs a journal')),
    submit);
  const node = element('div', {}, element('h1', { tabindex: '-1' }, 'What if'),
    element('p', {}, 'What would this policy do? The service only computes it and takes no action.'), form, result);
  let isFilled = false;

  /** Begins with the running policy. */
  function update() {
    if (isFilled || data.policy === null) {
      return;
    }
    isFilled = true;
    setChildren(rules, data.policy.rules.filter((rule) => !rule.limited).map((rule) => element('div', { class: 'check' },
      element('input', { type: 'checkbox', id: `rule-${rule.name}`, name: rule.name, checked: rule.mode === 'enforce' }),
      element('label', { for: `rule-${rule.name}` }, element('strong', {}, rule.name), ` ${ruleTitle(rule.name)}`))));
    const limited = data.policy.rules.find((rule) => rule.name === LIMITED);
    limit.value = limited?.limit ?? '';
    limits.value = Object.entries(limited?.limits_of_users ?? {}).map(([user, most]) => `${user}=${most}`).join(',');
  }

  async function ask(event) {
    event.preventDefault();
    submit.disabled = true;
    setChildren(result, element('p', {}, 'Computing …'));
    try {
      const seconds = PERIODS[period.value];
      const body = { policy: policy() };
      if (seconds === null) {
        setChildren(result, showPlan(await postJson('/plan', body)));
      } else {
        const since = new Date(Date.now() - 1000 * seconds).toISOString();
        setChildren(result, showReplay(await postJson(`/plan?since=${since}`, body), period.value));
      }
    } catch (error) {
      if (!(error instanceof ApiError)) {
        throw error;
      }
      setChildren(result, element('p', { class: 'error' }, error.message));
    } finally {
      submit.disabled = false;
    }
  }

  function policy() {
    const flags = [...rules.querySelectorAll('input')].map((input) => [input.name.replaceAll('-', '_'), input.checked]);
    return {
      ...Object.fromEntries(flags),
      ...(limit.value === '' ? {} : { max_devices_per_user: Number(limit.value) }),
      ...(limits.value.trim() === '' ? {} : { max_devices_for_user: readLimits(limits.value) }),
    };
  }
  return { title: 'What if', node, update };
}

function field(id, title, input, hint) {
  input.setAttribute('aria-describedby', `${id}-hint`);
  return element('div', {}, element('label', { for: id }, title), input, element('small', { id: `${id}-hint` }, hint));
}

/** Reads `john=3,paul=2`. */
function readLimits(text) {
  return Object.fromEntries(text.split(',').filter((part) => part.trim() !== '').map((part) => {
    const match = /^\s*(.+?)\s*=\s*(\d+)\s*$/.exec(part);
    if (match === null) {
      throw new ApiError(0, `“${part.trim()}” is not a limit such as john=3`);
    }
    return [match[1], Number(match[2])];
  }));
}

