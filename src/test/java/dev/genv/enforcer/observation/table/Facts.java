package dev.genv.enforcer.observation.table;

import dev.genv.enforcer.host.Bytes;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Describes facts and snapshots with all their parts, so that two of them can be compared. */
final class Facts {
    /** The time when and how long something was observed. */
    private static final Set<String> TIMES =
            Set.of("ticks", "lastObserved", "duration", "beforeListing", "beforeState");

    private Facts() {}

    /** Returns one line for each part. */
    static String describe(Record record) {
        return Arrays.stream(record.getClass().getRecordComponents())
                .filter(part -> !TIMES.contains(part.getName()))
                .map(part -> "%s: %s".formatted(part.getName(), lines(value(record, part.getName()))))
                .collect(Collectors.joining("\n"));
    }

    private static String lines(@Nullable Object value) {
        return value instanceof List<?> list
                ? list.stream().map(each -> "\n    " + text(each)).collect(Collectors.joining())
                : text(value);
    }

    private static String text(@Nullable Object value) {
        return switch (value) {
            case null -> "none";
            case Bytes bytes -> '"' + new String(bytes.array(), StandardCharsets.ISO_8859_1) + '"';
            case Duration _ -> "a time";
            case Set<?> set -> set.stream().map(Facts::text).sorted().toList().toString();
            case Collection<?> list -> list.stream().map(Facts::text).toList().toString();
            case Map<?, ?> map ->
                map.entrySet().stream()
                        .map(entry -> text(entry.getKey()) + "=" + text(entry.getValue()))
                        .sorted()
                        .toList()
                        .toString();
            case Enum<?> constant -> constant.name();
            default -> value.getClass().getName().startsWith("dev.genv") ? parts(value) : value.toString();
        };
    }

    private static String parts(Object value) {
        return Arrays.stream(value.getClass().getDeclaredFields())
                .filter(part -> !Modifier.isStatic(part.getModifiers()) && !TIMES.contains(part.getName()))
                .map(part -> part.getName() + "=" + text(value(value, part.getName())))
                .collect(Collectors.joining(", ", value.getClass().getSimpleName() + "[", "]"));
    }

    private static @Nullable Object value(Object owner, String part) {
        try {
            var field = owner.getClass().getDeclaredField(part);
            field.setAccessible(true);
            return field.get(owner);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
