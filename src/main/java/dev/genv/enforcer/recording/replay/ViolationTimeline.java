package dev.genv.enforcer.recording.replay;

import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Counts the violations that began in each of 24 equal parts of a period, by rule. Both ends belong to the period. */
public final class ViolationTimeline {
    private static final int PARTS = 24;

    private final Instant from;
    private final Instant to;
    /** The length of a part; at least a millisecond, so that an instant is a period too. */
    private final Duration part;

    private final List<Map<String, Long>> counts =
            Stream.<Map<String, Long>>generate(TreeMap::new).limit(PARTS).toList();

    /**
     * The violations of a rule in a part of the period.
     *
     * @param from the begin of the part
     */
    public record Entry(Instant from, String rule, long violations) {}

    public ViolationTimeline(Instant from, Instant to) {
        this.from = from;
        this.to = to;
        var length = Duration.between(from, to).dividedBy(PARTS);
        part = length.isZero() ? Duration.ofMillis(1) : length;
    }

    public void add(Event event) {
        var at = event.at();
        if (event.content() instanceof EventContent.ViolationOpened(var opened)
                && !at.isBefore(from)
                && !at.isAfter(to)) {
            var number = Math.min(PARTS - 1, Duration.between(from, at).dividedBy(part));
            counts.get((int) number).merge(opened.violation().rule().name(), 1L, Long::sum);
        }
    }

    /** Returns the counts that are not zero, in the order of time and then of the rules' names. */
    public List<Entry> entries() {
        return IntStream.range(0, PARTS)
                .boxed()
                .flatMap(number -> counts.get(number).entrySet().stream()
                        .map(rule -> new Entry(from.plus(part.multipliedBy(number)), rule.getKey(), rule.getValue())))
                .toList();
    }
}
