import { address } from './navigation.js';

const MOST_PROCESSES = 50;

/**
 * What is known of a violation.
 * @returns {Array} `{title, text, href}`, or `{title, lines}` whose lines consist of parts
 */
export function factsOf(violation) {
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
    `pid ${process.pid} `, process.command, process.uid === null ? '' : ` · uid ${process.uid}`, ...workloadOf(process.workload)]);
  const rest = processes.length - shown.length;
  return rest > 0 ? [...shown, [`and ${rest} more`]] : shown;
}

/** The container, pod or job of a process, where the service knows it. */
function workloadOf(workload) {
  const { unit, container, pod, slurm_job: job } = workload ?? {};
  const parts = [
    ['pod', pod?.uid],
    ['container', container?.id],
    ['Slurm job', job?.id],
    ['unit', unit],
  ];
  return parts.filter(([, value]) => value).flatMap(([title, value]) => [` · ${title} `, value]);
}
