// A client whose types are generated from the description of the API. It reads every answer of a service, and accepts only
// what the description says: no other field, no missing field, no null where none is described.
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { components, paths } from './api.js';

declare const process: { argv: string[] };
type Schemas = components['schemas'];
type Answer<P extends keyof paths> =
  paths[P] extends { get: { responses: { 200: { content: { 'application/json': infer T } } } } } ? T : never;

// Whether two types are the same: a client that gets null for a string must learn it from the compiler.
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
const types: [
  Same<Schemas['HostView']['driver'], string | null>,
  Same<Schemas['HostView']['host'], string>,
  Same<Schemas['StatusView']['error'], string | null>,
  Same<Schemas['StatusView']['last_cycle_at'], string | null>,
  Same<Schemas['ViolationView']['host'], string | null>,
  Same<Schemas['ProcessView']['workload'], Schemas['WorkloadView'] | null>,
  Same<Schemas['ProcessView']['user_by'], 'account' | 'recorded' | null>,
  Same<Schemas['ActionView']['pid'], number | undefined>,
  Same<Schemas['ActionView']['detail'], string | null>,
  Same<Schemas['DeviceStatusView']['utilization_last_hour'], (number | null)[]>,
] = [true, true, true, true, true, true, true, true, true, true];

const origin = process.argv[2];
const api = await (await fetch(`${origin}/q/openapi?format=json`)).json();
for (const schema of Object.values<any>(api.components.schemas)) {
  if (schema.properties !== undefined) {
    schema.additionalProperties = false;
  }
}
const ajv = new Ajv2020({ strict: false, allErrors: true });
formats.default(ajv);
ajv.addFormat('date-time-local', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?$/);
ajv.addSchema(api, 'api');
const read = new Set<string>();

function check(json: unknown, schema: object, what: string): void {
  const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')));
  if (!validate(json)) {
    throw new Error(`${what}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(json)}`);
  }
}

function checkNamed(json: unknown, name: keyof Schemas, what: string): void {
  check(json, { $ref: `#/components/schemas/${name}` }, what);
}

async function get<P extends keyof paths>(path: P, values: Record<string, string> = {}, query = ''): Promise<Answer<P>> {
  const target = path.replace(/\{(\w+)\}/, (_, name) => encodeURIComponent(values[name]));
  const response = await fetch(origin + target + query);
  const json = await response.json();
  if (response.status !== 200) {
    throw new Error(`${target}: ${response.status} ${JSON.stringify(json)}`);
  }
  check(json, api.paths[path].get.responses[200].content['application/json'].schema, target);
  read.add(path);
  return json;
}

/** Reads an error, which must be described for the path. */
async function refuse(path: keyof paths, target: string, status: number, init: RequestInit = {}): Promise<void> {
  const response = await fetch(origin + target, init);
  const json = await response.json();
  if (response.status !== status || Object.values<any>(api.paths[path]).some(({ responses }) => responses[status] === undefined)) {
    throw new Error(`${target}: ${response.status} ${JSON.stringify(json)}`);
  }
  checkNamed(json, 'Problem', target);
}

/** Reads the events after an id until one has the type, and checks all of them. */
async function follow(path: keyof paths, after: string, type: string): Promise<void> {
  const stop = new AbortController();
  const response = await fetch(origin + path, { headers: { 'Last-Event-ID': after }, signal: stop.signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (let isOver = false; !isOver;) {
    const { value, done } = await reader.read();
    if (done) {
      throw new Error(`${path} ended before ${type}: ${text}`);
    }
    const lines = (text + value).split('\n');
    text = lines.pop()!;
    for (const line of lines.filter((each) => each.startsWith('data: '))) {
      const event = JSON.parse(line.slice('data: '.length));
      checkNamed(event, event.type === 'gap' ? 'GapView' : 'EventView', path);
      isOver ||= event.type === type;
    }
  }
  stop.abort();
  read.add(path);
}

const hosts = await get('/hosts');
const drivers: (string | null)[] = hosts.map(({ driver }) => driver);
const status = await get('/status');
const violations = await get('/violations');
const snapshot = await get('/snapshot');
await get('/policy');
await get('/report');
await get('/report', {}, '?from=today');
const users = await get('/users');
if (hosts.length === 0 || status.last_cycle_at === null || violations.length === 0 || users.length === 0
    || snapshot[hosts[0].host].processes.processes.length === 0) {
  throw new Error('the service has nothing to show');
}
await get('/users/{name}', { name: users[0].user });
for (const { id } of violations) {
  await get('/violations/{id}', { id });
}
const latest = (await fetch(`${origin}/violations`)).headers.get('Last-Event-ID')!;
await follow('/events', latest.replace(/\d+$/, '0'), 'violation_opened');

for (const policy of [undefined, { rules: { 'non-env-processes': 'enforce' as const }, max_devices: { default: 0 } }]) {
  const request: Schemas['PlanRequestView'] = { ...(policy && { policy }), snapshots: snapshot };
  checkNamed(request, 'PlanRequestView', 'a plan request');
  for (const its of [request, policy && { policy }]) {
    const response = await fetch(`${origin}/plan`,
      { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(its ?? {}) });
    const plan: Schemas['PlanView'] = await response.json();
    checkNamed(plan, 'PlanView', '/plan');
  }
}

await refuse('/violations', '/violations?status=over', 400);
await refuse('/violations/{id}', '/violations/4711', 404);
await refuse('/users/{name}', '/users/4711', 404);
await refuse('/hosts', '/hosts', 405, { method: 'DELETE' });
await refuse('/report', '/report', 406, { headers: { Accept: 'text/html' } });
await refuse('/plan', '/plan', 415, { method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: '{}' });

const unread = Object.keys(api.paths).filter((path) => api.paths[path].get !== undefined && !read.has(path));
if (unread.length > 0) {
  throw new Error(`not read: ${unread}`);
}
console.log(`${read.size} paths, ${violations.length} violations, drivers ${drivers}, ${types.length} types`);
