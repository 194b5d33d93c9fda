import { readSnapshot, data, onChange, start } from './data/store.js';
import { followViolations } from './data/stream.js';
import { setHidden, setText } from './dom/dom.js';
import { refreshTimes } from './dom/format.js';
import { announceViolations, connectionText, showAlerts } from './views/alerts.js';
import { hostsView } from './views/hosts.js';
import { prepareHeader, readRoute, showNavigation } from './views/navigation.js';
import { planView } from './views/plan.js';
import { policyView } from './views/policy.js';
import { reportView } from './views/report.js';
import { usersView } from './views/users.js';
import { violationsView } from './views/violations.js';

/**
 * The views by name. Each is called with its route and returns `{title, node, update(), usesSnapshot, accept(route)}`. `accept`
 * takes another route of the same view, and returns whether it could.
 */
const VIEWS = {
  hosts: hostsView,
  violations: violationsView,
  users: usersView,
  rules: policyView,
  plan: planView,
  report: reportView,
};

const main = document.getElementById('main');
const mode = document.getElementById('mode');
const menu = document.getElementById('menu');
const navigation = document.getElementById('navigation');
let view = null;
let viewName = null;

function showRoute() {
  const route = readRoute(location.hash);
  const isSameView = viewName === route.name && view.accept?.(route);
  if (!isSameView) {
    open(route);
  }
  showNavigation(menu, navigation, route);
  document.title = `${view.title} · genv-enforcer`;
  update();
}

function open(route) {
  const isFirst = view === null;
  view?.close?.();
  viewName = Object.hasOwn(VIEWS, route.name) ? route.name : 'hosts';
  view = VIEWS[viewName](route);
  readSnapshot(view.usesSnapshot === true);
  main.replaceChildren(view.node);
  if (!isFirst) {
    main.querySelector('h1')?.focus(); // so that a screen reader reads the new view
    scrollTo(0, 0);
  }
}

function update() {
  view.update();
  announceViolations(document.getElementById('announcements'));
  showService();
}

/** Shows what time alone can change, too. */
function showService() {
  refreshTimes(document.body);
  showAlerts(document.getElementById('alerts'));
  setText(document.getElementById('connection'), connectionText());
  if (data.policy !== null) {
    setText(mode, data.policy.mode === 'audit' ? 'AUDIT' : 'ENFORCE');
    mode.className = `mode ${data.policy.mode}`;
    setHidden(mode, false);
    setText(document.getElementById('version'), `genv-enforcer ${data.policy.version}`);
  }
}

prepareHeader(menu, navigation, document.getElementById('theme'));
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault(); // the address is that of the view
  main.focus();
});
addEventListener('hashchange', showRoute);
onChange(update);
showRoute();
start();
followViolations();
setInterval(showService, 5000);
