package dev.genv.enforcer.policyfile;

import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.observation.ConfiguredUsers;
import dev.genv.enforcer.policy.PolicyDocument;
import dev.genv.enforcer.policy.PolicyDocument.Hours;
import dev.genv.enforcer.policy.PolicyDocument.PolicyException;
import dev.genv.enforcer.policy.PolicyValues;
import dev.genv.enforcer.policy.PolicyValues.Kind;
import dev.genv.enforcer.policy.PolicyValues.PolicyKey;
import dev.genv.enforcer.policy.PolicyValues.Sourced;
import dev.genv.enforcer.policy.PolicyValues.Value;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Rules;
import java.io.IOException;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.DayOfWeek;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.error.Mark;
import org.yaml.snakeyaml.error.MarkedYAMLException;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.SequenceNode;

/** Reads a policy in YAML. Every error is reported with its line and column. */
public final class PolicyReader {
    /** The largest size of a file in bytes. It takes up to a hundred times as much memory while it is read. */
    public static final int LARGEST = 256 << 10;

    private static final int DEEPEST = 16;
    private static final int LONGEST = 1000;
    private static final int MOST_ERRORS = 100;
    private static final Map<String, RuleMode> MODES = Map.of(
            "off",
            RuleMode.OFF,
            "audit",
            RuleMode.AUDIT,
            "enforce",
            RuleMode.ENFORCE,
            "false",
            RuleMode.OFF,
            "true",
            RuleMode.ENFORCE);
    private static final List<String> DAYS = List.of("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun");

    private final ZoneId zone;
    private final List<PolicyError> errors = new ArrayList<>();

    private PolicyReader(ZoneId zone) {
        this.zone = zone;
    }

    /**
     * An error.
     *
     * @param line from 1
     * @param column from 1
     * @param path of the value, such as {@code max_devices.users.john}; empty for the whole file
     */
    public record PolicyError(int line, int column, String path, String reason) {
        @Override
        public String toString() {
            return "line %d, column %d: %s".formatted(line, column, withoutPosition());
        }

        /** Returns the path and the reason. */
        public String withoutPosition() {
            return SafeText.escape(path.isEmpty() ? reason : path + ": " + reason, LONGEST);
        }
    }

    /** The errors of a policy. */
    public static final class InvalidPolicyException extends IOException {
        private static final long serialVersionUID = 1L;

        @SuppressWarnings("serial") // it is never serialised
        private final List<PolicyError> errors;

        private InvalidPolicyException(List<PolicyError> errors) {
            super(errors.stream().map(PolicyError::toString).collect(Collectors.joining("; ")));
            this.errors = List.copyOf(errors);
        }

        /** Returns the errors in the order of the file, at least one. */
        public List<PolicyError> errors() {
            return errors;
        }
    }

    /**
     * Reads a policy.
     *
     * @param zone of its dates and hours
     * @throws InvalidPolicyException with all errors
     */
    public static PolicyDocument read(byte[] bytes, ZoneId zone) throws InvalidPolicyException {
        var reader = new PolicyReader(zone);
        var document = reader.document(bytes);
        if (!reader.errors.isEmpty()) {
            throw new InvalidPolicyException(reader.errors);
        }
        return document;
    }

    private PolicyDocument document(byte[] bytes) {
        var hours = new ArrayList<Hours>();
        var exceptions = new ArrayList<PolicyException>();
        var values = new TreeMap<PolicyKey, Sourced>();
        compose(bytes).ifPresent(root -> {
            var keys = values(values, "line");
            keys.put(
                    "exceptions",
                    (node, path) -> elements(node, path).stream()
                            .flatMap(each -> exception(each, path).stream())
                            .forEach(exceptions::add));
            keys.put(
                    "hours",
                    (node, path) -> elements(node, path).stream()
                            .flatMap(each -> hours(each, path).stream())
                            .forEach(hours::add));
            keys.put("exempt", (node, path) -> mapping(node, path, exempt(values)));
            mapping(root, "", keys);
        });
        return new PolicyDocument(new PolicyValues(values), List.copyOf(hours), List.copyOf(exceptions), zone);
    }

