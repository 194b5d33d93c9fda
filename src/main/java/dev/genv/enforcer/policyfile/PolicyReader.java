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
import java.nio.CharBuffer;
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
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
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
import org.yaml.snakeyaml.reader.StreamReader;

/** Reads a policy in YAML. Every error is reported with its line and column. */
public final class PolicyReader {
    /** The largest size of a file in bytes. It takes up to a hundred times as much memory while it is read. */
    public static final int LARGEST = 256 << 10;

    private static final int DEEPEST = 16;
    private static final int LONGEST = 1000;
    private static final int MOST_ERRORS = 100;
    /** PATH_MAX of limits.h. */
    private static final int LONGEST_CGROUP = 4096;

    private static final String REFERRED = "anchors and aliases are not supported";
    private static final List<String> DAYS = List.of("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun");

    private final ZoneId zone;
    private final List<PolicyError> errors = new ArrayList<>();
    /** Also of those that are not reported. */
    private int errorCount;

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

    /** Whether a text is the path of a cgroup below the root. */
    public static boolean isCgroup(String text) {
        if (text.length() < 2 || text.length() > LONGEST_CGROUP || !text.startsWith("/")) {
            return false;
        }
        return Stream.of(text.substring(1).replaceFirst("/$", "").split("/", -1))
                .allMatch(name -> name.matches("[^\\p{Cntrl}]+") && !name.equals(".") && !name.equals(".."));
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
        var values = new Values("line");
        compose(bytes).ifPresent(root -> {
            var keys = keysOf(values);
            keys.put(
                    "exceptions",
                    at -> elements(at).forEach(each -> exception(each).ifPresent(exceptions::add)));
            keys.put("hours", at -> elements(at).forEach(each -> hours(each).ifPresent(hours::add)));
            keys.put("exempt", at -> mapping(at, exempt(values)));
            mapping(new Place(root, ""), keys);
        });
        return new PolicyDocument(values.get(), List.copyOf(hours), List.copyOf(exceptions), zone);
    }

    /** Returns the parsed text. It is a tree: a text whose parts refer to each other is refused. */
    private Optional<Node> compose(byte[] bytes) {
        var options = new LoaderOptions();
        options.setNestingDepthLimit(DEEPEST);
        options.setCodePointLimit(LARGEST);
        try {
            if (bytes.length > LARGEST) {
                throw new YAMLException("it is longer than %d bytes".formatted(LARGEST));
            }
            var chars = CharBuffer.allocate(bytes.length);
            var decoded = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes), chars, true);
            var text = chars.flip().toString();
            if (decoded.isError()) {
                errorAfter(text, "it is not UTF-8");
                return Optional.empty();
            }
            var special = IntStream.iterate(0, at -> at < text.length(), at -> text.offsetByCodePoints(at, 1))
                    .filter(at -> !StreamReader.isPrintable(text.codePointAt(at)))
                    .findFirst();
            if (special.isPresent()) {
                errorAfter(text.substring(0, special.getAsInt()), "this control character is not permitted");
                return Optional.empty();
            }
            var root = new Yaml(options).compose(new StringReader(text));
            if (root == null) {
                throw new YAMLException("it has no content; {} is a policy without values");
            }
            return Optional.of(root);
        } catch (MarkedYAMLException e) {
            var mark = e.getProblemMark() == null ? e.getContextMark() : e.getProblemMark();
            error(mark, "", "no YAML: " + e.getProblem());
        } catch (YAMLException e) {
            error(null, "", String.valueOf(e.getMessage()).lines().findFirst().orElse("no YAML"));
        }
        return Optional.empty();
    }

    private void error(@Nullable Mark mark, String path, String reason) {
        error(new PolicyError(
                mark == null ? 1 : mark.getLine() + 1, mark == null ? 1 : mark.getColumn() + 1, path, reason));
    }

    /** Reports an error directly after the begin of a text. */
    private void errorAfter(String begin, String reason) {
        var line = 1 + (int) begin.chars().filter(each -> each == '\n').count();
        error(new PolicyError(line, begin.length() - begin.lastIndexOf('\n'), "", reason));
    }

    private void error(PolicyError error) {
        errorCount++;
        if (errors.size() < MOST_ERRORS) {
            errors.add(error);
        }
    }

    private void error(Place at, String reason) {
        error(at.node.getStartMark(), at.path, reason);
    }

    private void check(boolean isValid, Place at, String reason) {
        if (!isValid) {
            error(at, reason);
        }
    }

    /** A part of the file, and its path. */
    private record Place(Node node, String path) {
        int line() {
            return node.getStartMark().getLine() + 1;
        }

        Place at(String key, Node value) {
            return new Place(value, path.isEmpty() ? key : path + "." + key);
        }
    }

    /** Values, and the word before the line from which they are. */
    private record Values(SortedMap<PolicyKey, Sourced> all, String origin) {
        Values(String origin) {
            this(new TreeMap<>(), origin);
        }

        void put(Kind kind, String rule, String name, Value value, Place at) {
            var place = "%s %d of the policy file".formatted(origin, at.line());
            all.put(new PolicyKey(kind, rule, name), new Sourced(value, place));
        }

        PolicyValues get() {
            return new PolicyValues(all);
        }
    }

    /** Passes the value of each key to its handler, reports the other keys, and returns those that it has. */
    private Set<String> mapping(Place at, Map<String, Consumer<Place>> known) {
        var given = new HashSet<String>();
        entries(at, (key, value) -> {
            var name = ((ScalarNode) key.node).getValue();
            var handler = known.get(name);
            check(handler != null, key, "there is no such key; these are: " + String.join(", ", known.keySet()));
            if (handler != null) {
                given.add(name);
                handler.accept(value);
            }
        });
        return given;
    }

    /** Passes the places of each key, which is a text, and of its value. */
    private void entries(Place at, BiConsumer<Place, Place> each) {
        if (!(at.node instanceof MappingNode mapping) || at.node.getAnchor() != null) {
            error(at, at.node.getAnchor() == null ? "expected keys with values" : REFERRED);
            return;
        }
        var lines = new HashMap<String, Integer>();
        for (var entry : mapping.getValue()) {
            text(new Place(entry.getKeyNode(), at.path), "a text as key", Optional::of)
                    .ifPresent(text -> {
                        var key = at.at(text, entry.getKeyNode());
                        var first = lines.putIfAbsent(text, key.line());
                        check(first == null, key, "line %d has this key too".formatted(first));
                        if (first == null) {
                            each.accept(key, at.at(text, entry.getValueNode()));
                        }
                    });
        }
    }

    private List<Place> elements(Place at) {
        if (at.node instanceof SequenceNode sequence && at.node.getAnchor() == null) {
            return sequence.getValue().stream()
                    .map(node -> new Place(node, at.path))
                    .toList();
        }
        error(at, at.node.getAnchor() == null ? "expected a list" : REFERRED);
        return List.of();
    }

    /** Reads a text; empty, with an error, if it is another kind of node or not what is expected. */
    private <T> Optional<T> text(Place at, String expected, Function<String, Optional<T>> parser) {
        var isText = at.node instanceof ScalarNode && at.node.getAnchor() == null;
        var parsed = isText ? parser.apply(((ScalarNode) at.node).getValue()) : Optional.<T>empty();
        check(parsed.isPresent(), at, at.node.getAnchor() == null ? "expected " + expected : REFERRED);
        return parsed;
    }

    /** Returns the keys of the values that always apply or at some hours. */
    private Map<String, Consumer<Place>> keysOf(Values values) {
        var keys = new LinkedHashMap<String, Consumer<Place>>();
        var modes = new LinkedHashMap<String, Consumer<Place>>();
        for (var rule : Rules.definitions()) {
            var name = rule.name();
            modes.put(
                    name,
                    at -> text(at, "off, audit or enforce", PolicyReader::mode)
                            .ifPresent(mode -> values.put(Kind.MODE, name, "", new Value.Mode(mode), at)));
        }
        keys.put("rules", at -> mapping(at, modes));
        limited().forEach((section, rule) -> {
            var parts = new LinkedHashMap<String, Consumer<Place>>();
            parts.put(
                    "default",
                    at -> text(at, rule.limitForm() + ", or none", text -> general(rule, text))
                            .ifPresent(value -> values.put(Kind.DEFAULT, rule.name(), "", value, at)));
            parts.put("groups", at -> limits(at, rule, Kind.GROUP, values));
            parts.put("users", at -> limits(at, rule, Kind.USER, values));
            keys.put(section, at -> mapping(at, parts));
        });
        return keys;
    }

    /** Helm writes {@code off} without quotes as {@code false}. */
    private static Optional<RuleMode> mode(String text) {
        return RuleMode.find(text.equals("false") ? "off" : text);
    }

    private static Optional<Value> general(RuleDefinition rule, String text) {
        return text.equals(PolicyValues.UNLIMITED)
                ? Optional.of(new Value.Unlimited())
                : rule.parseLimit(text).map(Value.Most::new);
    }

    /** Returns the rules that have limits, by the key of these. */
    private static Map<String, RuleDefinition> limited() {
        var rules = new LinkedHashMap<String, RuleDefinition>();
        Rules.definitions().stream().filter(RuleDefinition::hasLimit).forEach(rule -> rules.put(rule.section(), rule));
        return rules;
    }

    private void limits(Place at, RuleDefinition rule, Kind kind, Values values) {
        entries(
                at,
                (key, place) -> name(key)
                        .ifPresent(name -> limit(place, rule)
                                .ifPresent(
                                        limit -> values.put(kind, rule.name(), name, new Value.Most(limit), place))));
    }

    private Optional<Integer> limit(Place at, RuleDefinition rule) {
        return text(at, rule.limitForm(), rule::parseLimit);
    }

    private Optional<String> name(Place at) {
        var expected = "a name, or an id with a plus sign such as +1003";
        return text(at, expected, name -> Optional.of(name).filter(ConfiguredUsers::isUser));
    }

    private Optional<String> cgroup(Place at) {
        var expected = "the path of a cgroup, such as /system.slice/slurmd.service";
        return text(at, expected, cgroup -> Optional.of(cgroup).filter(PolicyReader::isCgroup));
    }

    private Map<String, Consumer<Place>> exempt(Values values) {
        var keys = new LinkedHashMap<String, Consumer<Place>>();
        keys.put(
                "users",
                at -> elements(at)
                        .forEach(each -> name(each)
                                .ifPresent(user -> values.put(Kind.EXEMPT_USER, "", user, new Value.Exempt(), each))));
        keys.put(
                "cgroups",
                at -> elements(at)
                        .forEach(each -> cgroup(each)
                                .ifPresent(
                                        path -> values.put(Kind.EXEMPT_CGROUP, "", path, new Value.Exempt(), each))));
        return keys;
    }

    private Optional<PolicyException> exception(Place at) {
        var who = new ArrayList<PolicyKey>();
        var limits = new LinkedHashMap<String, Integer>();
        var times = new HashMap<String, Instant>();
        var reason = new StringBuilder();
        var keys = new LinkedHashMap<String, Consumer<Place>>();
        Map.of("user", Kind.USER_EXCEPTION, "group", Kind.GROUP_EXCEPTION)
                .forEach((key, kind) ->
                        keys.put(key, its -> name(its).ifPresent(name -> who.add(new PolicyKey(kind, "", name)))));
        limited()
                .forEach((key, rule) ->
                        keys.put(key, its -> limit(its, rule).ifPresent(most -> limits.put(rule.name(), most))));
        keys.put("from", its -> time(its, false).ifPresent(time -> times.put("from", time)));
        keys.put("until", its -> time(its, true).ifPresent(time -> times.put("until", time)));
        keys.put("reason", its -> text(its, "a text", Optional::of).ifPresent(reason::append));
        var before = errorCount;
        var given = mapping(at, keys);
        check(given.contains("user") != given.contains("group"), at, "expected either user or group");
        var sections = limited().keySet();
        check(sections.stream().anyMatch(given::contains), at, "expected a limit: " + String.join(" or ", sections));
        check(given.contains("until"), at, "expected until, because an exception ends");
        var until = times.get("until");
        var from = times.get("from");
        check(until == null || from == null || from.isBefore(until), at, "it ends before it begins");
        var origin = "exception in line " + at.line();
        return errorCount > before || until == null
                ? Optional.empty()
                : Optional.of(new PolicyException(who.getFirst(), limits, from, until, reason.toString(), origin));
    }

    private Optional<Instant> time(Place at, boolean isEnd) {
        var forms = List.<Function<String, Instant>>of(
                text -> LocalDate.parse(text)
                        .plusDays(isEnd ? 1 : 0)
                        .atStartOfDay(zone)
                        .toInstant(),
                text -> LocalDateTime.parse(text).atZone(zone).toInstant(),
                text -> OffsetDateTime.parse(text).toInstant());
        return text(
                at,
                "a date such as 2026-12-01, or a time such as 2026-12-01T18:00",
                text -> forms.stream()
                        .flatMap(form -> {
                            try {
                                return Stream.of(form.apply(text));
                            } catch (DateTimeException _) {
                                return Stream.empty(); // it may have another form
                            }
                        })
                        .findFirst());
    }

    private Optional<Hours> hours(Place at) {
        var values = new Values("hours in line");
        var days = EnumSet.noneOf(DayOfWeek.class);
        var times = new HashMap<String, LocalTime>();
        var keys = new LinkedHashMap<String, Consumer<Place>>();
        keys.put(
                "days",
                its -> text(its, "days such as Mon-Fri or Sat,Sun", PolicyReader::days)
                        .ifPresent(days::addAll));
        for (var name : List.of("from", "to")) {
            keys.put(
                    name,
                    its -> text(its, "a time from 00:00 to 23:59", PolicyReader::clock)
                            .ifPresent(time -> times.put(name, time)));
        }
        keys.putAll(keysOf(values));
        var before = errorCount;
        var given = mapping(at, keys);
        List.of("days", "from", "to").forEach(key -> check(given.contains(key), at, "expected " + key));
        var from = times.get("from");
        var to = times.get("to");
        return errorCount > before || from == null || to == null
                ? Optional.empty()
                : Optional.of(new Hours(Set.copyOf(days), from, to, values.get()));
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