    /** Returns the parsed text. It is a tree: a text whose parts refer to each other is refused. */
    private Optional<Node> compose(byte[] bytes) {
        if (bytes.length > LARGEST) {
            errors.add(new PolicyError(1, 1, "", "it is longer than %d bytes".formatted(LARGEST)));
            return Optional.empty();
        }
        var options = new LoaderOptions();
        options.setNestingDepthLimit(DEEPEST);
        options.setCodePointLimit(LARGEST);
        try {
            var text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
            var root = new Yaml(options).compose(new StringReader(text.toString()));
            if (root == null) {
                errors.add(new PolicyError(1, 1, "", "it has no content; {} is a policy without values"));
            }
            return Optional.ofNullable(root);
        } catch (CharacterCodingException e) {
            errors.add(new PolicyError(1, 1, "", "it is not UTF-8"));
        } catch (MarkedYAMLException e) {
            errorAt(
                    e.getProblemMark() == null ? e.getContextMark() : e.getProblemMark(),
                    "",
                    "no YAML: " + e.getProblem());
        } catch (YAMLException e) {
            errorAt(
                    null,
                    "",
                    "no YAML: "
                            + String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
        }
        return Optional.empty();
    }

    private void errorAt(@Nullable Mark mark, String path, String reason) {
        if (errors.size() < MOST_ERRORS) {
            errors.add(new PolicyError(
                    mark == null ? 1 : mark.getLine() + 1, mark == null ? 1 : mark.getColumn() + 1, path, reason));
        }
    }

    private void error(Node node, String path, String reason) {
        errorAt(node.getStartMark(), path, reason);
    }

    /** Takes over the value of a key. */
    private interface Handler {
        void take(Node value, String path);
    }

    /** Passes the value of each key to its handler, reports the other keys, and returns those that it has. */
    private Set<String> mapping(Node node, String path, Map<String, Handler> known) {
        var given = new HashSet<String>();
        entries(node, path, (key, text, value) -> {
            var handler = known.get(text);
            if (handler == null) {
                error(key, join(path, text), "there is no such key; these are: " + String.join(", ", known.keySet()));
            } else {
                given.add(text);
                handler.take(value, join(path, text));
            }
        });
        return given;
    }

    private interface Entry {
        void take(Node key, String text, Node value);
    }

    private void entries(Node node, String path, Entry each) {
        if (!(node instanceof MappingNode mapping)) {
            error(node, path, "expected keys with values");
            return;
        }
        if (isReferred(node, path)) {
            return;
        }
        var lines = new HashMap<String, Integer>();
        for (var entry : mapping.getValue()) {
            var key = text(entry.getKeyNode(), path, "a text as key", Optional::of);
            if (key.isEmpty()) {
                continue;
            }
            var first = lines.putIfAbsent(key.get(), line(entry.getKeyNode()));
            if (first == null) {
                each.take(entry.getKeyNode(), key.get(), entry.getValueNode());
            } else {
                error(entry.getKeyNode(), join(path, key.get()), "line %d has this key too".formatted(first));
            }
        }
    }

    private boolean isReferred(Node node, String path) {
        if (node.getAnchor() == null) {
            return false;
        }
        error(node, path, "anchors and aliases are not supported");
        return true;
    }

    private List<Node> elements(Node node, String path) {
        if (node instanceof SequenceNode sequence) {
            return isReferred(node, path) ? List.of() : sequence.getValue();
        }
        error(node, path, "expected a list");
        return List.of();
    }

    /** Reads a text; empty, with an error, if it is another kind of node or not what is expected. */
    private <T> Optional<T> text(Node node, String path, String expected, Function<String, Optional<T>> parser) {
        if (isReferred(node, path)) {
            return Optional.empty();
        }
        var parsed = node instanceof ScalarNode scalar ? parser.apply(scalar.getValue()) : Optional.<T>empty();
        if (parsed.isEmpty()) {
            error(node, path, "expected " + expected);
        }
        return parsed;
    }

    private static int line(Node node) {
        return node.getStartMark().getLine() + 1;
    }

    private static String join(String path, String key) {
        return path.isEmpty() ? key : path + "." + key;
    }

    /** Returns the handlers of the values that always apply or at some hours. */
    private Map<String, Handler> values(Map<PolicyKey, Sourced> values, String origin) {
        var keys = new LinkedHashMap<String, Handler>();
        var modes = new LinkedHashMap<String, Handler>();
        for (var rule : Rules.definitions()) {
            modes.put(
                    rule.name(),
                    (node, path) -> text(
                                    node,
                                    path,
                                    "off, audit or enforce",
                                    word -> Optional.ofNullable(MODES.get(word.toLowerCase(Locale.ROOT))))
                            .ifPresent(mode -> values.put(
                                    new PolicyKey(Kind.MODE, rule.name(), ""),
                                    sourced(new Value.Mode(mode), origin, node))));
        }
        keys.put("rules", (node, path) -> mapping(node, path, modes));
        limited().forEach((section, rule) -> {
            var parts = new LinkedHashMap<String, Handler>();
            parts.put(
                    "default",
                    (node, path) -> text(node, path, rule.limitForm() + ", or none", text -> general(rule, text))
                            .ifPresent(value -> values.put(
                                    new PolicyKey(Kind.DEFAULT, rule.name(), ""), sourced(value, origin, node))));
            parts.put("groups", (node, path) -> limits(node, path, rule, Kind.GROUP, origin, values));
            parts.put("users", (node, path) -> limits(node, path, rule, Kind.USER, origin, values));
            keys.put(section, (node, path) -> mapping(node, path, parts));
        });
        return keys;
    }

    private static Optional<Value> general(RuleDefinition rule, String text) {
        return text.equals(PolicyValues.UNLIMITED)
                ? Optional.of(new Value.Unlimited())
                : rule.parseLimit(text).map(Value.Most::new);
    }

    private static Sourced sourced(Value value, String origin, Node node) {
        return new Sourced(value, "%s %d of the policy file".formatted(origin, line(node)));
    }

    /** Returns the rules that have limits, by the key of these. */
    private static Map<String, RuleDefinition> limited() {
        var rules = new LinkedHashMap<String, RuleDefinition>();
        Rules.definitions().stream().filter(RuleDefinition::hasLimit).forEach(rule -> rules.put(rule.section(), rule));
        return rules;
    }

    private void limits(
            Node node, String path, RuleDefinition rule, Kind kind, String origin, Map<PolicyKey, Sourced> values) {
        entries(
                node,
                path,
                (key, name, value) -> name(key, join(path, name))
                        .flatMap(_ -> limit(value, join(path, name), rule))
                        .ifPresent(limit -> values.put(
                                new PolicyKey(kind, rule.name(), name),
                                sourced(new Value.Most(limit), origin, value))));
    }

    private Optional<Integer> limit(Node node, String path, RuleDefinition rule) {
        return text(node, path, rule.limitForm(), rule::parseLimit);
    }

    private Optional<String> name(Node node, String path) {
        return text(
                node,
                path,
                "a name, or an id with a plus sign such as +1003",
                name -> Optional.of(name).filter(ConfiguredUsers::isUser));
    }

    private Map<String, Handler> exempt(Map<PolicyKey, Sourced> values) {
        var keys = new LinkedHashMap<String, Handler>();
        keys.put("users", (node, path) -> exempt(node, path, Kind.EXEMPT_USER, this::name, values));
        keys.put("cgroups", (node, path) -> exempt(node, path, Kind.EXEMPT_CGROUP, this::cgroup, values));
        return keys;
    }

    private Optional<String> cgroup(Node node, String path) {
        return text(
                node,
                path,
                "the path of a cgroup, such as /system.slice/slurmd.service",
                cgroup -> Optional.of(cgroup).filter(its -> its.startsWith("/")));
    }

    private void exempt(
            Node node,
            String path,
            Kind kind,
            BiFunction<Node, String, Optional<String>> parser,
            Map<PolicyKey, Sourced> values) {
        for (var each : elements(node, path)) {
            parser.apply(each, path)
                    .ifPresent(name ->
                            values.put(new PolicyKey(kind, "", name), sourced(new Value.Exempt(), "line", each)));
        }
    }

    private Optional<PolicyException> exception(Node node, String path) {
        var who = new ArrayList<PolicyKey>();
        var limits = new LinkedHashMap<String, Integer>();
        var times = new HashMap<String, Instant>();
        var reason = new StringBuilder();
        var keys = new LinkedHashMap<String, Handler>();
        keys.put(
                "user",
                (value, at) ->
                        name(value, at).ifPresent(user -> who.add(new PolicyKey(Kind.USER_EXCEPTION, "", user))));
        keys.put(
                "group",
                (value, at) ->
                        name(value, at).ifPresent(group -> who.add(new PolicyKey(Kind.GROUP_EXCEPTION, "", group))));
        limited()
                .forEach((section, rule) -> keys.put(
                        section,
                        (value, at) -> limit(value, at, rule).ifPresent(most -> limits.put(rule.name(), most))));
        keys.put("from", (value, at) -> time(value, at, false).ifPresent(time -> times.put("from", time)));
        keys.put("until", (value, at) -> time(value, at, true).ifPresent(time -> times.put("until", time)));
        keys.put(
                "reason", (value, at) -> text(value, at, "a text", Optional::of).ifPresent(reason::append));
        var before = errors.size();
        var given = mapping(node, path, keys);
        check(given.contains("user") != given.contains("group"), node, path, "expected either user or group");
        check(
                limited().keySet().stream().anyMatch(given::contains),
                node,
                path,
                "expected a limit: " + String.join(" or ", limited().keySet()));
        check(given.contains("until"), node, path, "expected until, because an exception ends");
        var until = times.get("until");
        var from = times.get("from");
        check(until == null || from == null || from.isBefore(until), node, path, "it ends before it begins");
        return errors.size() > before || until == null
                ? Optional.empty()
                : Optional.of(new PolicyException(
                        who.getFirst(), limits, from, until, reason.toString(), "exception in line " + line(node)));
    }

    private void check(boolean isValid, Node node, String path, String reason) {
        if (!isValid) {
            error(node, path, reason);
        }
    }

    private Optional<Instant> time(Node node, String path, boolean isEnd) {
        return text(node, path, "a date such as 2026-12-01, or a time such as 2026-12-01T18:00", text -> {
            for (var form : List.<Function<String, Instant>>of(
                    date -> LocalDate.parse(date)
                            .plusDays(isEnd ? 1 : 0)
                            .atStartOfDay(zone)
                            .toInstant(),
                    time -> LocalDateTime.parse(time).atZone(zone).toInstant(),
                    time -> OffsetDateTime.parse(time).toInstant())) {
                try {
                    return Optional.of(form.apply(text));
                } catch (DateTimeException _) {
                    // The next form may be its.
                }
            }
            return Optional.empty();
        });
    }

    private Optional<Hours> hours(Node node, String path) {
        var values = new TreeMap<PolicyKey, Sourced>();
        var days = EnumSet.noneOf(DayOfWeek.class);
        var times = new HashMap<String, LocalTime>();
        var keys = new LinkedHashMap<String, Handler>();
        keys.put(
                "days",
                (value, at) -> text(value, at, "days such as Mon-Fri or Sat,Sun", PolicyReader::days)
                        .ifPresent(days::addAll));
        for (var name : List.of("from", "to")) {
            keys.put(
                    name,
                    (value, at) -> text(value, at, "a time from 00:00 to 23:59", PolicyReader::clock)
                            .ifPresent(time -> times.put(name, time)));
        }
        keys.putAll(values(values, "hours in line"));
        var before = errors.size();
        var given = mapping(node, path, keys);
        for (var name : List.of("days", "from", "to")) {
            check(given.contains(name), node, path, "expected " + name);
        }
        var from = times.get("from");
        var to = times.get("to");
        return errors.size() > before || from == null || to == null
                ? Optional.empty()
                : Optional.of(new Hours(Set.copyOf(days), from, to, new PolicyValues(values)));
    }

    private static Optional<LocalTime> clock(String text) {
        return text.matches("([01][0-9]|2[0-3]):[0-5][0-9]") ? Optional.of(LocalTime.parse(text)) : Optional.empty();
    }

    /** Reads days and ranges of days. A range may lead over the end of a week. */
    private static Optional<Set<DayOfWeek>> days(String text) {
        var days = EnumSet.noneOf(DayOfWeek.class);
        for (var part : text.split("\\s*,\\s*", -1)) {
            var ends = Stream.of(part.split("\\s*-\\s*", -1)).map(DAYS::indexOf).toList();
            if (ends.contains(-1) || ends.size() > 2) {
                return Optional.empty();
            }
            var last = DayOfWeek.of(ends.getLast() + 1);
            for (var day = DayOfWeek.of(ends.getFirst() + 1); day != last; day = day.plus(1)) {
                days.add(day);
            }
            days.add(last);
        }
        return Optional.of(days);
    }
}
